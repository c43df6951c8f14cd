"""Brings MongoDB in line with a collection's stored definition, whatever step an earlier attempt had reached."""

from service.schema.fields import parse
from service.schema.indexes import indexes
from service.schema.json_schema import validator
from service.schema.repairs import fill, has_defaults
from service.storage.collections import CollectionStore
from service.storage.databases import ProjectDatabase
from service.storage.definitions import CHANGE_SECONDS, Definitions
from service.storage.mongo import Document, within


async def settle(database: ProjectDatabase, record: Document) -> None:
    """Ends the change that `record` is leased for, unless the lease was lost.

    Every step can be repeated, so after a crash all of them are.

    The documents are repaired before the validator gives way to the new one, under which a client could no longer
    change a document that lacks what it requires.
    """
    with within(CHANGE_SECONDS):
        definitions, store = Definitions(database), CollectionStore(database)
        # Whether a commit that was cut off took place, only the registry knows.
        held = await definitions.held(record)
        if held is None:
            return
        if held["change"]["kind"] == "delete":
            await store.close(held["_id"])
            await definitions.remove(held)
        else:
            await _conform(store, held)
            await definitions.finish(held)


async def _conform(store: CollectionStore, record: Document) -> None:
    name, fields = record["_id"], parse(record["schema"])
    if record["change"]["kind"] == "change" and has_defaults(fields):
        await store.repair(name, validator(fields), fill(fields))
    await store.set_validator(name, validator(fields))
    await store.add_indexes(name, indexes(fields))
    await store.drop_other_indexes(name, indexes(fields))

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
    """Ends the change that `record` is leased for. Every step can be repeated, so after a crash all of them are.

    The documents are repaired before the validator gives way to the new one, under which a client could no longer
    change a document that lacks what it requires.
    """
    with within(CHANGE_SECONDS):
        if record["change"]["kind"] == "delete":
            await CollectionStore(database).close(record["_id"])
            await Definitions(database).remove(record)
        else:
            await _conform(CollectionStore(database), record)
            await Definitions(database).finish(record)


async def _conform(store: CollectionStore, record: Document) -> None:
    name, fields = record["_id"], parse(record["schema"])
    if record["change"]["kind"] == "change" and has_defaults(fields):
        await store.repair(name, validator(fields), fill(fields))
    await store.set_validator(name, validator(fields))
    await store.add_indexes(name, indexes(fields))
    await store.drop_other_indexes(name, indexes(fields))

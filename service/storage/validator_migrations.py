"""Steps that give collections the present form of their validators. Each runs beside requests, and may be run again."""

from collections.abc import Callable

from service.schema.fields import Fields, build
from service.schema.json_schema import validator
from service.schema.patterns import patterned
from service.storage.client import Document
from service.storage.collections import CollectionStore
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions, is_live


async def remove_patterns(database: ProjectDatabase) -> None:
    """Takes the patterns out of validators from before, when MongoDB judged them.

    A collection that is being changed just now is given a validator without them by the end of its change.
    """
    await _renew_each(database, lambda fields: bool(patterned(fields)))


async def allow_versions(database: ProjectDatabase) -> None:
    """Lets records have a version, which validators from before refuse.

    A worker of the version before that changes a schema afterwards puts the old form back: see `renew_validator`.
    """
    await _renew_each(database, lambda _fields: True)


async def _renew_each(database: ProjectDatabase, concerns: Callable[[Fields], bool]) -> None:
    for record in await Definitions(database).list():
        if concerns(build(record["schema"])):
            await _renew(database, record)


async def renew_validator(database: ProjectDatabase, name: str) -> bool:
    """Gives a collection the validator of its definition; False if it is being changed, or is gone."""
    record = await Definitions(database).find(name)
    return record is not None and await _renew(database, record)


async def _renew(database: ProjectDatabase, record: Document) -> bool:
    store, definitions = CollectionStore(database), Definitions(database)
    if (await store.describe(record["_id"]))[0] == _validator(record):
        return True
    if (leased := await definitions.begin(record["_id"], "change")) is None:
        return False
    await store.set_validator(leased["_id"], _validator(leased))
    await definitions.finish(leased)
    return True


def _validator(record: Document) -> Document:
    return validator(build(record["schema"]), realtime=is_live(record))

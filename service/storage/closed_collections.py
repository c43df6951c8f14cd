"""Unused collections: closed ones, which take the place of deleted ones, and scratch ones.

A closed collection is empty and refuses every write, so that no write of an earlier request makes a new one. A scratch
collection held the copies of documents that an earlier version judged.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId

from service.errors import CollectionExists
from service.storage.client import Database
from service.storage.collections import CLOSED, closed_validator, mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions
from service.storage.records import translated

# Longer than any request takes.
CLOSED_FOR = timedelta(hours=1)
# An ObjectId follows it.
SCRATCH = "scratch_"


async def sweep_closed(project: ProjectDatabase, *, closed_for: timedelta = CLOSED_FOR) -> int:
    """Drops collections that were closed, or made as scratch, long enough ago; returns their number.

    Raises Unavailable.
    """
    with translated():
        moment = (await project.database.command("hello"))["localTime"]
        found = await (await project.database.list_collections()).to_list()
    return sum([await _sweep(project, info, moment - closed_for) for info in found])


async def _sweep(project: ProjectDatabase, info: Mapping[str, Any], until: datetime) -> bool:
    """Drops the collection if nothing has used it since `until`; returns True where it did."""
    database, name, validator = project.database, info["name"], info.get("options", {}).get("validator", {})
    if _is_scratch(name, until):
        with translated():
            await database.drop_collection(name)
        return True
    if validator.get("_id") != CLOSED["_id"]:
        return False
    closed_at = validator.get("closed_at", {}).get("$ne")
    if isinstance(closed_at, datetime):
        return closed_at <= until and await _drop(project, name, validator)
    # An earlier version did not say when.
    with translated():
        await database.command({"collMod": name, "validator": await closed_validator(database)})
    return False


def _is_scratch(name: str, until: datetime) -> bool:
    """True for a scratch collection that was made before `until`; a worker of an earlier version may use a newer one."""
    id_ = name.removeprefix(SCRATCH)
    return id_ != name and ObjectId.is_valid(id_) and ObjectId(id_).generation_time.replace(tzinfo=None) <= until


async def _drop(project: ProjectDatabase, name: str, validator: Any) -> bool:
    """Drops a closed collection, unless one of its name was created meanwhile: the name is reserved until it is gone."""
    definitions, prefix = Definitions(project), mongo_collection_name("")
    if not name.startswith(prefix):
        # A deletion that was cut short before it put this in the collection's place; the next one makes it again.
        with translated():
            await project.database.drop_collection(name)
        return True
    try:
        record = await definitions.reserve(name.removeprefix(prefix), {}, "delete")
    except CollectionExists:
        return False
    try:
        return await _drop_if(project.database, name, validator)
    finally:
        await definitions.remove(record)


async def _drop_if(database: Database, name: str, validator: Any) -> bool:
    """The same validator, with the same moment, says that it is the same closed collection."""
    with translated():
        found = await (await database.list_collections(filter={"name": name})).to_list()
        if not found or found[0]["options"].get("validator") != validator:
            return False
        await database.drop_collection(name)
    return True

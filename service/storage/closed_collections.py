"""What is left of deleted collections: empty ones that refuse every write, so that none comes late. After an hour they go."""

from datetime import datetime, timedelta
from typing import Any

from service.errors import CollectionExists
from service.storage.client import Database
from service.storage.collections import CLOSED, closed_validator, mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions
from service.storage.records import translated

# No request takes so long.
CLOSED_FOR = timedelta(hours=1)


async def sweep_closed(project: ProjectDatabase, *, closed_for: timedelta = CLOSED_FOR) -> int:
    """Drops those that were closed for so long; how many. Raises Unavailable."""
    database, dropped = project.database, 0
    with translated():
        moment = (await database.command("hello"))["localTime"]
        found = await (await database.list_collections()).to_list()
    for info in found:
        validator = info.get("options", {}).get("validator", {})
        if validator.get("_id") != CLOSED["_id"]:
            continue
        closed_at = validator.get("closed_at", {}).get("$ne")
        if not isinstance(closed_at, datetime):
            # An earlier version did not say when.
            with translated():
                await database.command({"collMod": info["name"], "validator": await closed_validator(database)})
        elif moment - closed_at >= closed_for:
            dropped += await _drop(project, info["name"], validator)
    return dropped


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

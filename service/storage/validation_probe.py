"""What MongoDB would say of records under a validator. Nothing that is asked here stays."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from bson import ObjectId
from bson.errors import InvalidId
from pymongo.errors import BulkWriteError

from service.schema.values import now
from service.storage.client import Database, Document
from service.storage.records import translated

MAJORITY = {"w": "majority"}
SCRATCH = "scratch_"
SCRATCH_LIFETIME = timedelta(hours=1)


async def probe(database: Database, records: Sequence[Document], validator: Mapping[str, Any]) -> dict[int, Document]:
    """Position → errInfo of the records that `validator` refuses.

    Only a write tells why, so they are written into a collection that is dropped again at once.
    """
    if not records:
        return {}
    with translated():
        await _drop_old(database)
        scratch = database[f"{SCRATCH}{ObjectId()}"]
        await database.command({"create": scratch.name, "validator": validator, "writeConcern": MAJORITY})
        try:
            await scratch.insert_many(records, ordered=False)
        except BulkWriteError as error:
            return {each["index"]: each.get("errInfo", {}) for each in error.details["writeErrors"]}
        finally:
            await scratch.drop()
    return {}


async def _drop_old(database: Database) -> None:
    """Drops what a killed process left."""
    for name in await database.list_collection_names(filter={"name": {"$regex": f"^{SCRATCH}"}}):
        with suppress(InvalidId):
            made = ObjectId(name.removeprefix(SCRATCH)).generation_time.replace(tzinfo=None)
            if now() - made > SCRATCH_LIFETIME:
                await database.drop_collection(name)

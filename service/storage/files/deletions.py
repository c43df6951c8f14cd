"""The removal of files: condemned intents, and the files they name.

Every step may be repeated, by anyone, at any time.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bson import ObjectId

from service.storage.client import Document, within
from service.storage.databases import ProjectDatabase
from service.storage.files.holds import IN_FORCE
from service.storage.files.stored import CHUNKS, FILES, VARIANT
from service.storage.layout import INTENTS
from service.storage.records import translated

# An upload renews its intent at least every ten minutes; after an hour without renewal its process is gone.
ABANDONED_AFTER = timedelta(hours=1)
SWEEP_SECONDS = 60.0
STANDING: Document = {"condemned": {"$exists": False}}


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of one sweep: unfinished uploads and replacements, and the files they named."""

    intents: int
    files: int


async def condemn(database: ProjectDatabase, intent: ObjectId) -> bool:
    """Condemns the intent: from now on no record can come to name its files.

    False if it was gone or condemned before.
    """
    return await database.records(INTENTS).update_one({"_id": intent, **STANDING}, {"$set": {"condemned": True}})


async def find_owned(database: ProjectDatabase, owner: str, names: Mapping[str, str]) -> set[str]:
    """The files of `names` (field → file name) that `owner` uploaded to that field."""
    owned: list[Document] = [
        {"_id": name, "metadata.owner": owner, "metadata.field": field} for field, name in names.items()
    ]
    if not owned:
        return set()
    stages: list[Document] = [{"$match": {"$or": owned}}, {"$project": {"_id": 1}}]
    return {file["_id"] for file in await database.records(FILES).aggregate(stages, size=len(owned))}


async def condemn_owned(database: ProjectDatabase, owner: str, names: Mapping[str, str]) -> ObjectId | None:
    """Condemns, within a transaction, the files of `find_owned`.

    The intent to pass to `remove` after the commit; None where there is nothing to remove.
    """
    found = await find_owned(database, owner, names)
    if not found:
        return None
    intent: dict[str, Any] = {"_id": ObjectId(), "files": sorted(found), "condemned": True}
    await database.records(INTENTS).insert(intent)
    return ObjectId(intent["_id"])


async def remove(database: ProjectDatabase, intent: ObjectId) -> int:
    """Removes the files of a condemned intent, then the intent; returns how many files it named.

    While the files are held, it removes none, and leaves the intent to a later sweep. Both are read at once: an intent
    that was read before a hold began is still there, with its names, at the moment of which the holder reads.
    """
    files = database.database
    with translated(), within(SWEEP_SECONDS):
        found = await files[INTENTS].find({"$or": [{"_id": intent, "condemned": True}, IN_FORCE]}).to_list()
        if [document["_id"] for document in found] != [intent]:
            return 0
        document = found[0]
        # Removes the file first: a reader then gets a 404, and no file without its bytes. In the order of names, so a
        # variant that is stored meanwhile is met behind its image.
        named = [*document["files"], *(re.compile(f"^{re.escape(name)}{VARIANT}") for name in document["files"])]
        await files[FILES].delete_many({"_id": {"$in": named}})
        await files[CHUNKS].delete_many({"files_id": {"$in": named}})
        await files[INTENTS].delete_one({"_id": intent})
    return len(document["files"])


async def sweep(database: ProjectDatabase, *, abandoned_after: timedelta = ABANDONED_AFTER) -> Swept:
    """Removes the files of uploads whose intent was not renewed for so long, and of interrupted replacements.

    The server's clock decides, for those of two workers may differ. Raises Unavailable; the next sweep goes on.
    """
    milliseconds = int(abandoned_after.total_seconds() * 1000)
    expired: Document = {**STANDING, "$expr": {"$lt": ["$touched", {"$subtract": ["$$NOW", milliseconds]}]}}
    intents = database.database[INTENTS]
    with translated(), within(SWEEP_SECONDS):
        await intents.update_many(expired, {"$set": {"condemned": True}})
        condemned = await intents.find({"condemned": True}, {"_id": 1}).to_list()
    removed = [await remove(database, intent["_id"]) for intent in condemned]
    return Swept(sum(1 for files in removed if files), sum(removed))

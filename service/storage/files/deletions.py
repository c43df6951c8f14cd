"""Files going out: intents that are condemned, and what they name. Every step may be repeated, by anyone, at any time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bson import ObjectId

from service.storage.client import Database, Document, within
from service.storage.errors import translated
from service.storage.files.stored import CHUNKS, FILES
from service.storage.transactions import ClientSession

INTENTS = "uploads"
# An upload renews its intent at least every ten minutes; what was not for an hour has nobody left.
ABANDONED_AFTER = timedelta(hours=1)
SWEEP_SECONDS = 60.0
STANDING: Document = {"condemned": {"$exists": False}}


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep removed: unfinished uploads and replacements, and the files they named."""

    intents: int
    files: int


async def condemn(database: Database, intent: ObjectId) -> bool:
    """Whether the intent still stood; from now on no record can come to name its files."""
    with translated():
        changed = await database[INTENTS].update_one({"_id": intent, **STANDING}, {"$set": {"condemned": True}})
    return changed.modified_count == 1


async def condemn_owned(
    database: Database, owner: str, names: Mapping[str, str], session: ClientSession
) -> ObjectId | None:
    """Condemns, within a transaction, those files of `names` (field → file name) that `owner` uploaded to that field.

    The intent to pass to `remove` after the commit; None where there is nothing to remove.
    """
    owned: list[Document] = [
        {"_id": name, "metadata.owner": owner, "metadata.field": field} for field, name in names.items()
    ]
    if not owned:
        return None
    found = await database[FILES].find({"$or": owned}, {"_id": 1}, session=session).to_list()
    if not found:
        return None
    intent: dict[str, Any] = {"_id": ObjectId(), "files": [file["_id"] for file in found], "condemned": True}
    await database[INTENTS].insert_one(intent, session=session)
    return ObjectId(intent["_id"])


async def remove(database: Database, intent: ObjectId) -> int:
    """Removes the files of a condemned intent, then the intent; returns how many files it named."""
    with translated(), within(SWEEP_SECONDS):
        document = await database[INTENTS].find_one({"_id": intent, "condemned": True})
        if document is None:
            return 0
        # The file first: whoever asks for it then gets a 404, and no file without its bytes.
        await database[FILES].delete_many({"_id": {"$in": document["files"]}})
        await database[CHUNKS].delete_many({"files_id": {"$in": document["files"]}})
        await database[INTENTS].delete_one({"_id": intent})
    return len(document["files"])


async def sweep(database: Database, *, abandoned_after: timedelta = ABANDONED_AFTER) -> Swept:
    """Removes the files of uploads whose intent nobody renewed for so long, and of replacements that were cut short.

    The server's clock decides, for those of two workers may differ. Raises Unavailable; the next sweep goes on.
    """
    milliseconds = int(abandoned_after.total_seconds() * 1000)
    expired: Document = {**STANDING, "$expr": {"$lt": ["$touched", {"$subtract": ["$$NOW", milliseconds]}]}}
    with translated(), within(SWEEP_SECONDS):
        await database[INTENTS].update_many(expired, {"$set": {"condemned": True}})
        intents = await database[INTENTS].find({"condemned": True}, {"_id": 1}).to_list()
    removed = [await remove(database, intent["_id"]) for intent in intents]
    return Swept(sum(1 for files in removed if files), sum(removed))

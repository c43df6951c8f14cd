"""The hold: a record among the intents that keeps condemned files in place while a copy of the project is read.

    {_id: "hold", files: [], touched, until}

It is no lock. While `until` is to come, `remove` leaves condemned files to the next sweep. A reader that dies delays
sweeps by a minute; its hold, an intent that is not renewed, is itself swept after an hour.
"""

from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.layout import INTENTS
from service.storage.records import translated

HOLD = "hold"
HOLD_SECONDS = 60
# A hold outlives one renewal that fails.
RENEW_SECONDS = 20.0
IN_FORCE: Document = {"_id": HOLD, "$expr": {"$gt": ["$until", "$$NOW"]}}
_UNTIL = {"$add": ["$$NOW", HOLD_SECONDS * 1000]}


async def begin_hold(database: ProjectDatabase) -> None:
    """Keeps all files that are condemned from now on, and those that no process is removing already."""
    hold = {"_id": HOLD, "files": [], "touched": "$$NOW", "until": _UNTIL}
    with translated("hold the files"):
        await database.database[INTENTS].update_one({"_id": HOLD}, [{"$replaceWith": hold}], upsert=True)


async def renew_hold(database: ProjectDatabase) -> bool:
    """False if the hold had run out: a file may be gone that was there when it began."""
    with translated("hold the files"):
        changes = [{"$set": {"touched": "$$NOW", "until": _UNTIL}}]
        return bool((await database.database[INTENTS].update_one(IN_FORCE, changes)).matched_count)


async def end_hold(database: ProjectDatabase) -> None:
    with translated("release the files"):
        await database.database[INTENTS].delete_one({"_id": HOLD})

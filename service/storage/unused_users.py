"""Anonymous users that were not used for long; `active_on` is the day of the last use, by UTC."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from service.storage.client import Document
from service.storage.databases import ProjectDatabase

FIND_SECONDS = 10.0


async def find_unused(database: ProjectDatabase, until: datetime, *, limit: int) -> list[str]:
    """The ids of anonymous users whose last day is before `until`, the longest unused first."""
    command: Document = {
        "find": "users",
        "filter": {"anonymous": True, "active_on": {"$lt": until}},
        "projection": {"_id": 1},
        "sort": {"active_on": 1},
        "limit": limit,
        "batchSize": limit + 1,
    }
    return [row["_id"] for row in await database.records("users").page(command, seconds=FIND_SECONDS)]


def is_unused(record: Mapping[str, Any], until: datetime) -> bool:
    """True for the record of an anonymous user that `find_unused` finds."""
    return record.get("anonymous") is True and record["active_on"] < until

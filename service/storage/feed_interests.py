"""The stored settings of projects that keep a feed, as the leader reads them: no secret is among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from service.storage.databases import Databases
from service.storage.records import translated

FIELDS = {"settings.FEED": 1, "settings.FEED_INCLUDE": 1}


@dataclass(frozen=True, slots=True)
class StoredInterest:
    """The patterns of `FEED`, and `FEED_INCLUDE`, None for its default."""

    project_id: str
    patterns: Sequence[str]
    include: Literal["ids", "document", "previous"] | None


async def find_interests(databases: Databases) -> list[StoredInterest]:
    """Those of all projects that keep a feed and are not being deleted. Raises the errors of `records.translated`."""
    match: dict[str, Any] = {"settings.FEED.0": {"$exists": True}, "deleting": {"$exists": False}}
    with translated("read the settings of feeds"):
        rows = await databases.system["projects"].find(match, FIELDS).to_list()
    return [StoredInterest(row["_id"], row["settings"]["FEED"], row["settings"].get("FEED_INCLUDE")) for row in rows]

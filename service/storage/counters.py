"""Counters of requests in MongoDB, one document for each limit and window: `{_id: key, used, granted, expires}`."""

from datetime import datetime
from typing import Any

from pymongo import ReturnDocument

from service.storage.calls import translated
from service.storage.databases import Databases

# No slice is larger than this part of what is left, so the slices shrink to one as a limit is approached.
SHARE = 2


class Counters:
    """Every step is one command on one document, acknowledged by a majority: it neither races nor rolls back."""

    def __init__(self, databases: Databases) -> None:
        self._counters = databases.system["counters"]

    async def take(self, key: str, *, wanted: int, limit: int, until: datetime) -> tuple[int, int]:
        """Takes up to `wanted` of what `limit` leaves; returns how many were granted, and how many are used up now.

        The match is on `_id` alone, so that the server itself repeats an upsert that lost a race (MongoDB manual, "Upsert
        with Duplicate Values"). `until` is when the document may be cleaned up. Raises Unavailable.
        """
        with translated():
            found: Any = await self._counters.find_one_and_update(
                {"_id": key},
                _take(wanted, limit, until),
                upsert=True,
                projection={"used": 1, "granted": 1},
                return_document=ReturnDocument.AFTER,
            )
        return int(found["granted"]), int(found["used"])

    async def give_back(self, key: str, amount: int) -> None:
        """Returns what was taken and not spent. A retried write is applied once. Raises Unavailable."""
        with translated():
            await self._counters.update_one({"_id": key}, {"$inc": {"used": -amount}})


def _take(wanted: int, limit: int, until: datetime) -> list[dict[str, Any]]:
    """The update as a pipeline, which computes from the document as it is at that instant."""
    used = {"$ifNull": ["$used", 0]}
    free = {"$max": [0, {"$subtract": [limit, used]}]}
    share = {"$max": [1, {"$toInt": {"$floor": {"$divide": [free, SHARE]}}}]}
    return [
        {"$set": {"granted": {"$min": [wanted, share, free]}, "expires": until}},
        {"$set": {"used": {"$add": [used, "$granted"]}}},
    ]

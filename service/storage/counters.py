"""Counters of requests in MongoDB, one document for each limit and window: `{_id: key, used, granted, expires}`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pymongo import ReturnDocument

from service.storage.databases import Databases
from service.storage.records import translated

# No slice is larger than this part of what is left, so the slices shrink to one as a limit is approached.
SHARE = 2
USED = {"$ifNull": ["$used", 0]}
NOTED = ({"$set": {"asked": {"$add": [{"$ifNull": ["$asked", 0]}, 1]}}},)


class Counters:
    """Every step is one command on one document, acknowledged by a majority: it neither races nor rolls back."""

    def __init__(self, databases: Databases) -> None:
        self._counters = databases.system["counters"]

    async def take(
        self, key: str, *, wanted: int, limit: int, until: datetime, is_noted: bool = False
    ) -> tuple[int, int]:
        """Takes up to `wanted` of what `limit` leaves; returns how many were granted, and how many are used up now.

        The match is on `_id` alone, so that the server itself repeats an upsert that lost a race (MongoDB manual, "Upsert
        with Duplicate Values"). `until` is when the document may be cleaned up. A second refusal changes nothing, and is
        answered without a write, which is sooner; one that `is_noted` takes as long as any other. Raises Unavailable.
        """
        with translated():
            found: Any = await self._counters.find_one_and_update(
                {"_id": key},
                [*_take(wanted, limit, until), *(NOTED if is_noted else ())],
                upsert=True,
                projection={"used": 1, "granted": 1},
                return_document=ReturnDocument.AFTER,
            )
        return int(found["granted"]), int(found["used"])

    async def take_all(self, key: str, *, wanted: int, limit: int, until: datetime) -> bool:
        """Takes `wanted` of the rest of `limit`, or nothing; returns True if it did. Otherwise as `take`."""
        with translated():
            found: Any = await self._counters.find_one_and_update(
                {"_id": key},
                _take_all(wanted, limit, until),
                upsert=True,
                projection={"granted": 1},
                return_document=ReturnDocument.AFTER,
            )
        return bool(found["granted"])

    async def read(self, keys: Sequence[str]) -> dict[str, int]:
        """The numbers that are used up; counters that are not there are left out. Raises Unavailable."""
        with translated():
            rows = await self._counters.find({"_id": {"$in": list(keys)}}, {"used": 1}).to_list()
        return {row["_id"]: int(row["used"]) for row in rows}

    async def give_back(self, key: str, amount: int) -> None:
        """Gives back the unspent part of a slice. A retried write is applied once. Raises Unavailable."""
        with translated():
            await self._counters.update_one({"_id": key}, {"$inc": {"used": -amount}})


def _take(wanted: int, limit: int, until: datetime) -> list[dict[str, Any]]:
    free = {"$max": [0, {"$subtract": [limit, USED]}]}
    share = {"$max": [1, {"$toInt": {"$floor": {"$divide": [free, SHARE]}}}]}
    return _grant({"$min": [wanted, share, free]}, until)


def _take_all(wanted: int, limit: int, until: datetime) -> list[dict[str, Any]]:
    return _grant({"$cond": [{"$lte": [{"$add": [USED, wanted]}, limit]}, wanted, 0]}, until)


def _grant(granted: dict[str, Any], until: datetime) -> list[dict[str, Any]]:
    """The update as a pipeline, which computes from the document as it is at that instant."""
    return [
        {"$set": {"granted": granted, "expires": until}},
        {"$set": {"used": {"$add": [USED, "$granted"]}}},
    ]

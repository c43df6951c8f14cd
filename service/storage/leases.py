"""Leases for work that one process of a deployment does at a time: `leases` {_id: name, holder, until}, by MongoDB's
clock.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from pymongo import ReturnDocument

from service.errors import ServiceError
from service.storage.databases import Databases
from service.storage.records import translated

# The lease of the one process that does the work of the whole deployment.
LEADER = "leader"
LEASE_SECONDS = 15.0
# A lease outlives two renewals that fail.
RENEW_SECONDS = 5.0
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Leases:
    """Every step is one command on one document. Raises Unavailable."""

    __slots__ = ("_lease_seconds", "_leases", "_renew_seconds")

    def __init__(
        self, databases: Databases, *, lease_seconds: float = LEASE_SECONDS, renew_seconds: float = RENEW_SECONDS
    ) -> None:
        self._leases = databases.system["leases"]
        self._lease_seconds = lease_seconds
        self._renew_seconds = renew_seconds

    async def take(self, name: str, holder: str) -> bool:
        """True if `holder` has the lease from now on for `lease_seconds`: it was free, or had run out, or was its own."""
        with translated():
            found: Any = await self._leases.find_one_and_update(
                # By `_id` alone, so that the server itself repeats an upsert that lost a race.
                {"_id": name},
                _take(holder, self._lease_seconds),
                upsert=True,
                return_document=ReturnDocument.AFTER,
            )
        return bool(found["holder"] == holder)

    async def release(self, name: str, holder: str) -> None:
        with translated():
            await self._leases.delete_one({"_id": name, "holder": holder})

    async def is_known(self, name: str) -> bool:
        """True if a process has the lease, or had it and did not release it."""
        with translated():
            return await self._leases.find_one({"_id": name}, {"_id": 1}) is not None

    async def run_alone(self, name: str, work: Callable[[], Awaitable[None]]) -> bool:
        """Runs `work` unless another process runs work of this name; False if one does, or if the lease was lost.

        Raises the errors of `work`. If the lease is lost, `work` is cancelled, so it must be repeatable.
        """
        holder = secrets.token_hex(8)
        if not await self.take(name, holder):
            return False
        task = asyncio.create_task(_await(work), name=_name_of_task())
        try:
            while not task.done():
                await asyncio.wait([task], timeout=self._renew_seconds)
                if not task.done() and not await self.take(name, holder):
                    return False
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with suppress(ServiceError):
                await self.release(name, holder)
        return True


async def _await(work: Callable[[], Awaitable[None]]) -> None:
    await work()


def _name_of_task() -> str | None:
    """Background work stays known as such."""
    task = asyncio.current_task()
    return task.get_name() if task is not None else None


def _take(holder: str, seconds: float) -> list[dict[str, Any]]:
    is_free = {"$or": [{"$eq": ["$holder", holder]}, {"$lt": [{"$ifNull": ["$until", LONG_AGO]}, "$$NOW"]}]}
    until = {"$add": ["$$NOW", int(seconds * 1000)]}
    return [
        {"$set": {"is_free": is_free}},
        {"$set": {"holder": _if_free(holder, "$holder"), "until": _if_free(until, "$until")}},
        {"$unset": "is_free"},
    ]


def _if_free(new: Any, old: str) -> dict[str, Any]:
    return {"$cond": ["$is_free", new, old]}

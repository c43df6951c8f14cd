"""Challenges of CAPTCHAs that were solved: each is good once. The TTL index only cleans up."""

from datetime import datetime

from pymongo.errors import DuplicateKeyError

from service.storage.databases import Databases
from service.storage.records import translated


class UsedChallenges:
    """`used_challenges`: {_id: nonce, project_id, expires_at}. Raises the errors of `records.translated`."""

    __slots__ = ("_used",)

    def __init__(self, databases: Databases) -> None:
        self._used = databases.system["used_challenges"]

    async def spend(self, project_id: str, nonce: str, expires_at: datetime) -> bool:
        """True for the first caller with this nonce."""
        with translated():
            try:
                await self._used.insert_one({"_id": nonce, "project_id": project_id, "expires_at": expires_at})
            except DuplicateKeyError:
                return False
        return True

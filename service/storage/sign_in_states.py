"""Sign-ins that were begun: one document each, used once. The TTL index only cleans up; the stored time decides."""

from datetime import datetime

from service.storage.client import Document
from service.storage.databases import Databases
from service.storage.errors import translated


class SignInStates:
    """`sign_in_states`: {_id: SHA-256 of the state, project_id, expires_at, and what the callback needs}."""

    __slots__ = ("_states",)

    def __init__(self, databases: Databases) -> None:
        self._states = databases.system["sign_in_states"]

    async def insert(self, record: Document) -> None:
        with translated():
            await self._states.insert_one(record)

    async def take(self, key: str, *, project_id: str, moment: datetime) -> Document | None:
        """Finds and deletes, in one step, the record of `key` that is the project's and not expired at `moment`.

        Of any number of callers at once one gets it. Another project's record stays, so that nobody can spend it there.
        """
        with translated():
            return await self._states.find_one_and_delete(
                {"_id": key, "project_id": project_id, "expires_at": {"$gt": moment}}
            )

"""The reservation of an id while a project is restored under it: a tombstone with a lease, in `projects`.

    {_id, deleting, restoring: {holder, until}}

Nothing but deletions sees a tombstone, and they pass by one whose lease is in force. If the lease runs out, or is given
back, the tombstone is that of any deletion: the database is dropped, and the id is free again when no data came for
long enough. So before `publish` there is no project, and after it a whole one.
"""

from collections.abc import Awaitable, Callable, Sequence

from service.errors import DuplicateValue, ProjectBusy, RestoreInvalid
from service.storage.client import ClientSession, Document
from service.storage.databases import Databases
from service.storage.projects import IS_RESTORING
from service.storage.records import translated
from service.storage.transactions import in_transaction

LEASE_SECONDS = 60
# A lease outlives several renewals that fail.
RENEW_SECONDS = 10.0
_UNTIL = {"$add": ["$$NOW", LEASE_SECONDS * 1000]}
Note = Callable[[ClientSession], Awaitable[None]]


class Reservation:
    """The id that `holder` restores a project under. Every call raises Unavailable."""

    def __init__(self, databases: Databases, project_id: str, holder: str) -> None:
        self._client = databases.client
        self._projects = databases.system["projects"]
        self._api_keys = databases.system["api_keys"]
        self._id = project_id
        self._holder = holder

    @property
    def _in_force(self) -> Document:
        return {"_id": self._id, "restoring.holder": self._holder, **IS_RESTORING}

    async def is_free(self) -> bool:
        """False for the id of a project, of one that is being deleted, and of one that is being restored."""
        with translated("look for the id"):
            return await self._projects.find_one({"_id": self._id}, {"_id": 1}) is None

    async def begin(self) -> bool:
        """False if the id is taken."""
        lease = {"deleting": "$$NOW", "restoring": {"holder": self._holder, "until": _UNTIL}}
        try:
            with translated("reserve the id"):
                free = {"_id": self._id, "deleting": {"$exists": False}, "name": {"$exists": False}}
                await self._projects.update_one(free, [{"$set": lease}], upsert=True)
        except DuplicateValue:
            return False
        return True

    async def renew(self) -> None:
        """Does nothing once the lease has run out."""
        with translated("keep the id"):
            await self._projects.update_one(self._in_force, [{"$set": {"restoring.until": _UNTIL}}])

    async def release(self) -> bool:
        """Leaves the tombstone to the deletion of what was written. False if the project was published, or all is gone."""
        with translated("release the id"):
            match = {"_id": self._id, "restoring.holder": self._holder}
            return bool((await self._projects.update_one(match, {"$unset": {"restoring": ""}})).modified_count)

    async def publish(self, project: Document, api_keys: Sequence[Document], note: Note) -> None:
        """Puts the project into the place of the reservation, all or nothing; `note` writes in the same transaction.

        Raises ProjectBusy where the lease ran out or the id was deleted, RestoreInvalid for a key of another project.
        """

        async def write(session: ClientSession) -> None:
            if await self._projects.find_one(self._in_force, {"_id": 1}, session=session) is None:
                raise ProjectBusy(f"The restore of {self._id} was interrupted; try again in a minute")
            await self._projects.replace_one({"_id": self._id}, project, session=session)
            if api_keys:
                await self._api_keys.insert_many(api_keys, session=session)
            await note(session)

        try:
            await in_transaction(self._client, write)
        except DuplicateValue:
            raise RestoreInvalid("an API key of the backup belongs to another project") from None

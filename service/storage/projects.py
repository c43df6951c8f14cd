"""Projects and their API keys, as they are stored. Secrets arrive here sealed, a key only as its SHA-256."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from pymongo import UpdateOne

from service.errors import Conflict, DuplicateValue, ProjectNotFound
from service.storage.client import ClientSession, Document
from service.storage.databases import Databases
from service.storage.records import translated
from service.storage.transactions import in_transaction

CANARY = "secret_key"
NOT_DELETING: Document = {"deleting": {"$exists": False}}
# A project is being restored under the id of this tombstone, see `reservations`.
IS_RESTORING: Document = {"$expr": {"$gt": ["$restoring.until", "$$NOW"]}}

# The class has a method `list`.
_Ids = list[str]
_Records = list[Document]
# They write in the transaction of a change, and may run several times.
Note = Callable[[ClientSession], Awaitable[None]]
NoteRecord = Callable[[ClientSession, Document], Awaitable[None]]
Decide = Callable[[ClientSession, Document], Awaitable[Document | None]]
# The hashes of the keys to remove, and the key to add.
DecideKeys = Callable[[ClientSession, list[Document]], Awaitable[tuple[list[str], Document | None]]]


class ProjectStore:
    """`projects`: {_id, name, settings, signing_key, next_signing_key? {sealed, published_at}, previous_signing_keys?
    [{sealed, until}], providers?: {<name>: {preset, settings, created_at}}, created_at, settings_version?, key_changes?,
    deleting?}; `api_keys`: {_id: sha256, project_id, created_at, kind?, name?, last_used_at?}; `canary`: {_id: "secret_key",
    sealed}.

    A project with `deleting` is a tombstone, with the last time at which records of it were found. Only calls that name
    deletion see it.
    """

    def __init__(self, databases: Databases) -> None:
        self._client = databases.client
        self._system = databases.system
        self._projects = databases.system["projects"]
        self._api_keys = databases.system["api_keys"]
        self._canary = databases.system["canary"]

    async def find(self, project_id: str) -> Document | None:
        """A project that is not being deleted."""
        with translated():
            return await self._projects.find_one({"_id": project_id, **NOT_DELETING})

    async def is_deleting(self, project_id: str) -> bool:
        with translated():
            match = {"_id": project_id, "deleting": {"$exists": True}}
            return await self._projects.find_one(match, {"_id": 1}) is not None

    async def is_taken(self, project_id: str) -> bool:
        """True for the id of a project, and of one that is being deleted or restored."""
        with translated():
            return await self._projects.find_one({"_id": project_id}, {"_id": 1}) is not None

    async def find_by_key(self, key_hash: str) -> Document | None:
        """The project of an API key, in one round trip."""
        lookup = {"from": "projects", "localField": "project_id", "foreignField": "_id", "as": "project"}
        stages: list[Document] = [{"$match": {"_id": key_hash}}, {"$lookup": lookup}, {"$unwind": "$project"}]
        stages.append({"$match": {"project.deleting": {"$exists": False}}})
        with translated():
            rows = await (await self._api_keys.aggregate(stages)).to_list()
        return rows[0]["project"] if rows else None

    async def allow_origin(self, origin: str) -> bool:
        """True if any project has `origin`, or `*`, among its CORS_ORIGINS."""
        with translated():
            found = await self._projects.find_one(
                {"settings.CORS_ORIGINS": {"$in": [origin, "*"]}, **NOT_DELETING}, {"_id": 1}
            )
        return found is not None

    async def ids(self) -> list[str]:
        """The ids of all projects."""
        with translated():
            return [record["_id"] for record in await self._projects.find(NOT_DELETING, {"_id": 1}).to_list()]

    async def list(self) -> list[Document]:
        """All projects, oldest first."""
        with translated():
            return await self._projects.find(NOT_DELETING).sort([("created_at", 1), ("_id", 1)]).to_list()

    async def find_any(self) -> Document | None:
        """Some project, where there is one. An id that is reserved for a restore has none yet."""
        with translated():
            return await self._projects.find_one({"signing_key": {"$exists": True}})

    async def find_canary(self) -> str | None:
        """The sealed canary, where it has been made."""
        with translated():
            found = await self._canary.find_one({"_id": CANARY})
        return found["sealed"] if found else None

    async def keep_canary(self, sealed: str) -> str:
        """Stores `sealed`, unless another was first; returns the one that is stored."""
        with suppress(DuplicateValue), translated():
            await self._canary.update_one({"_id": CANARY}, {"$setOnInsert": {"sealed": sealed}}, upsert=True)
        return await self.find_canary() or sealed

    async def only_id(self) -> str | None:
        """The id of the only project; None if there are none or several."""
        with translated():
            rows = await self._projects.find(NOT_DELETING, {"_id": 1}).limit(2).to_list()
        return rows[0]["_id"] if len(rows) == 1 else None

    async def insert(self, project: Document, api_keys: Sequence[Document], note: Note) -> None:
        """All or nothing; `note` writes in the same transaction. Raises Conflict when the id is taken."""

        async def write(session: ClientSession) -> None:
            await self._projects.insert_one(project, session=session)
            await self._api_keys.insert_many(api_keys, session=session)
            await note(session)

        try:
            await in_transaction(self._client, write)
        except DuplicateValue:
            raise await self.conflict(project["_id"]) from None

    async def conflict(self, project_id: str) -> Conflict:
        """Why the id is taken."""
        if await self.is_deleting(project_id):
            return Conflict(f"The project {project_id} is being deleted; its id is free again when that is done")
        return Conflict(f"A project with the id {project_id} already exists")

    async def change(self, project_id: str, decide: Decide) -> None:
        """Makes the update that `decide` returns for the stored record, if any; what `decide` writes is part of it.

        Concurrent changes of one project are made one after the other. `decide` may run several times. Raises
        ProjectNotFound, and the errors of `decide`.
        """

        async def write(session: ClientSession) -> None:
            record = await self._projects.find_one({"_id": project_id, **NOT_DELETING}, session=session)
            if record is None:
                raise ProjectNotFound(f"There is no project {project_id}")
            if update := await decide(session, record):
                await self._projects.update_one({"_id": project_id}, update, session=session)

        await in_transaction(self._client, write)

    async def change_keys(self, project_id: str, decide: DecideKeys) -> None:
        """Removes the keys and adds the one that `decide` names, given the records of all keys, as `change` does."""

        async def write(session: ClientSession, _: Document) -> Document:
            removed, added = await decide(session, await self._find_keys(project_id, session))
            await self._api_keys.delete_many({"_id": {"$in": removed}}, session=session)
            if added is not None:
                await self._api_keys.insert_one(added, session=session)
            # A concurrent change of the keys, or a deletion of the project, conflicts with this write.
            return {"$inc": {"key_changes": 1}}

        await self.change(project_id, write)

    async def note_key_uses(self, uses: Mapping[str, datetime]) -> None:
        """Hash of a key → the time of its last use. A key that is gone is not made again."""
        writes = [UpdateOne({"_id": key}, {"$max": {"last_used_at": moment}}) for key, moment in uses.items()]
        with translated("note uses of keys"):
            await self._api_keys.bulk_write(writes, ordered=False)

    async def keys(self, project_id: str) -> Sequence[Document]:
        """The records of a project's keys, oldest first."""
        with translated():
            return await self._find_keys(project_id)

    async def _find_keys(self, project_id: str, session: ClientSession | None = None) -> _Records:
        found = self._api_keys.find({"project_id": project_id}, session=session)
        return await found.sort([("created_at", 1), ("_id", 1)]).to_list()

    async def begin_deletion(self, project_id: str, note: NoteRecord) -> bool:
        """Puts a tombstone on the project and removes its keys; False where there is no project.

        `note` is given the record, and writes in the same transaction; a repeated call calls no `note`.
        """

        async def write(session: ClientSession) -> bool:
            record = await self._projects.find_one({"_id": project_id}, session=session)
            if record is None:
                return False
            if "deleting" not in record:
                await self._projects.update_one({"_id": project_id}, [{"$set": {"deleting": "$$NOW"}}], session=session)
                await note(session, record)
            elif "restoring" in record:
                # The deletion wins: what is being restored is never published.
                await self._projects.update_one({"_id": project_id}, {"$unset": {"restoring": ""}}, session=session)
            await self._api_keys.delete_many({"project_id": project_id}, session=session)
            return True

        return await in_transaction(self._client, write)

    async def deleting_ids(self) -> _Ids:
        """The projects with a tombstone, but those that are being restored."""
        match = {"deleting": {"$exists": True}, "$nor": [IS_RESTORING]}
        with translated():
            found = await self._projects.find(match, {"_id": 1}).to_list()
        return [record["_id"] for record in found]

    async def has_rest(self, project_id: str) -> bool:
        """True if the system's database holds any record of a project, beside its tombstone."""
        with translated():
            for collection, match in [*_rest(project_id), *_roles(project_id)]:
                if await self._system[collection].find_one(match, {"_id": 1}):
                    return True
        return False

    async def remove_rest(self, project_id: str) -> None:
        with translated():
            for collection, match in _rest(project_id):
                await self._system[collection].delete_many(match)
            for collection, match in _roles(project_id):
                await self._system[collection].update_many(match, {"$unset": dict.fromkeys(match, "")})

    async def note_rest(self, project_id: str) -> None:
        """Something of it was there just now."""
        with translated():
            await self._projects.update_one(
                {"_id": project_id, "deleting": {"$exists": True}}, [{"$set": {"deleting": "$$NOW"}}]
            )

    async def bury(self, project_id: str, quiet_seconds: float) -> bool:
        """Removes a tombstone after `quiet_seconds` without any late write. Returns True if there is none now."""
        quiet = {"$lte": ["$deleting", {"$subtract": ["$$NOW", int(quiet_seconds * 1000)]}]}
        match: Document = {"_id": project_id, "deleting": {"$exists": True}}
        with translated():
            await self._projects.delete_one({**match, "$expr": quiet})
            return await self._projects.find_one(match, {"_id": 1}) is None


def _roles(project_id: str) -> list[tuple[str, Document]]:
    """Operators and invitations with a role in the project, which lose it: its id may be that of another one later."""
    role: Document = {f"roles.{project_id}": {"$exists": True}}
    return [("operators", role), ("operator_invitations", role)]


def _rest(project_id: str) -> list[tuple[str, Document]]:
    """The other records of a project in the system's database. A new collection must be added here."""
    named: Document = {"project_id": project_id}
    # Ids hold no character that means something in a regular expression, but `-` outside of brackets, which is itself.
    return [
        ("api_keys", named),
        ("sign_in_states", named),
        ("used_challenges", named),
        ("flows", named),
        ("requests", named),
        ("usage", named),
        ("views", named),
        ("feed_log", named),
        ("operator_acting", named),
        ("counters", {"_id": {"$regex": f"^{project_id}/"}}),
    ]

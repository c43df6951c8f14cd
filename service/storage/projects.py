"""Projects and their API keys, as they are stored. Secrets arrive here sealed, a key only as its SHA-256."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from service.errors import Conflict, DuplicateValue, ProjectNotFound
from service.storage.client import ClientSession, Document
from service.storage.databases import Databases
from service.storage.records import translated
from service.storage.transactions import in_transaction

CANARY = "secret_key"
NOT_DELETING: Document = {"deleting": {"$exists": False}}

# The class has a method `list`.
_Ids = list[str]


class ProjectStore:
    """`projects`: {_id, name, settings, signing_key, next_signing_key? {sealed, published_at}, previous_signing_keys?
    [{sealed, until}], providers?: {<name>: {preset, settings, created_at}}, created_at, deleting?}; `api_keys`:
    {_id: sha256, project_id, created_at, kind?, name?}; `canary`: {_id: "secret_key", sealed}.

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
        """Some project, where there is one."""
        with translated():
            return await self._projects.find_one()

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

    async def insert(self, project: Document, api_keys: Sequence[Document]) -> None:
        """All or nothing. Raises Conflict when the id is taken."""

        async def write(session: ClientSession) -> None:
            await self._projects.insert_one(project, session=session)
            await self._api_keys.insert_many(api_keys, session=session)

        try:
            await in_transaction(self._client, write)
        except DuplicateValue:
            raise await self.conflict(project["_id"]) from None

    async def conflict(self, project_id: str) -> Conflict:
        """Why the id is taken."""
        if await self.is_deleting(project_id):
            return Conflict(f"The project {project_id} is being deleted; its id is free again when that is done")
        return Conflict(f"A project with the id {project_id} already exists")

    async def update_settings(self, project_id: str, changes: Mapping[str, Any]) -> None:
        """Sets each named setting; None removes it. Raises ProjectNotFound."""
        update = {
            "$set": {f"settings.{name}": value for name, value in changes.items() if value is not None},
            "$unset": {f"settings.{name}": "" for name, value in changes.items() if value is None},
        }
        with translated():
            result = await self._projects.update_one(
                {"_id": project_id, **NOT_DELETING}, {k: v for k, v in update.items() if v}
            )
        if not result.matched_count:
            raise ProjectNotFound

    async def add_provider(self, project_id: str, name: str, record: Document, *, most: int) -> bool:
        """False where there is one of that name, or there are `most`."""
        number = {"$size": {"$objectToArray": {"$ifNull": ["$providers", {}]}}}
        room: Document = {f"providers.{name}": {"$exists": False}, "$expr": {"$lt": [number, most]}}
        return await self._change(project_id, room, {"$set": {f"providers.{name}": record}})

    async def change_provider(self, project_id: str, name: str, preset: str, changes: Mapping[str, Any]) -> bool:
        """Sets each named setting; None removes it. False where there is no such provider."""
        place = f"providers.{name}"
        update = {
            "$set": {f"{place}.preset": preset}
            | {f"{place}.settings.{key}": value for key, value in changes.items() if value is not None},
            "$unset": {f"{place}.settings.{key}": "" for key, value in changes.items() if value is None},
        }
        there: Document = {place: {"$exists": True}}
        return await self._change(project_id, there, {k: v for k, v in update.items() if v})

    async def remove_provider(self, project_id: str, name: str) -> bool:
        """Returns False if the project had no such provider."""
        there: Document = {f"providers.{name}": {"$exists": True}}
        return await self._change(project_id, there, {"$unset": {f"providers.{name}": ""}})

    async def _change(self, project_id: str, match: Document, update: Document) -> bool:
        """Returns False if no project matches."""
        with translated():
            found = await self._projects.update_one({"_id": project_id, **NOT_DELETING, **match}, update)
        return found.matched_count == 1

    async def publish_signing_key(self, project_id: str, key: Document) -> None:
        """Unless there is a next one already."""
        match: Document = {"_id": project_id, "next_signing_key": {"$exists": False}, **NOT_DELETING}
        with translated():
            await self._projects.update_one(match, {"$set": {"next_signing_key": key}})

    async def replace_signing_keys(self, before: Document, changes: Document) -> bool:
        """Returns False if the keys are no longer those of `before`."""
        match: Document = {name: before[name] for name in ("_id", "signing_key", "next_signing_key")}
        with translated():
            return (await self._projects.update_one({**match, **NOT_DELETING}, {"$set": changes})).modified_count == 1

    async def add_key(self, api_key: Document) -> None:
        with translated():
            await self._api_keys.insert_one(api_key)

    async def keys(self, project_id: str) -> Sequence[Document]:
        """The records of a project's keys, oldest first."""
        with translated():
            return await self._api_keys.find({"project_id": project_id}).sort([("created_at", 1), ("_id", 1)]).to_list()

    async def remove_key(self, project_id: str, beginning: str) -> bool:
        """Returns False if the project has no key whose hash begins so."""
        match: Document = {"project_id": project_id, "_id": {"$gte": beginning, "$lt": f"{beginning}g"}}
        with translated():
            return (await self._api_keys.delete_one(match)).deleted_count == 1

    async def replace_secret_keys(self, project_id: str, api_key: Document) -> None:
        """From now on `api_key` is the project's only secret one. A key from before there were kinds is one."""

        async def write(session: ClientSession) -> None:
            match: Document = {"project_id": project_id, "kind": {"$ne": "publishable"}}
            await self._api_keys.delete_many(match, session=session)
            await self._api_keys.insert_one(api_key, session=session)

        await in_transaction(self._client, write)

    async def begin_deletion(self, project_id: str) -> bool:
        """Puts a tombstone on the project and removes its keys; False where there is no project."""

        async def write(session: ClientSession) -> bool:
            changes = [{"$set": {"deleting": {"$ifNull": ["$deleting", "$$NOW"]}}}]
            found = await self._projects.update_one({"_id": project_id}, changes, session=session)
            await self._api_keys.delete_many({"project_id": project_id}, session=session)
            return found.matched_count == 1

        return await in_transaction(self._client, write)

    async def deleting_ids(self) -> _Ids:
        """The projects with a tombstone."""
        with translated():
            found = await self._projects.find({"deleting": {"$exists": True}}, {"_id": 1}).to_list()
        return [record["_id"] for record in found]

    async def has_rest(self, project_id: str) -> bool:
        """True if the system's database holds any record of a project, beside its tombstone."""
        with translated():
            for collection, match in _rest(project_id):
                if await self._system[collection].find_one(match, {"_id": 1}):
                    return True
        return False

    async def remove_rest(self, project_id: str) -> None:
        with translated():
            for collection, match in _rest(project_id):
                await self._system[collection].delete_many(match)

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


def _rest(project_id: str) -> list[tuple[str, Document]]:
    """The other records of a project in the system's database. A new collection must be added here."""
    named: Document = {"project_id": project_id}
    # Ids hold no character that means something in a regular expression, but `-` outside of brackets, which is itself.
    return [
        ("api_keys", named),
        ("sign_in_states", named),
        ("flows", named),
        ("counters", {"_id": {"$regex": f"^{project_id}/"}}),
    ]

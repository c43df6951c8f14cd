"""The form in which data is stored, by version, and the steps from each version to the next.

Each project's database has a version, and so has the system's: `migrations` {_id: "version", number, at}. A step is run by
one process at a time, may be cut short anywhere and is then run again from its begin. While it runs, requests are
answered: code reads the form before the step as well as the one after it.

To add a step, append a `Migration` to `PROJECT_MIGRATIONS` or `SYSTEM_MIGRATIONS`; none is ever taken out or changed.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pymongo import UpdateOne

from service.errors import NewerData
from service.schema.file_urls import named_file
from service.storage.accounts import HASH
from service.storage.audit import ensure_audit_indexes
from service.storage.backups import ensure_backup_indexes
from service.storage.client import Database, Document, within
from service.storage.databases import Databases, ProjectDatabase
from service.storage.feed import ensure_feed
from service.storage.files.stored import FILES
from service.storage.flows import ensure_flow_indexes
from service.storage.layout import FOREIGN_HASH, MIGRATIONS, PROFILE, USERS
from service.storage.leases import Leases
from service.storage.long_jobs import ensure_job_indexes
from service.storage.operator_records import ensure_operator_indexes
from service.storage.records import translated
from service.storage.server_settings import expire_images
from service.storage.usage import ensure_usage_indexes
from service.storage.validator_migrations import allow_versions, remove_patterns
from service.storage.views import ensure_view_indexes

# Seconds for one step; a step over all users of a large project does it in batches.
STEP_SECONDS = 3_600.0
LOOK_SECONDS = 0.5
VERSION = "version"
FOREIGN = "foreign_hashes"
BATCH = 500
OLDER: Document = {"files": {"$exists": False}}


async def name_files(database: ProjectDatabase) -> None:
    """Gives users with whole URLs in `data` the names of their files, see `schema/file_urls`.

    One pass in the order of ids. A user that is changed meanwhile gets the names with that change.
    """
    last = ""
    while rows := await _batch(database, last):
        last = rows[-1]["_id"]
        named = {row["_id"]: _named(row["data"]) for row in rows}
        uploads = await _find_uploads(database, [name for files in named.values() for name in files.values()])
        writes = [_write(row, _owned(row["_id"], named[row["_id"]], uploads)) for row in rows]
        with translated():
            await database.database["users"].bulk_write(writes, ordered=False)


async def allow_shared_subjects(database: ProjectDatabase) -> None:
    """Drops the unique index of `oauth_id`, for two providers may use one subject. `identities` is unique instead."""
    users = database.database["users"]
    with translated():
        if "oauth_id" in await users.index_information():
            await users.drop_index("oauth_id")


async def verify_asserted_addresses(database: ProjectDatabase) -> None:
    """Marks an address as verified if a provider made the account with it, or asserts it of a linked identity.

    A provider's account has no hash of a password, and lost its provider's address only with a value in `email_verified`.
    """
    made = {"oauth_id": {"$exists": True}, "email_verified": {"$exists": False}, "password": {"$not": HASH}}
    linked = {"$expr": {"$in": ["$email", {"$ifNull": ["$identities.email", []]}]}}
    match = {"email_verified": {"$ne": True}, "$or": [made, linked]}
    changes = {"$set": {"email_verified": True, "email_asserted": True}, "$inc": {"version": 1}}
    with translated():
        await database.database["users"].update_many(match, changes)


async def allow_missing_addresses(database: ProjectDatabase) -> None:
    """Replaces the unique index of addresses, in which all users without one are equal. One of both is always there."""
    await database.ensure_indexes()
    users = database.database["users"]
    with translated():
        if "email" in await users.index_information():
            await users.drop_index("email")


async def _batch(database: ProjectDatabase, last: str) -> list[Document]:
    stages: list[Document] = [
        {"$match": {"_id": {"$gt": last}, **OLDER}},
        {"$sort": {"_id": 1}},
        {"$limit": BATCH},
        {"$project": {"data": 1}},
    ]
    return await database.records("users").aggregate(stages, size=BATCH)


def _named(data: Mapping[str, object]) -> dict[str, str]:
    return {field: name for field, value in data.items() if (name := named_file(value)) is not None}


async def _find_uploads(database: ProjectDatabase, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """File name → (owner, field)."""
    if not names:
        return {}
    stages: list[Document] = [{"$match": {"_id": {"$in": list(names)}}}, {"$project": {"metadata": 1}}]
    rows = await database.records(FILES).aggregate(stages, size=len(names))
    # A file that another program put there may have no metadata of ours.
    metadata = ((row["_id"], row.get("metadata") or {}) for row in rows)
    return {name: (each.get("owner", ""), each.get("field", "")) for name, each in metadata}


def _owned(user_id: str, named: Mapping[str, str], uploads: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {field: name for field, name in named.items() if uploads.get(name) == (user_id, field)}


def _write(row: Document, files: Mapping[str, str]) -> UpdateOne:
    """Matches no user that has `files` by now, or whose field changed since it was read."""
    unchanged = {f"data.{field}": row["data"][field] for field in files}
    changes = {"files": dict(files), **{f"data.{field}": name for field, name in files.items()}}
    return UpdateOne({"_id": row["_id"], **OLDER, **unchanged}, {"$set": changes})


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of a project's database; `what` completes "makes ..."."""

    what: str
    run: Callable[[ProjectDatabase], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SystemMigration:
    """One step of the system's database."""

    what: str
    run: Callable[[Databases], Awaitable[None]]


PROJECT_MIGRATIONS: tuple[Migration, ...] = (
    Migration("the indexes of users and files", ProjectDatabase.ensure_indexes),
    Migration("users that keep the names of their files", name_files),
    Migration("identities unique in place of subjects", allow_shared_subjects),
    Migration("validators without patterns, which the service judges", remove_patterns),
    Migration("validators of documents that have versions", allow_versions),
    Migration("kept answers, for writes that are sent again", ProjectDatabase.ensure_indexes),
    Migration("sessions, one for each sign-in", ProjectDatabase.ensure_indexes),
    Migration("events, which tell what happened to users", ProjectDatabase.ensure_indexes),
    Migration("passkeys, each of one user", ProjectDatabase.ensure_indexes),
    Migration("addresses verified that a provider asserted", verify_asserted_addresses),
    Migration("the index of hashes that other programs made", ProjectDatabase.ensure_indexes),
    Migration("addresses unique that are there, for anonymous users have none", allow_missing_addresses),
    Migration("validators of documents that name their author", allow_versions),
)
SYSTEM_MIGRATIONS: tuple[SystemMigration, ...] = (
    SystemMigration("the service's own indexes", Databases.ensure_indexes),
    SystemMigration("flows, which are their own mails", ensure_flow_indexes),
    SystemMigration("the audit log", ensure_audit_indexes),
    SystemMigration("operators, their sessions, tokens and invitations", ensure_operator_indexes),
    SystemMigration("the hours of usage", ensure_usage_indexes),
    SystemMigration("operators who act as users", ensure_operator_indexes),
    SystemMigration("views of the console", ensure_view_indexes),
    SystemMigration("long jobs of projects", ensure_job_indexes),
    SystemMigration("backups of projects", ensure_backup_indexes),
    SystemMigration("the log of the feed", ensure_feed),
)

Step = tuple[str, Callable[[], Awaitable[None]]]


@dataclass(frozen=True, slots=True)
class DataState:
    """The number of steps that a project's database has behind it, and whether it has a schema of profiles.

    `has_foreign_hashes` while a user has a hash of a password that is not bcrypt's.
    """

    number: int
    has_profile: bool
    has_foreign_hashes: bool


async def read_state(project: ProjectDatabase) -> DataState:
    """Raises Unavailable. All is read in one round trip, with each project that is not remembered."""
    profile = {"$unionWith": {"coll": PROFILE, "pipeline": [{"$project": {"_id": 1}}]}}
    # An address may begin as a hash does; it has an @, and no hash has one.
    match = {"$and": [FOREIGN_HASH, {"password": {"$not": re.compile("@")}}]}
    named: list[Document] = [{"$match": match}, {"$limit": 1}, {"$project": {"_id": {"$literal": FOREIGN}}}]
    foreign = {"$unionWith": {"coll": USERS, "pipeline": named}}
    stages: list[Document] = [{"$match": {"_id": VERSION}}, profile, foreign]
    rows = {row["_id"]: row for row in await project.records(MIGRATIONS).aggregate(stages, size=3)}
    return DataState(int(rows.get(VERSION, {}).get("number", 0)), USERS in rows, FOREIGN in rows)


async def read_version(database: Database) -> int:
    """The number of steps a database has behind it. Raises Unavailable."""
    with translated():
        found = await database[MIGRATIONS].find_one({"_id": VERSION})
    return int(found["number"]) if found else 0


async def write_version(database: Database, number: int) -> None:
    with translated():
        changes = [{"$set": {"number": number, "at": "$$NOW"}}]
        await database["migrations"].update_one({"_id": VERSION}, changes, upsert=True)


class Migrations:
    """Brings databases to the present version. Every call raises the errors of `records.translated`."""

    def __init__(self, databases: Databases, leases: Leases) -> None:
        self._databases = databases
        self._leases = leases

    async def migrate_system(self) -> list[str]:
        """The steps that were made. It waits for another process that makes them.

        Images of changes expire from here on: MongoDB may have been exchanged since the last call.
        """
        if await read_version(self._databases.system) > len(SYSTEM_MIGRATIONS):
            raise NewerData("the system's database")
        await expire_images(self._databases)
        steps: list[Step] = [(step.what, partial(step.run, self._databases)) for step in SYSTEM_MIGRATIONS]
        return await self._migrate("system", self._databases.system, steps)

    async def migrate_project(self, project_id: str) -> list[str]:
        """The same for one project. Nothing is made where there is no such project, or it is being deleted."""
        project = self._databases.project(project_id)
        steps: list[Step] = [
            (step.what, partial(self._run_if_there, project_id, partial(step.run, project)))
            for step in PROJECT_MIGRATIONS
        ]
        if not await self._is_there(project_id):
            return []
        return await self._migrate(f"project/{project_id}", project.database, steps)

    async def begin_project(self, project: ProjectDatabase) -> None:
        """Makes the database of a new project, in the present form."""
        await project.ensure_indexes()
        await write_version(project.database, len(PROJECT_MIGRATIONS))

    async def complete(self, project: ProjectDatabase, version: int) -> None:
        """Brings a database that no request uses yet from `version` to the present form. Its indexes are made as well."""
        await project.ensure_indexes()
        for step in PROJECT_MIGRATIONS[version:]:
            with within(STEP_SECONDS):
                await step.run(project)
        await write_version(project.database, len(PROJECT_MIGRATIONS))

    async def _run_if_there(self, project_id: str, run: Callable[[], Awaitable[None]]) -> None:
        if await self._is_there(project_id):
            await run()

    async def _is_there(self, project_id: str) -> bool:
        with translated():
            match = {"_id": project_id, "deleting": {"$exists": False}}
            return await self._databases.system["projects"].find_one(match, {"_id": 1}) is not None

    async def _migrate(self, name: str, database: Database, steps: Sequence[Step]) -> list[str]:
        made: list[str] = []

        async def work() -> None:
            for number in range(await read_version(database), len(steps)):
                what, run = steps[number]
                with within(STEP_SECONDS):
                    await run()
                await write_version(database, number + 1)
                made.append(what)

        while await read_version(database) < len(steps):
            if await self._leases.run_alone(f"migrate/{name}", work):
                break
            await asyncio.sleep(LOOK_SECONDS)
        return made

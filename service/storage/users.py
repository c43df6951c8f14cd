"""A project's users: the one module that writes them, with calls named by what they are for.

Knows no rule of accounts. Lists of users are queries like any other and go past here, see `domain/lists`.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import bson

from service.bounds import MAX_ROLES, MAX_USER_BYTES
from service.errors import Invalid, ServiceError, TooLarge
from service.schema.file_urls import named_file
from service.schema.values import now
from service.schema.versions import Versions
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.files.deletions import condemn_owned, find_owned, remove
from service.storage.files.uploads import Upload
from service.storage.ids import new_id
from service.storage.records import Projection, Records, match_versions

PROFILE: Projection = dict.fromkeys(
    ("email", "data", "created_at", "updated_at", "token_version", "files", "version"), 1
)
FIRST_VERSION = 1


@dataclass(frozen=True, slots=True)
class User:
    """A user as a request sees one; `data` shows files by their URLs. A token is good while it has this `version`.

    `has_files` is False where `data` certainly names none. With `has_signed_urls` it changes while the record does not, to
    each change of which `revision` adds 1.
    """

    id: str
    email: str
    data: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    version: int = FIRST_VERSION
    has_files: bool = True
    revision: int = 0
    has_signed_urls: bool = False


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a login is judged by. `password` is a hash, or what no password matches."""

    user: User
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """A person at a provider: `subject` is unique at `issuer` and nowhere else."""

    issuer: str
    subject: str


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to store. `email` is normalized; `password` is a hash, or what no password can match."""

    email: str
    password: str = field(repr=False)
    data: Mapping[str, Any]
    id: str = field(default_factory=new_id)
    identity: Identity | None = None
    created_at: datetime = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class ProfileUpdate:
    """The fields of `data` to set, for as long as the user has this `version`, and this `email` unless it is None.

    And as long as the record has one of `revisions`.
    """

    user_id: str
    version: int
    data: Mapping[str, Any]
    email: str | None = None
    revisions: Versions = None


@dataclass(frozen=True, slots=True)
class ExistingUser:
    """A user whom a sign-in may lead to; `oauth_id` is None for one who registered with a password."""

    id: str
    oauth_id: str | None
    version: int = FIRST_VERSION
    has_identity: bool = True


@dataclass(frozen=True, slots=True)
class SignInMatch:
    """The user who has an identity, and the one who has an e-mail address; most likely the same, or nobody."""

    by_subject: ExistingUser | None
    by_email: ExistingUser | None


@dataclass(frozen=True, slots=True)
class UserFacts:
    """What access rules may know of a user."""

    email: str
    roles: tuple[str, ...]
    data: Mapping[str, Any]
    version: int


class _NoUser(Exception):
    """Nobody matched; raised so that the transaction is undone, and the upload with it."""


class Users:
    """The users of one project; bound to a transaction where its database is. Raises the errors of `records.translated`."""

    __slots__ = ("_database", "_records")

    def __init__(self, database: ProjectDatabase) -> None:
        self._database = database
        self._records: Records = database.records("users")

    async def find_profile(self, user_id: str) -> User | None:
        """By the id alone: MongoDB answers that on its fast path, and `version` is for the caller to compare."""
        record = await self._records.find({"_id": user_id}, PROFILE)
        return self._user(record) if record is not None else None

    async def find_credentials(self, email: str) -> Credentials | None:
        record = await self._records.find({"email": email}, {**PROFILE, "password": 1})
        return Credentials(self._user(record), record["password"]) if record is not None else None

    async def find_by_email(self, email: str) -> User | None:
        record = await self._records.find({"email": email}, PROFILE)
        return self._user(record) if record is not None else None

    async def find_by_emails(self, emails: Sequence[str]) -> dict[str, User]:
        stages: list[Document] = [{"$match": {"email": {"$in": list(emails)}}}, {"$project": PROFILE}]
        rows = await self._records.aggregate(stages, size=len(emails))
        return {row["email"]: self._user(row) for row in rows}

    async def find_ids(self, emails: Collection[str]) -> dict[str, str]:
        """E-mail → id."""
        stages: list[Document] = [{"$match": {"email": {"$in": list(emails)}}}, {"$project": {"email": 1}}]
        rows = await self._records.aggregate(stages, size=len(emails)) if emails else []
        return {row["email"]: row["_id"] for row in rows}

    async def find_facts(self, user_id: str) -> UserFacts | None:
        record = await self._records.find({"_id": user_id}, {"email": 1, "roles": 1, "data": 1, "token_version": 1})
        if record is None:
            return None
        return UserFacts(record["email"], tuple(record.get("roles", ())), record["data"], record["token_version"])

    async def find_row(self, user_id: str) -> Document | None:
        """A user as a list has its rows, with `roles` where there are any."""
        record = await self._records.find({"_id": user_id}, {**PROFILE, "roles": 1})
        if record is not None:
            self._database.file_urls.show(record)
        return record

    async def replace_roles(self, user_id: str, roles: list[str]) -> list[str] | None:
        """The roles afterwards; None where there is no such user."""
        changes = {"$set": {"roles": roles}, "$inc": {"version": 1}}
        record = await self._records.update({"_id": user_id}, changes, {"roles": 1})
        return None if record is None else record["roles"]

    async def replace_some_roles(
        self, user_id: str, roles: list[str], *, among: list[str], match: Document
    ) -> list[str] | None:
        """Of the roles `among`, the user has just `roles` afterwards; others stay. None where nobody satisfies `match`.

        Raises Invalid where there would be too many.
        """
        others = {"$setDifference": [{"$ifNull": ["$roles", []]}, among]}
        joined = {"$setUnion": [others, roles]}
        room = {"$expr": {"$lte": [{"$size": joined}, MAX_ROLES]}}
        version = {"$add": [{"$ifNull": ["$version", 0]}, 1]}
        changes = [{"$set": {"roles": joined, "version": version}}]
        record = await self._records.update({"$and": [{"_id": user_id}, match, room]}, changes, {"roles": 1})
        if record is None and await self._records.find({"_id": user_id, **match}, {"_id": 1}):
            raise Invalid.one(("body", "roles"), f"A user has at most {MAX_ROLES} roles", type_="too_long")
        return None if record is None else record["roles"]

    async def has_email(self, email: str) -> bool:
        return await self._records.find({"email": email}, {"_id": 1}) is not None

    async def insert(self, new: NewUser, upload: Upload | None = None) -> User:
        """Stores a user, with the files of `upload`. Raises TooLarge, DuplicateValue, UploadLost."""
        record = self._new_record(new)
        user = self._user({**record, "data": dict(record["data"])})
        if upload is None:
            await self._records.insert(record)
        else:
            await upload.publish_record("users", record)
        return user

    async def insert_each(self, users: Sequence[NewUser]) -> dict[int, ServiceError]:
        """Stores whom it can, in one batch. Position → TooLarge or DuplicateValue, for the rest."""
        refused: dict[int, ServiceError] = {}
        records: dict[int, Document] = {}
        for number, user in enumerate(users):
            try:
                records[number] = self._new_record(user)
            except TooLarge as error:
                refused[number] = error
        sent = list(records)
        errors = await self._records.insert_each(list(records.values())) if records else {}
        return refused | {sent[position]: error for position, error in errors.items()}

    async def replace_password(self, credentials: Credentials, password: str) -> None:
        """Unless the password was changed meanwhile."""
        match = {"_id": credentials.user.id, "password": credentials.password}
        await self._records.update_one(match, {"$set": {"password": password}})

    async def update_profile(self, update: ProfileUpdate, upload: Upload | None = None) -> User | None:
        """Sets fields of `data` and returns the user afterwards; None, and no change, where nobody matches.

        Files that the user names no more are removed. Raises TooLarge past MAX_USER_BYTES of `data`, UploadLost.
        """
        if upload is None:
            # One command does, where no field that changes holds a file and there is room: its filter makes sure of it.
            names = self._database.file_urls.names(update.data)
            data = {**update.data, **names}
            match = _match(update) | {"$expr": {"$and": [_without_files(data), _with_room_for(data)]}}
            record = await self._records.update(match, _changes(data, names), PROFILE)
            if record is not None:
                return self._user(record)
        return await self._update_with_files(update, upload or Upload(self._database))

    async def _update_with_files(self, update: ProfileUpdate, upload: Upload) -> User | None:
        async def write(database: ProjectDatabase) -> tuple[User, Any]:
            return await Users(database)._replace(update)

        try:
            user, condemned = await upload.publish(write)
        except _NoUser:
            return None
        if condemned:
            # The record is written: whatever fails now is finished by the next sweep.
            with suppress(ServiceError):
                await remove(self._database, condemned)
        return user

    async def _replace(self, update: ProfileUpdate) -> tuple[User, Any]:
        """Within a transaction: the user afterwards, and the intent of the files that nothing in `data` names any more."""
        before = await self._records.find(_match(update), PROFILE)
        if before is None:
            raise _NoUser
        held = before["files"] if "files" in before else await self._find_files(before)
        names = {**self._database.file_urls.names(update.data), **_kept(held, update.data)}
        files = {**_untouched(held, before["data"], update.data), **names}
        data = {**before["data"], **update.data, **files}
        raw = _encode(data)
        dropped = {name: file for name, file in held.items() if file.encode() not in raw}
        changes = _changes({**update.data, **files}, {})
        changes["$set"]["files"] = files
        after = await self._records.update({"_id": before["_id"]}, changes, PROFILE)
        if after is None:
            raise _NoUser
        return self._user(after), await condemn_owned(self._database, before["_id"], dropped)

    async def _find_files(self, record: Document) -> dict[str, str]:
        """The `files` of a record from before there were any: the fields whose URL is of a file uploaded to them."""
        named = {name: file for name, value in record["data"].items() if (file := named_file(value)) is not None}
        owned = await find_owned(self._database, record["_id"], named)
        return {name: file for name, file in named.items() if file in owned}

    async def find_for_sign_in(self, identity: Identity, email: str) -> SignInMatch:
        """In one round trip. A user from before there were identities is found by the subject alone."""
        known = {"identities": {"$elemMatch": {"issuer": identity.issuer, "subject": identity.subject}}}
        older = {"oauth_id": identity.subject, "identities": {"$exists": False}}
        fields = {"email": 1, "oauth_id": 1, "token_version": 1, "identities": 1}
        stages: list[Document] = [{"$match": {"$or": [known, older, {"email": email}]}}, {"$project": fields}]
        rows = await self._records.aggregate(stages, size=3)
        mine = {"issuer": identity.issuer, "subject": identity.subject}
        by_identity = [row for row in rows if mine in row.get("identities", ())]
        by_subject = [row for row in rows if "identities" not in row and row.get("oauth_id") == identity.subject]
        return SignInMatch(
            by_subject=_first_known([*by_identity, *by_subject]),
            by_email=_first_known([row for row in rows if row["email"] == email]),
        )

    async def add_first_identity(self, user_id: str, identity: Identity) -> None:
        """Unless the user has one. Raises DuplicateValue where somebody else has it."""
        match = {"_id": user_id, "identities": {"$exists": False}}
        await self._records.update_one(match, {"$set": {"identities": [_identity_document(identity)]}})

    def _user(self, record: Document) -> User:
        # A record from before there were `files` may name some.
        files = record.get("files")
        if files:
            self._database.file_urls.show(record)
        return User(
            record["_id"],
            record["email"],
            record["data"],
            record["created_at"],
            record["updated_at"],
            record["token_version"],
            has_files=files != {},
            revision=record.get("version", 0),
        )

    def _new_record(self, new: NewUser) -> Document:
        """Raises TooLarge."""
        files = self._database.file_urls.names(new.data)
        data = {**new.data, **files}
        _encode(data)
        record: Document = {
            "_id": new.id,
            "email": new.email,
            "password": new.password,
            "data": data,
            "files": files,
            "created_at": new.created_at,
            "updated_at": new.created_at,
            "token_version": FIRST_VERSION,
            "version": 1,
        }
        if new.identity is not None:
            record |= {"oauth_id": new.identity.subject, "identities": [_identity_document(new.identity)]}
        return record


def _match(update: ProfileUpdate) -> Document:
    match: Document = {"_id": update.user_id, "token_version": update.version}
    if update.email is not None:
        match["email"] = update.email
    return match if update.revisions is None else match | {"version": match_versions(update.revisions)}


def _changes(data: Mapping[str, Any], files: Mapping[str, str]) -> Document:
    values = {
        "updated_at": now(),
        **{f"data.{name}": value for name, value in data.items()},
        **{f"files.{name}": file for name, file in files.items()},
    }
    return {"$set": values, "$inc": {"version": 1}}


def _without_files(data: Mapping[str, Any]) -> Document:
    """That no field of `data` holds a file. Not so of a record without `files`, of which nobody knows."""
    held = {"$map": {"input": {"$objectToArray": "$files"}, "in": "$$this.k"}}
    return {"$eq": [{"$setIntersection": [held, {"$literal": list(data)}]}, []]}


def _with_room_for(data: Mapping[str, Any]) -> Document:
    """That `data` stays within the bound whatever it replaces; where it replaces much it may be judged too strictly."""
    return {"$lte": [{"$bsonSize": "$data"}, MAX_USER_BYTES - len(_encode(data))]}


def _encode(data: Mapping[str, Any]) -> bytes:
    """Raises TooLarge for more than a user may have."""
    raw = bson.encode(data)
    if len(raw) > MAX_USER_BYTES:
        raise TooLarge(f"The data of a user may have at most {MAX_USER_BYTES} bytes, as MongoDB keeps it")
    return raw


def _untouched(held: Mapping[str, str], before: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, str]:
    """The files of fields that do not change, and that no other program wrote something else to."""
    return {
        name: file
        for name, file in held.items()
        if name not in changed and (before.get(name) == file or named_file(before.get(name)) == file)
    }


def _kept(held: Mapping[str, str], data: Mapping[str, Any]) -> dict[str, str]:
    """The files that `data` sends back under a URL they had before the storage moved."""
    return {name: file for name, file in held.items() if named_file(data.get(name)) == file}


def _first_known(rows: Sequence[Document]) -> ExistingUser | None:
    if not rows:
        return None
    row = rows[0]
    return ExistingUser(row["_id"], row.get("oauth_id"), row["token_version"], "identities" in row)


def _identity_document(identity: Identity) -> Document:
    return {"issuer": identity.issuer, "subject": identity.subject}

"""A project's users, with calls named by their purpose; `profiles` has the update of one, `identities` their sign-in.

Knows no rule of accounts. Lists of users are queries like any other and go past here, see `domain/lists`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import bson

from service.bounds import MAX_USER_BYTES
from service.errors import ServiceError, TooLarge
from service.schema.user_names import fold_name, key_of
from service.schema.values import now
from service.storage.account_states import (
    FACTOR_FIELDS,
    NEW_ACCOUNT,
    STATE_FIELDS,
    AccountState,
    read_state,
    write_state,
)
from service.storage.authors import BY, write_author
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.files.uploads import Upload
from service.storage.ids import new_id
from service.storage.records import Projection, Records

STATE: Projection = dict.fromkeys(STATE_FIELDS, 1)
PROFILE: Projection = {
    **dict.fromkeys(("email", "data", "created_at", "updated_at", "token_version", "ended", "files", "version"), 1),
    **STATE,
    **dict.fromkeys(("roles", "last_sign_in_at"), 1),
}
# The facts that access rules use, beside the fields of `data` that they name.
FACTS: Projection = dict.fromkeys(("email", "roles", "token_version", "ended", "email_verified", "anonymous"), 1)
# The fields that decide a sign-in.
STANDING: Projection = {**STATE, **dict.fromkeys(FACTOR_FIELDS, 1)}
FIRST_VERSION = 1


# Not frozen: that doubles the time to make one, for each profile and each row of a list.
@dataclass(slots=True)
class StoredUser:
    """A user as a request sees one; `data` shows files by their URLs. An anonymous user has no `email`.

    A token is good while it has this `version`, and its session is none of those that have `ended`.
    `has_files` is False where `data` certainly names none. With `has_signed_urls` it changes while the record does not, to
    each change of which `revision` adds 1.
    """

    id: str
    email: str | None
    data: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    version: int = FIRST_VERSION
    has_files: bool = True
    revision: int = 0
    has_signed_urls: bool = False
    ended: tuple[str, ...] = ()
    email_verified: bool = False
    roles: Sequence[str] = ()

    @property
    def is_anonymous(self) -> bool:
        return self.email is None

    @property
    def name(self) -> str:
        """The name of the account for counters and devices: the address, or the id of an anonymous user."""
        return self.email or self.id


@dataclass(frozen=True, slots=True)
class Owner:
    """A user with the state of the account."""

    user: StoredUser
    state: AccountState


@dataclass(frozen=True, slots=True)
class Credentials:
    """The record that judges a login. `password` is a hash, or a text that no password matches."""

    user: StoredUser
    password: str = field(repr=False)
    state: AccountState


@dataclass(frozen=True, slots=True)
class Identity:
    """A person at a provider: `subject` is unique at `issuer` and nowhere else.

    `provider` is what the project calls it, `email` the person's address there.
    """

    issuer: str
    subject: str
    provider: str | None = None
    email: str | None = None

    def is_same(self, other: "Identity") -> bool:
        return (self.issuer, self.subject) == (other.issuer, other.subject)


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to store. `email` is normalized; `password` is a hash, or what no password can match.

    A user without an `email` is anonymous, and has no password.
    """

    email: str | None
    password: str = field(repr=False)
    data: Mapping[str, Any]
    id: str = field(default_factory=new_id)
    identity: Identity | None = None
    # Further ones that an import brings.
    other_identities: tuple[Identity, ...] = ()
    created_at: datetime = field(default_factory=now)
    state: AccountState = NEW_ACCOUNT


@dataclass(frozen=True, slots=True)
class UserFacts:
    """Facts of a user for access rules: of `data` the requested `fields`. `email` is None until it is proven."""

    email: str | None
    roles: tuple[str, ...]
    data: Mapping[str, Any]
    version: int
    ended: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    is_anonymous: bool = False


class Users:
    """The users of one project; bound to a transaction where its database is. Raises the errors of `records.translated`."""

    __slots__ = ("_database", "_records")

    def __init__(self, database: ProjectDatabase) -> None:
        self._database = database
        self._records: Records = database.records("users")

    async def find_profile(self, user_id: str) -> StoredUser | None:
        """By the id alone: MongoDB answers that on its fast path, and `version` is for the caller to compare.

        The whole record: to choose fields takes a tenth of what MongoDB does for it, and there is little else in it.
        """
        record = await self._records.find({"_id": user_id})
        return read_user(self._database, record) if record is not None else None

    async def find_record(self, user_id: str) -> Document | None:
        """Returns the record as it is stored, for `read_user` and for conditions on the account's own fields."""
        return await self._records.find({"_id": user_id})

    async def find_credentials(self, email: str) -> Credentials | None:
        return await self._find_credentials({"email": email})

    async def find_named_credentials(self, username: str) -> Credentials | None:
        """By the fold of the name; while names need not be unique, of no user."""
        return await self._find_credentials({"username_key": fold_name(username)})

    async def has_username(self, username: str) -> bool:
        return await self._records.find({"username_key": fold_name(username)}, {"_id": 1}) is not None

    async def find_own_credentials(self, user_id: str) -> Credentials | None:
        return await self._find_credentials({"_id": user_id})

    async def _find_credentials(self, match: Document) -> Credentials | None:
        record = await self._records.find(match, {**PROFILE, **STANDING, "password": 1})
        if record is None:
            return None
        return Credentials(read_user(self._database, record), record.get("password", ""), read_state(record))

    async def find_by_email(self, email: str) -> StoredUser | None:
        record = await self._records.find({"email": email}, PROFILE)
        return read_user(self._database, record) if record is not None else None

    async def find_by_emails(self, emails: Sequence[str]) -> dict[str, Owner]:
        stages: list[Document] = [{"$match": {"email": {"$in": list(emails)}}}, {"$project": PROFILE}]
        rows = await self._records.aggregate(stages, size=len(emails))
        return {row["email"]: Owner(read_user(self._database, row), read_state(row)) for row in rows}

    async def find_ids(self, emails: Collection[str]) -> dict[str, str]:
        """E-mail → id."""
        stages: list[Document] = [{"$match": {"email": {"$in": list(emails)}}}, {"$project": {"email": 1}}]
        rows = await self._records.aggregate(stages, size=len(emails)) if emails else []
        return {row["email"]: row["_id"] for row in rows}

    async def find_present(self, ids: Sequence[str]) -> set[str]:
        """Those of `ids` that are users."""
        stages: list[Document] = [{"$match": {"_id": {"$in": list(ids)}}}, {"$project": {"_id": 1}}]
        return {row["_id"] for row in await self._records.aggregate(stages, size=len(ids))} if ids else set()

    async def find_facts(self, user_id: str, fields: tuple[str, ...] = ()) -> UserFacts | None:
        """With those `fields` of the user's `data`, which are names at its top level."""
        # No record has a field of such a name, and MongoDB takes none for one.
        wanted = [f"data.{name}" for name in fields if not name.startswith("$") and "\0" not in name]
        record = await self._records.find({"_id": user_id}, {**FACTS, **dict.fromkeys(wanted, 1)})
        if record is None:
            return None
        roles, data = tuple(record.get("roles", ())), record.get("data", {})
        email = record["email"] if record.get("email_verified") else None
        ended, is_anonymous = read_ended(record), "anonymous" in record
        return UserFacts(email, roles, data, record["token_version"], ended, fields, is_anonymous)

    async def find_row(self, user_id: str) -> Document | None:
        """A user as a list by the secret key has its rows."""
        record = await self._records.find({"_id": user_id}, PROFILE)
        if record is not None:
            self._database.file_urls.show(record)
        return record

    async def has_match(self, user_id: str, match: Document) -> bool:
        """True if the user exists and satisfies `match`."""
        return await self._records.find({"$and": [{"_id": user_id}, match]}, {"_id": 1}) is not None

    async def has_email(self, email: str) -> bool:
        return await self._records.find({"email": email}, {"_id": 1}) is not None

    async def insert(self, new: NewUser, upload: Upload | None = None) -> StoredUser:
        """Stores a user, with the files of `upload`. Raises TooLarge, DuplicateValue, UploadLost."""
        record = self._new_record(new)
        user = read_user(self._database, {**record, "data": dict(record["data"])})
        if upload is None:
            await self._records.insert_new(record)
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

    def _new_record(self, new: NewUser) -> Document:
        """Raises TooLarge."""
        files = self._database.file_urls.names(new.data)
        data = {**new.data, **files}
        encode_data(data)
        record: Document = {
            "_id": new.id,
            **_way_in(new),
            "data": data,
            "files": files,
            **({"username_key": key} if (key := key_of(data)) is not None else {}),
            "created_at": new.created_at,
            "updated_at": new.created_at,
            "token_version": FIRST_VERSION,
            "version": 1,
            BY: write_author(),
            **write_state(new.state),
        }
        if new.identity is not None:
            identities = (new.identity, *new.other_identities)
            record |= {
                "oauth_id": new.identity.subject,
                "identities": [identity_document(each, new.created_at, used=new.created_at) for each in identities],
            }
        return record


def _way_in(new: NewUser) -> Document:
    """The fields of a new record by which its user signs in; or the mark of an anonymous user, and the day of its use."""
    if new.email is None:
        return {"anonymous": True, "active_on": day_of(new.created_at)}
    return {"email": new.email, "password": new.password}


def day_of(moment: datetime) -> datetime:
    """Midnight of the day, in UTC."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def read_user(database: ProjectDatabase, record: Document) -> StoredUser:
    """The user that a record with the fields of PROFILE is."""
    # A record from before there were `files` may name some.
    files = record.get("files")
    if files:
        database.file_urls.show(record)
    return StoredUser(
        record["_id"],
        record.get("email"),
        record["data"],
        record["created_at"],
        record["updated_at"],
        record["token_version"],
        has_files=files != {},
        revision=record.get("version", 0),
        ended=read_ended(record),
        email_verified=record.get("email_verified", False),
        roles=record.get("roles", ()),
    )


def read_ended(record: Document) -> tuple[str, ...]:
    """The ids of the sessions that have ended while tokens of theirs live."""
    return tuple([each["sid"] for each in ended]) if (ended := record.get("ended")) else ()


def encode_data(data: Mapping[str, Any]) -> bytes:
    """Raises TooLarge for more than a user may have."""
    raw = bson.encode(data)
    if len(raw) > MAX_USER_BYTES:
        raise TooLarge(f"The data of a user may have at most {MAX_USER_BYTES} bytes, as MongoDB keeps it")
    return raw


def identity_document(identity: Identity, made: datetime, *, used: datetime | None) -> Document:
    """The stored form of an identity. `used` is the time of the last sign-in by it."""
    return {
        "issuer": identity.issuer,
        "subject": identity.subject,
        "provider": identity.provider,
        "email": identity.email,
        "created_at": made,
        "last_used_at": used,
    }

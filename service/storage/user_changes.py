"""What administrators and users do to a record. Each call is a part of a transaction, which the caller begins and ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bson import ObjectId

from service.errors import UserNotFound
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.endings import end_all
from service.storage.files.deletions import condemn_owned
from service.storage.profiles import find_held, replace_data
from service.storage.users import PROFILE

# The intent of files to remove after the commit.
Condemned = ObjectId | None
RECORD = PROFILE


@dataclass(frozen=True, slots=True)
class UserChange:
    """Fields of `data` to set, and of `email`, `email_verified`, `disabled` and `claims` those that change."""

    data: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangedUser:
    """The record before, with the fields of RECORD, and after, in which `data` shows files by their URLs."""

    before: Document
    after: Document
    condemned: Condemned


async def find_record(database: ProjectDatabase, user_id: str) -> Document:
    """Raises UserNotFound."""
    record = await database.records("users").find({"_id": user_id}, RECORD)
    if record is None:
        raise UserNotFound
    return record


async def change_user(database: ProjectDatabase, user_id: str, change: UserChange) -> ChangedUser:
    """Ends the user's sessions where the user is disabled by it. Raises UserNotFound, DuplicateValue, TooLarge."""
    before = await find_record(database, user_id)
    beside = dict(change.beside)
    if beside.get("email", before["email"]) != before["email"]:
        beside.setdefault("email_verified", False)
    if beside.get("disabled") and not before.get("disabled"):
        await end_all(database, user_id)
    after, condemned = await replace_data(database, before, change.data, beside, RECORD)
    if after is None:
        raise UserNotFound
    return ChangedUser(before, database.file_urls.show(after), condemned)


async def replace_password(database: ProjectDatabase, user_id: str, password: str) -> int:
    """Stores another hash, and ends the user's sessions. The user's version afterwards. Raises UserNotFound."""
    await database.records("users").update_one({"_id": user_id}, {"$set": {"password": password}})
    version = await end_all(database, user_id)
    if version is None:
        raise UserNotFound
    return version


async def delete_user(database: ProjectDatabase, user_id: str) -> Condemned:
    """With the user's sessions, and the files that the profile names. Raises UserNotFound."""
    before = await find_record(database, user_id)
    await database.records("users").delete({"_id": user_id})
    await end_all(database, user_id)
    return await condemn_owned(database, user_id, await find_held(database, before))

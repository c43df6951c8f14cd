"""An update of a user's profile, and of the files that it names."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from bson import ObjectId

from service.bounds import MAX_USER_BYTES
from service.errors import ServiceError
from service.schema.file_urls import named_file
from service.schema.user_names import FIELD, key_of
from service.schema.values import now
from service.schema.versions import Versions
from service.storage.authors import BY, write_author
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.files.deletions import condemn_owned, find_owned, remove
from service.storage.files.uploads import Upload
from service.storage.records import match_versions
from service.storage.users import PROFILE, StoredUser, encode_data, read_user


@dataclass(frozen=True, slots=True)
class ProfileUpdate:
    """The fields of `data` to set, for as long as the user has this `version`, and the values of `identity`.

    And as long as the session `sid` has not ended, and the record has one of `revisions`.
    """

    user_id: str
    version: int
    data: Mapping[str, Any]
    identity: Mapping[str, str | None] = field(default_factory=dict)
    revisions: Versions = None
    sid: str | None = None


class _NoUser(Exception):
    """No user matched; raised so that the transaction is undone, and the upload with it."""


async def update_profile(
    database: ProjectDatabase, update: ProfileUpdate, upload: Upload | None = None
) -> StoredUser | None:
    """Sets fields of `data` and returns the user afterwards; None, and no change, if no user matches.

    Files that the user no longer names are removed. Raises TooLarge past MAX_USER_BYTES of `data`, UploadLost.
    """
    if upload is None:
        # One command does, where no field that changes holds a file and there is room: its filter makes sure of it.
        names = database.file_urls.names(update.data)
        data = {**update.data, **names}
        match = _match(update) | {"$expr": {"$and": [_without_files(data), _with_room_for(data)]}}
        record = await database.records("users").update(match, _changes(data, names), PROFILE)
        if record is not None:
            return read_user(database, record)
    return await _update_with_files(database, update, upload or Upload(database))


async def _update_with_files(database: ProjectDatabase, update: ProfileUpdate, upload: Upload) -> StoredUser | None:
    async def write(bound: ProjectDatabase) -> tuple[StoredUser, ObjectId | None]:
        return await _replace(bound, update)

    try:
        user, condemned = await upload.publish(write)
    except _NoUser:
        return None
    if condemned:
        # The record is written: whatever fails now is finished by the next sweep.
        with suppress(ServiceError):
            await remove(database, condemned)
    return user


async def _replace(database: ProjectDatabase, update: ProfileUpdate) -> tuple[StoredUser, ObjectId | None]:
    """Within a transaction: the user afterwards, and the intent of the files that `data` no longer names."""
    before = await database.records("users").find(_match(update), PROFILE)
    if before is None:
        raise _NoUser
    values, dropped = await plan_data(database, before, update.data)
    changes: Document = {"$set": values, "$inc": {"version": 1}}
    after = await database.records("users").update({"_id": before["_id"]}, changes, PROFILE)
    if after is None:
        raise _NoUser
    return read_user(database, after), await condemn_owned(database, before["_id"], dropped)


async def plan_data(
    database: ProjectDatabase, before: Document, data: Mapping[str, Any]
) -> tuple[Document, dict[str, str]]:
    """Within a transaction that found the record `before`: what to set so that its `data` has these fields.

    Also returns the files (field → name) that `data` no longer names. Raises TooLarge.
    """
    held = await find_held(database, before)
    names = {**database.file_urls.names(data), **_kept(held, data)}
    files = {**_untouched(held, before["data"], data), **names}
    raw = encode_data({**before["data"], **data, **files})
    dropped = {name: file for name, file in held.items() if file.encode() not in raw}
    values: Document = _changes({**data, **files}, {})["$set"]
    return {**values, "files": files}, dropped


async def find_held(database: ProjectDatabase, record: Document) -> dict[str, str]:
    """Field → file name, of a record with `data`."""
    held: dict[str, str] | None = record.get("files")
    return held if held is not None else await _find_files(database, record)


async def _find_files(database: ProjectDatabase, record: Document) -> dict[str, str]:
    """The `files` of a record from before there were any: the fields whose URL is of a file uploaded to them."""
    named = {name: file for name, value in record["data"].items() if (file := named_file(value)) is not None}
    owned = await find_owned(database, record["_id"], named)
    return {name: file for name, file in named.items() if file in owned}


def _match(update: ProfileUpdate) -> Document:
    match: Document = {"_id": update.user_id, "token_version": update.version, **update.identity}
    if update.sid is not None:
        match["ended.sid"] = {"$ne": update.sid}
    return match if update.revisions is None else match | {"version": match_versions(update.revisions)}


def _changes(data: Mapping[str, Any], files: Mapping[str, str]) -> Document:
    values = {
        "updated_at": now(),
        BY: write_author(),
        **{f"data.{name}": value for name, value in data.items()},
        **{f"files.{name}": file for name, file in files.items()},
        **({"username_key": key_of(data)} if FIELD in data else {}),
    }
    return {"$set": values, "$inc": {"version": 1}}


def _without_files(data: Mapping[str, Any]) -> Document:
    """The condition that no field of `data` holds a file.

    It is false for a record without `files`, whose files are unknown.
    """
    held = {"$map": {"input": {"$objectToArray": "$files"}, "in": "$$this.k"}}
    return {"$eq": [{"$setIntersection": [held, {"$literal": list(data)}]}, []]}


def _with_room_for(data: Mapping[str, Any]) -> Document:
    """The condition that `data` stays within the bound; it ignores the size of replaced values, and so may be too
    strict.
    """
    return {"$lte": [{"$bsonSize": "$data"}, MAX_USER_BYTES - len(encode_data(data))]}


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

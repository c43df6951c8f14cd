"""Steps that bring users to the present form. Each runs beside requests, may be cut short anywhere, and run again."""

from collections.abc import Mapping, Sequence

from pymongo import UpdateOne

from service.schema.file_urls import named_file
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.files.stored import FILES
from service.storage.records import translated

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
    """Nothing where the user has `files` by now, or a field no longer holds what was read."""
    unchanged = {f"data.{field}": row["data"][field] for field in files}
    changes = {"files": dict(files), **{f"data.{field}": name for field, name in files.items()}}
    return UpdateOne({"_id": row["_id"], **OLDER, **unchanged}, {"$set": changes})

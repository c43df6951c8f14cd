"""The index that keeps user names unique: `username_key` is the fold of `data.username`, which every write of a user sets."""

from pymongo import ASCENDING, IndexModel, UpdateOne, timeout

from service.bounds import MAX_CLASHES
from service.schema.user_names import FIELD, MAX_SIGNING_NAME, key_of
from service.storage.client import Document, within
from service.storage.databases import INDEX_BUILD_SECONDS, ProjectDatabase
from service.storage.layout import USERS
from service.storage.records import translated

NAME = "username_key"
INDEX = IndexModel([(NAME, ASCENDING)], name=NAME, unique=True, partialFilterExpression={NAME: {"$gt": ""}})
BATCH = 500
SCAN_SECONDS = 600.0
# Other texts have no key, and a batch of them would be large.
SHORT = rf"(?s)^.{{0,{MAX_SIGNING_NAME}}}\z"


async def find_name_clashes(database: ProjectDatabase) -> list[str]:
    """Stores the keys of names that have none yet, and returns up to ten names that have the key of another user's."""
    with within(SCAN_SECONDS):
        await _write_keys(database)
        stages: list[Document] = [
            {"$match": {NAME: {"$gt": ""}}},
            {"$group": {"_id": f"${NAME}", "name": {"$first": f"$data.{FIELD}"}, "users": {"$sum": 1}}},
            {"$match": {"users": {"$gt": 1}}},
            {"$sort": {"_id": 1}},
            {"$limit": int(MAX_CLASHES)},
        ]
        rows = await database.records(USERS).aggregate(stages, size=MAX_CLASHES)
    return [row["name"] for row in rows]


async def keep_names_unique(database: ProjectDatabase, *, enabled: bool) -> None:
    """Makes the index, or drops it. Raises DuplicateValue as long as names clash."""
    users = database.database[USERS]
    with translated(), timeout(INDEX_BUILD_SECONDS):
        if enabled:
            await users.create_indexes([INDEX])
        elif NAME in await users.index_information():
            await users.drop_index(NAME)


async def _write_keys(database: ProjectDatabase) -> None:
    """Stores the keys of users who have none. A user that is changed meanwhile gets the key with that change."""
    last = ""
    while rows := await _batch(database, last):
        last = rows[-1]["_id"]
        writes = [
            UpdateOne({"_id": row["_id"], f"data.{FIELD}": row["data"][FIELD]}, {"$set": {NAME: key_of(row["data"])}})
            for row in rows
        ]
        with translated():
            await database.database[USERS].bulk_write(writes, ordered=False)


async def _batch(database: ProjectDatabase, last: str) -> list[Document]:
    match: Document = {"_id": {"$gt": last}, f"data.{FIELD}": {"$regex": SHORT}, NAME: {"$exists": False}}
    stages: list[Document] = [
        {"$match": match},
        {"$sort": {"_id": 1}},
        {"$limit": BATCH},
        {"$project": {f"data.{FIELD}": 1}},
    ]
    return await database.records(USERS).aggregate(stages, size=BATCH)

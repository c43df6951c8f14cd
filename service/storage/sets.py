"""The values of a set: what one field holds in the records that match, found by one indexed query."""

from collections.abc import Iterable
from typing import Any

from service.bounds import MAX_SET_BYTES, MAX_SET_VALUES
from service.storage.client import Document
from service.storage.databases import ProjectDatabase

# A longer value, or array of values, is measured by MongoDB before it is sent, so that a reply stays below 1 MB or so.
LONG_BYTES = 1_024
# MongoDB's bytes of an array of MAX_SET_VALUES values that are MAX_SET_BYTES long: 11 more for each.
STORED_BYTES = MAX_SET_BYTES + 16 * MAX_SET_VALUES
NUMBER_BYTES = 8


async def find_values(database: ProjectDatabase, collection: str, path: str, match: Document) -> tuple[Any, ...] | None:
    """The scalars at `path`, those of arrays one by one, each once; None where there are too many, or too many bytes.

    One query, and a second one where single records hold long values that fit all the same.
    """
    rows = await _find_rows(database, collection, path, match, longest=LONG_BYTES)
    if any("bytes" in row for row in rows) and _stored_bytes(rows) <= STORED_BYTES:
        rows = await _find_rows(database, collection, path, match, longest=STORED_BYTES)
    if len(rows) > MAX_SET_VALUES or any("bytes" in row for row in rows):
        return None
    # True and 1 are equal in Python, and not in MongoDB.
    found = tuple({(type(each), each): each for row in rows for each in _scalars(row.get("value"))}.values())
    return found if len(found) <= MAX_SET_VALUES and count_bytes(found) <= MAX_SET_BYTES else None


def count_bytes(values: Iterable[Any]) -> int:
    """UTF-8 bytes of texts, and 8 for each number, boolean or time."""
    return sum(len(each.encode()) if isinstance(each, str) else NUMBER_BYTES for each in values)


async def _find_rows(
    database: ProjectDatabase, collection: str, path: str, match: Document, *, longest: int
) -> list[Document]:
    """For each record its `value`; `bytes` in the place of one that is longer than `longest`."""
    size = {"$bsonSize": {"value": f"${path}"}}
    is_long = {"$gt": [size, longest]}
    row = {
        "_id": 0,
        "value": {"$cond": [is_long, "$$REMOVE", f"${path}"]},
        "bytes": {"$cond": [is_long, size, "$$REMOVE"]},
    }
    stages: list[Document] = [{"$match": match}, {"$limit": MAX_SET_VALUES + 1}, {"$project": row}]
    return await database.records(collection).aggregate(stages, size=MAX_SET_VALUES + 1)


def _stored_bytes(rows: Iterable[Document]) -> int:
    return sum(row.get("bytes", 0) for row in rows)


def _scalars(value: Any) -> list[Any]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if each is not None and not isinstance(each, dict | list)]

"""The values of a set: what one field holds in the records that match, found by one indexed query."""

from typing import Any

from service.bounds import MAX_SET_VALUES
from service.storage.client import Document
from service.storage.databases import ProjectDatabase


async def find_values(database: ProjectDatabase, collection: str, path: str, match: Document) -> tuple[Any, ...] | None:
    """The scalars at `path`, those of arrays one by one, each once; None where there are too many."""
    rows = await database.records(collection).aggregate(
        [{"$match": match}, {"$limit": MAX_SET_VALUES + 1}, {"$project": {"_id": 0, "value": f"${path}"}}],
        size=MAX_SET_VALUES + 1,
    )
    if len(rows) > MAX_SET_VALUES:
        return None
    # True and 1 are equal in Python, and not in MongoDB.
    found = {(type(each), each): each for row in rows for each in _scalars(row.get("value"))}
    return tuple(found.values()) if len(found) <= MAX_SET_VALUES else None


def _scalars(value: Any) -> list[Any]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if each is not None and not isinstance(each, dict | list)]

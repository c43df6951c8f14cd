"""Finds references to missing records: one command, for any number of references and collections."""

from collections.abc import Mapping

from service.storage.client import Document
from service.storage.databases import ProjectDatabase

Reference = tuple[str, str]


async def missing(database: ProjectDatabase, wanted: Mapping[str, set[str]]) -> set[Reference]:
    """The (collection, id) of {collection: ids} that name no record. Collections are named as MongoDB has them."""
    if not wanted:
        return set()
    (first, ids), *others = wanted.items()
    unions = ({"$unionWith": {"coll": name, "pipeline": _named(name, found)}} for name, found in others)
    size = sum(map(len, wanted.values()))
    rows = await database.records(first).aggregate([*_named(first, ids), *unions], size=size)
    every = {(name, each) for name, found in wanted.items() for each in found}
    return every - {(row["in"], row["_id"]) for row in rows}


def _named(collection: str, ids: set[str]) -> list[Document]:
    return [{"$match": {"_id": {"$in": sorted(ids)}}}, {"$project": {"in": {"$literal": collection}}}]

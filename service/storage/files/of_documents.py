"""The files of documents: whose they become with a write, and how those go that a document, or a collection, leaves behind."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from bson import ObjectId

from service.errors import UploadLost
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.files.deletions import remove
from service.storage.files.stored import FILES
from service.storage.layout import INTENTS
from service.storage.records import translated

# Maximum number of files that one intent names, and so that one command removes.
FILES_AT_ONCE = 1_000

# A field, and the name of a file in it.
Place = tuple[str, str]


async def adopt(database: ProjectDatabase, owner: str, names: Collection[str]) -> None:
    """Makes uploaded files those of the document `owner`, in the transaction that writes it.

    Raises UploadLost where one is gone: the collection was dropped meanwhile, and is there again.
    """
    changes: Document = {"$set": {"metadata.owner": owner}}
    found = await database.records(FILES).update_each({"_id": {"$in": list(names)}}, changes)
    if found < len(names):
        raise UploadLost


async def condemn_lost(database: ProjectDatabase, collection: str, lost: Mapping[str, Iterable[Place]]) -> None:
    """Condemns, in the transaction that makes documents lose them, those of the files that are really theirs.

    `lost` has them by the document's id. They are removed once it is committed.
    """
    wanted = {(owner, *place) for owner, places in lost.items() for place in places}
    named = sorted({name for _, _, name in wanted})
    for start in range(0, len(named), FILES_AT_ONCE):
        some = named[start : start + FILES_AT_ONCE]
        stages: list[Document] = [{"$match": {"_id": {"$in": some}, "metadata.collection": collection}}]
        found = await database.records(FILES).aggregate(stages, size=len(some))
        if names := sorted(_owned(found, wanted)):
            intent = await _condemn(database, names)
            database.after_commit.append(partial(remove, database.outside, intent))


def _owned(found: Iterable[Document], wanted: Collection[tuple[str, str, str]]) -> Iterator[str]:
    for file in found:
        if (file["metadata"]["owner"], file["metadata"]["field"], file["_id"]) in wanted:
            yield file["_id"]


async def _condemn(database: ProjectDatabase, names: Collection[str]) -> ObjectId:
    intent: dict[str, Any] = {"_id": ObjectId(), "files": list(names), "condemned": True}
    await database.records(INTENTS).insert(intent)
    return ObjectId(intent["_id"])


async def remove_files_of(database: ProjectDatabase, collection: str) -> None:
    """Removes all files of the documents of a collection that takes no more writes.

    Every step may be repeated. Files of an upload under way are removed too. Held files are condemned, and left to a
    sweep.
    """
    last = ""
    while names := await _names_after(database, collection, last):
        await remove(database, await _condemn(database, names))
        last = names[-1]


async def _names_after(database: ProjectDatabase, collection: str, last: str) -> list[str]:
    """The next files of the collection's documents, in the order of their names."""
    match = {"metadata.collection": collection, "_id": {"$gt": last}}
    with translated():
        cursor = database.database[FILES].find(match, {"_id": 1}, sort=[("_id", 1)], limit=FILES_AT_ONCE)
        return [file["_id"] for file in await cursor.to_list()]

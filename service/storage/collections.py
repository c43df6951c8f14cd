"""The MongoDB collections behind the declared ones: validators, indexes, and the questions a schema change asks.

Documents of `movies` are in `c_movies`: no name a client gives can reach `users`, GridFS, or the registry.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel, timeout
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import OperationFailure

from service.bounds import MAX_INDEXES
from service.errors import CollectionIndexLimit
from service.schema.fields import USERS
from service.schema.indexes import Index
from service.schema.values import now
from service.storage.authors import BY, write_author
from service.storage.client import Database, Document
from service.storage.databases import INDEX_BUILD_SECONDS, ProjectDatabase
from service.storage.images import IMAGES
from service.storage.layout import DOCUMENT_INDEXES, DOCUMENTS
from service.storage.records import translated

MAJORITY = {"w": "majority"}
NAMESPACE_NOT_FOUND = 26
INDEX_NOT_FOUND = 27
NAMESPACE_EXISTS = 48
CANNOT_CREATE_INDEX = 67
# For an empty collection, MongoDB makes all indexes of a command in one write, which keeps later ones of all projects
# waiting: a second for sixty. Documents are read once for a command, for any number of indexes.
INDEXES_AT_ONCE = 5
SHOWN = 10
SCANNED = 500
# A validator that no record satisfies: the closed collection refuses late writes.
CLOSED: Document = {"_id": {"$exists": False}}

# The beginning of the names of indexes built for rules; a change of the schema leaves them.
RULE_INDEX = "rule "
OWN_INDEX_NAMES = tuple(index.document["name"] for index in DOCUMENT_INDEXES)

Validator = Mapping[str, Any]


async def closed_validator(database: Database) -> Validator:
    """CLOSED, with the moment by MongoDB's clock, which a sweep reads; the comparison itself has no effect."""
    moment = (await database.command("hello"))["localTime"]
    return {**CLOSED, "closed_at": {"$ne": moment}}


def mongo_collection_name(name: str) -> str:
    """The MongoDB collection that holds the documents of the declared collection `name`, or the users."""
    return USERS if name == USERS else f"{DOCUMENTS}{name}"


def declared_name(mongo_name: str) -> str:
    """The declared collection whose documents a MongoDB collection holds."""
    return mongo_name.removeprefix(mongo_collection_name(""))


async def run_unless(code: int, database: Database, command: Document) -> bool:
    """Runs `command`. Returns False if MongoDB refuses it with `code`."""
    try:
        await database.command({**command, "writeConcern": MAJORITY})
    except OperationFailure as error:
        if error.code != code:
            raise
        return False
    return True


class CollectionStore:
    """The collections of one project's database. Raises the errors of `records.translated`."""

    def __init__(self, database: ProjectDatabase) -> None:
        self._database = database.database

    def _collection(self, name: str) -> AsyncCollection[Document]:
        return self._database[mongo_collection_name(name)]

    async def set_validator(self, name: str, validator: Validator, *, images: bool | None = None) -> None:
        """Every write that begins afterwards is judged by `validator`. Makes the collection if there is none.

        collMod waits for the writes under way and holds back later ones, so no write is judged by neither. `images` says
        if MongoDB keeps what records were before a change and after it, for the change feed; None leaves that as it is.

        """
        options = {"validator": validator}
        if images is not None:
            options[IMAGES] = {"enabled": images}
        with translated():
            if not await self._modify(mongo_collection_name(name), options) and not await self._create(
                mongo_collection_name(name), options
            ):
                await self._modify(mongo_collection_name(name), options)

    async def _modify(self, collection: str, options: Validator) -> bool:
        return await run_unless(NAMESPACE_NOT_FOUND, self._database, {"collMod": collection, **options})

    async def _create(self, collection: str, options: Validator) -> bool:
        return await run_unless(NAMESPACE_EXISTS, self._database, {"create": collection, **options})

    async def describe(self, name: str) -> tuple[Validator | None, set[str]]:
        """The validator in force, None where there is none, and the names of the indexes."""
        with translated():
            cursor = await self._database.list_collections(filter={"name": mongo_collection_name(name)})
            found = await cursor.to_list()
            names = set(await self._collection(name).index_information()) if found else set[str]()
        return (found[0]["options"].get("validator") if found else None), names

    async def close(self, name: str) -> None:
        """Drops the documents, in one step with putting a collection that accepts none in their place.

        Inserting into a collection that is not there would make one, without a validator.
        """
        closed = f"closed_{name}"
        with translated():
            await self._create(closed, {"validator": await closed_validator(self._database)})
            database = self._database.name
            await self._database.client.admin.command(
                {
                    "renameCollection": f"{database}.{closed}",
                    "to": f"{database}.{mongo_collection_name(name)}",
                    "dropTarget": True,
                    "writeConcern": MAJORITY,
                }
            )

    async def add_indexes(self, name: str, wanted: Sequence[Index]) -> None:
        """Builds those that are not there.

        Raises DuplicateValue where the documents break a unique one, CollectionIndexLimit where they are too many.
        """
        models, collection = [*DOCUMENT_INDEXES, *map(_model, wanted)], self._collection(name)
        # Indexes built for rules are no part of the schema: only MongoDB notices that all together are too many.
        with translated(known={CANNOT_CREATE_INDEX: lambda: CollectionIndexLimit(MAX_INDEXES)}):
            step = len(models) if await collection.find_one({}, {"_id": 1}) else INDEXES_AT_ONCE
            for start in range(0, len(models), step):
                await collection.create_indexes(models[start : start + step])

    async def add_rule_index(self, name: str, fields: Sequence[str]) -> None:
        """Builds the index that serves a read rule: on fields of `data`, the last one excepted, which is the record's own."""
        *own, last = fields
        keys = [*((f"data.{field}", ASCENDING) for field in own), (last, ASCENDING), ("_id", ASCENDING)]
        model = IndexModel(keys, name=_rule_index_name(fields))
        with translated(), timeout(INDEX_BUILD_SECONDS):
            await self._collection(name).create_indexes([model])

    async def has_rule_index(self, name: str, fields: Sequence[str]) -> bool:
        return _rule_index_name(fields) in await self._index_paths(name)

    async def drop_other_indexes(self, name: str, wanted: Sequence[Index], fields: Collection[str]) -> None:
        """Drops all but `wanted` and the collection's own; indexes of rules stay while `fields` has what they are on."""
        kept = {"_id_", *OWN_INDEX_NAMES, *(index.name for index in wanted)}
        declared = {f"data.{field}" for field in fields}
        for present, paths in (await self._index_paths(name)).items():
            lasting = present.startswith(RULE_INDEX) and all(path in declared for path in paths if path[:5] == "data.")
            if present not in kept and not lasting:
                await self._drop_index(name, present)

    async def drop_rule_indexes(self, name: str, *, kept: Iterable[Sequence[str]]) -> None:
        """Drops the indexes that were built for rules, but those on `kept`."""
        names = {_rule_index_name(fields) for fields in kept}
        for present in await self._index_paths(name):
            if present.startswith(RULE_INDEX) and present not in names:
                await self._drop_index(name, present)

    async def _index_paths(self, name: str) -> dict[str, list[str]]:
        """Index → the dotted names of the fields it is on."""
        with translated():
            found = await self._collection(name).index_information()
        return {index: [str(path) for path, _ in info["key"]] for index, info in found.items()}

    async def _drop_index(self, name: str, index: str) -> None:
        with translated():
            await run_unless(
                INDEX_NOT_FOUND, self._database, {"dropIndexes": mongo_collection_name(name), "index": index}
            )

    async def broken(self, name: str, validator: Validator, fill: Any | None = None) -> tuple[int, list[str]]:
        """The number of documents that break `validator`, after `data` was replaced by the expression `fill`; the first
        ids.
        """
        stages: list[Document] = [{"$match": {"$nor": [validator]}}]
        if fill is not None:
            stages += [{"$set": {"data": fill}}, *stages]
        return await self._counted(name, stages)

    async def count(self, name: str) -> int:
        with translated():
            return await self._collection(name).count_documents({})

    async def clashes(self, name: str, index: Index) -> tuple[int, list[str]]:
        """The number of documents that share their values of a unique index with another, and the first ids."""
        stages: list[Document] = [
            {"$match": match_held(index)},
            {"$project": {"value": {str(number): f"${key.path}" for number, key in enumerate(index.keys)}}},
            # Counted in a window, for a list of all ids that share one value may not fit into one document.
            {"$setWindowFields": {"partitionBy": "$value", "output": {"holders": {"$count": {}}}}},
            {"$match": {"holders": {"$gt": 1}}},
        ]
        return await self._counted(name, stages)

    async def _counted(self, name: str, stages: list[Document]) -> tuple[int, list[str]]:
        first = {"$firstN": {"input": "$_id", "n": SHOWN}}
        tail: list[Document] = [
            {"$project": {"_id": 1}},
            {"$sort": {"_id": 1}},
            {"$group": {"_id": None, "n": {"$sum": 1}, "ids": first}},
        ]
        with translated():
            cursor = await self._collection(name).aggregate([*stages, *tail], allowDiskUse=True)
            rows = await cursor.to_list()
        return (rows[0]["n"], rows[0]["ids"]) if rows else (0, [])

    async def scan(
        self, name: str, fields: Sequence[str], conforming: tuple[Any, Validator] | None = None
    ) -> AsyncIterator[list[Document]]:
        """The documents {_id, data} that have one of `fields`, and of `data` no others; in batches of at most 16 MB.

        With `conforming`, an expression and a validator, as the expression leaves them, and if the validator accepts.
        """
        stages: list[Document] = [
            {"$match": {"$or": [{f"data.{field}": {"$exists": True}} for field in fields]}},
            {"$project": {f"data.{field}": 1 for field in fields}},
        ]
        if conforming is not None:
            stages[:0] = [{"$set": {"data": conforming[0]}}, {"$match": conforming[1]}]
        with translated():
            cursor = await self._collection(name).aggregate(stages, batchSize=SCANNED)
        try:
            while True:
                with translated():
                    batch = await cursor.to_list(SCANNED)
                if not batch:
                    return
                yield batch
        finally:
            await cursor.close()

    async def repair(self, name: str, validator: Validator, fill: Any) -> None:
        """Applies the expression `fill` to the `data` of all documents that break `validator`.

        The validator in force is passed by, for it may be one that holds both for before and after the change.
        """
        version = {"$add": [{"$ifNull": ["$version", 0]}, 1]}
        changes = [{"$set": {"data": fill, "updated_at": now(), "version": version, BY: write_author()}}]
        with translated():
            await self._collection(name).update_many({"$nor": [validator]}, changes, bypass_document_validation=True)

    async def read_filled(self, name: str, ids: Sequence[str], fill: Any) -> AsyncIterator[tuple[Document, int]]:
        """These documents as `fill` would leave them, each with its size in bytes; one at a time, for they may be large."""
        stages: list[Document] = [
            {"$match": {"_id": {"$in": list(ids)}}},
            {"$sort": {"_id": 1}},
            {"$set": {"data": fill}},
            {"$project": {"_id": 0, "document": "$$ROOT", "size": {"$bsonSize": "$$ROOT"}}},
        ]
        with translated():
            async with await self._collection(name).aggregate(stages, batchSize=1) as cursor:
                async for row in cursor:
                    yield row["document"], row["size"]


def _rule_index_name(fields: Sequence[str]) -> str:
    return f"{RULE_INDEX}{' '.join(fields)}"


def match_held(index: Index) -> Document:
    """The documents that a unique index holds."""
    return {key.path: {"$type": list(key.types)} for key in index.keys}


def _model(index: Index) -> IndexModel:
    keys = [(key.path, DESCENDING if key.descending else ASCENDING) for key in index.keys]
    if index.unique:
        return IndexModel(keys, name=index.name, unique=True, partialFilterExpression=match_held(index))
    # Lists break ties by the id, in the direction of the last key.
    return IndexModel([*keys, ("_id", keys[-1][1])], name=index.name)

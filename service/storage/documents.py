"""The documents of one declared collection, and the changes that a document can be given. Knows MongoDB's operators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from service.errors import ServiceError
from service.schema.indexes import Index
from service.schema.operations import Operations
from service.schema.values import now
from service.schema.versions import Versions
from service.storage.authors import BY, write_author
from service.storage.client import Document
from service.storage.collections import match_held, mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.document_sizes import room_for
from service.storage.errors import NOTHING_KNOWN, KnownErrors
from service.storage.operators import OPERATOR_ERRORS, match_needs, write_operations
from service.storage.operators import OperatorRefused as OperatorRefused
from service.storage.records import match_versions

Data = Mapping[str, Any]
FIRST_VERSION = 1
READ_SECONDS = 5.0


class StoredDocument(NamedTuple):
    """A stored document. It is a named tuple, because that is built in half the time of a frozen dataclass.

    `counts` are numbers of related records, where a client asks for them.
    """

    id: str
    data: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    version: int = FIRST_VERSION
    has_signed_urls: bool = False
    counts: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class ReplaceData:
    """`data` replaces the whole stored `data`."""

    data: Data


@dataclass(frozen=True, slots=True)
class SetFields:
    """The top-level fields in `data` are set, operators change others, and the rest stay.

    `hidden` are those that the writer may not see in every document.
    """

    data: Data
    operations: Operations = ()
    hidden: frozenset[str] = frozenset()


Change = ReplaceData | SetFields


@dataclass(frozen=True, slots=True)
class Insertion:
    """A new `document`, unless one has its value of the field `by` already.

    That one's `changed` fields are set, all of its data where it is None, and it stays as it is where there are none.
    """

    by: str
    document: StoredDocument
    changed: Data | None


@dataclass(frozen=True, slots=True)
class Guard:
    """A further condition on a document that is changed or deleted: a filter that `query` made."""

    match: Mapping[str, Any]


def and_guard(guard: Guard | None, match: Mapping[str, Any]) -> Guard:
    return Guard(match if guard is None else {"$and": [guard.match, match]})


class DocumentStore:
    """The documents of a declared collection. Every call raises the errors of `records.translated`."""

    __slots__ = ("_records",)

    def __init__(self, database: ProjectDatabase, collection: str) -> None:
        self._records = database.records(mongo_collection_name(collection))

    async def insert(self, document: StoredDocument) -> StoredDocument:
        await self._records.insert_new(_record(document))
        return document

    async def insert_each(self, documents: Sequence[StoredDocument]) -> dict[int, ServiceError]:
        """Stores the valid ones, in one batch. Position → DuplicateValue or RejectedByValidator, for the rest."""
        return await self._records.insert_each([_record(document) for document in documents])

    async def insert_all(self, documents: Sequence[StoredDocument]) -> None:
        """Stores all, in their order. Raises the error of the first that is refused, with its position in `operation`."""
        await self._records.insert_all([_record(document) for document in documents])

    async def find(self, id_: str) -> StoredDocument | None:
        record = await self._records.find({"_id": id_})
        return read_document(record) if record is not None else None

    async def find_by_values(self, values: Mapping[str, Sequence[Any]], *, size: int) -> list[StoredDocument]:
        """The documents that have, in every field of `values`, one of its values; `size` says about how many come."""
        match = {f"data.{name}": {"$in": list(wanted)} for name, wanted in values.items()}
        return list(map(read_document, await self._records.aggregate([{"$match": match}], size=size)))

    async def find_holders(self, index: Index, wanted: Sequence[Sequence[Any]]) -> dict[str, Data]:
        """Id → the fields of a unique index, of the documents that have one of the `wanted` lists of values."""
        return await self.read_fields(match_values(index, wanted), index.fields, limit=len(wanted))

    async def read_fields(self, match: Mapping[str, Any], names: Iterable[str], *, limit: int) -> dict[str, Data]:
        """Id → the fields of `data` with these names, of at most `limit` documents that match."""
        projection = {f"data.{name}": 1 for name in names}
        command = {"find": self._records.name, "filter": match, "projection": projection, "limit": limit}
        rows = await self._records.page({**command, "batchSize": limit + 1}, seconds=READ_SECONDS)
        return {row["_id"]: row.get("data", {}) for row in rows}

    async def find_present(self, ids: Sequence[str], names: Iterable[str]) -> dict[str, StoredDocument]:
        """Those of `ids` that are documents, by id; of `data` the fields with these names."""
        shown = dict.fromkeys(("created_at", "updated_at", "version", *(f"data.{name}" for name in names)), 1)
        stages: list[Mapping[str, Any]] = [{"$match": {"_id": {"$in": list(ids)}}}, {"$project": shown}]
        found = await self._records.aggregate(stages, size=len(ids)) if ids else []
        return {record["_id"]: read_document({"data": {}, **record}) for record in found}

    async def change(
        self, id_: str, change: Change, *, guard: Guard | None = None, versions: Versions = None
    ) -> StoredDocument | None:
        """The document after `change`.

        None if no document has one of `versions` and passes `guard`, or if it has no room for the change. If an
        operator does not fit the stored value, the result is None as well, or OperatorRefused is raised.
        """
        known, match = _known_errors(change), _with_needs(_match(id_, guard, versions), change)
        if guard is None and versions is None and known is NOTHING_KNOWN:
            # Values that are set twice are the same; only the version is one higher then.
            record = await self._records.update_again(match, write_change(change))
        else:
            record = await self._records.update(match, write_change(change), known=known)
        return read_document(record) if record is not None else None

    async def change_each(self, ids: Sequence[str], change: Change) -> int:
        """Changes the documents and returns their number; others have no room, or its operators do not fit.

        Raises OperatorRefused.
        """
        match: dict[str, Any] = {"_id": {"$in": list(ids)}}
        return await self._records.update_each(_with_needs(match, change), write_change(change), _known_errors(change))

    async def delete_each(self, ids: Sequence[str]) -> None:
        await self._records.delete_many({"_id": {"$in": list(ids)}})

    async def upsert(self, insertion: Insertion) -> StoredDocument:
        """The document that has the value afterwards; it has the id of the new one if it is that."""
        value = insertion.document.data[insertion.by]
        match = {f"data.{insertion.by}": {"$eq": value}}
        return read_document(await self._records.upsert(match, _write_insertion(insertion)))

    async def delete(self, id_: str, *, guard: Guard | None = None, versions: Versions = None) -> bool:
        """True if a document with one of `versions` passed `guard` and was deleted."""
        return await self._records.delete(_match(id_, guard, versions))


def match_values(index: Index, wanted: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The documents with one of the `wanted` lists of values, in a form for which MongoDB uses the index."""
    paths = [key.path for key in index.keys]
    if len(paths) == 1:
        return {paths[0]: {"$in": [value for (value,) in wanted]}}
    each = [dict(zip(paths, values, strict=True)) for values in wanted]
    return {"$or": [{"$and": [match_held(index), values]} for values in each]}


def _match(id_: str, guard: Guard | None, versions: Versions) -> dict[str, Any]:
    match: dict[str, Any] = {"_id": id_}
    if guard is not None:
        match["$and"] = [guard.match]
    return match if versions is None else match | {"version": match_versions(versions)}


def _known_errors(change: Change) -> KnownErrors:
    return OPERATOR_ERRORS if isinstance(change, SetFields) and change.operations else NOTHING_KNOWN


def _with_needs(match: dict[str, Any], change: Change) -> dict[str, Any]:
    """`match`, with what a change of fields needs of the stored record."""
    if not isinstance(change, SetFields):
        return match
    needs, room = match_needs(change.operations), room_for(change.data, change.operations, change.hidden)
    needs += () if room is None else (room,)
    return match if not needs else match | {"$and": [*match.get("$and", ()), *needs]}


def write_change(change: Change) -> dict[str, Any]:
    """MongoDB's operators for a change."""
    values: dict[str, Any] = {"updated_at": now(), BY: write_author()}
    operators: dict[str, Any] = {"$set": values, "$inc": {"version": 1}}
    match change:
        case ReplaceData(data):
            values["data"] = data
        case SetFields(data=data, operations=operations):
            values |= {f"data.{name}": value for name, value in data.items()}
            write_operations(operations, operators)
    return operators


def _write_insertion(insertion: Insertion) -> dict[str, Any]:
    """MongoDB's operators for an upsert. No path occurs in two of them, and none leads into another."""
    record, changed = _record(insertion.document), insertion.changed
    if changed == {}:
        return {"$setOnInsert": record}
    own = {name: record[name] for name in ("_id", "created_at")}
    values = {"updated_at": record["updated_at"], BY: record[BY]}
    if changed is None:
        values["data"] = record["data"]
    else:
        values |= {f"data.{name}": value for name, value in changed.items()}
        own |= {f"data.{name}": value for name, value in record["data"].items() if name not in changed}
    return {"$set": values, "$inc": {"version": 1}, "$setOnInsert": own}


def _record(document: StoredDocument) -> dict[str, Any]:
    times = {"created_at": document.created_at, "updated_at": document.updated_at}
    return {"_id": document.id, "data": document.data, **times, "version": document.version, BY: write_author()}


def read_document(record: Mapping[str, Any]) -> StoredDocument:
    """The document that a record of MongoDB is."""
    return StoredDocument(
        record["_id"], record["data"], record["created_at"], record["updated_at"], record.get("version", 0)
    )


Reference = tuple[str, str]


async def missing(database: ProjectDatabase, wanted: Mapping[str, set[str]]) -> set[Reference]:
    """The (collection, id) of {collection: ids} that name no record. Collections are named as MongoDB has them.

    One command asks for all, except in a transaction: MongoDB permits no `$unionWith` there.
    """
    if not wanted:
        return set()
    if database.session is not None and len(wanted) > 1:
        return set[Reference]().union(*[await missing(database, {name: ids}) for name, ids in wanted.items()])
    (first, ids), *others = wanted.items()
    unions = ({"$unionWith": {"coll": name, "pipeline": _named(name, found)}} for name, found in others)
    size = sum(map(len, wanted.values()))
    rows = await database.records(first).aggregate([*_named(first, ids), *unions], size=size)
    every = {(name, each) for name, found in wanted.items() for each in found}
    return every - {(row["in"], row["_id"]) for row in rows}


def _named(collection: str, ids: set[str]) -> list[Document]:
    return [{"$match": {"_id": {"$in": sorted(ids)}}}, {"$project": {"in": {"$literal": collection}}}]

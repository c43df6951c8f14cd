"""The declared collections of a project, one record each; with the lease of a process that creates, changes or deletes
one.

    {_id: name, schema, created_at, updated_at, realtime?, unique?, indexes?, relied_on?, change?: {token, kind, until}}

The schema of users' profiles has a record of the same form in a collection of its own:

    {_id: "users", schema, created_at, updated_at?, additional?, version?, change?}

A change takes several steps in MongoDB. `change` is the lease of the process that makes them: no other change begins
meanwhile. The next reader takes an expired lease over and completes the change. Only MongoDB's clock counts: the clocks
of workers differ.
"""

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from service.errors import CollectionExists, DuplicateValue
from service.schema.collection_options import NO_OPTIONS, OPTION_NAMES, CollectionOptions
from service.schema.values import now
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.layout import COLLECTIONS

Kind = Literal["create", "change", "delete"]

# Seconds for all steps of one change, and seconds after its begin at which it counts as abandoned.
CHANGE_SECONDS = 45
SPARE_SECONDS = 15
MAX_LISTED = 10_000


class Definitions:
    """The registry of one project's collections, or that of its users. Raises the errors of `records.translated`.

    On a database that is bound to a transaction every call is a part of it.
    """

    def __init__(self, database: ProjectDatabase, registry: str = COLLECTIONS) -> None:
        self._records = database.records(registry)

    async def list(self) -> list[Document]:
        """All records, ordered by name."""
        return await self._records.aggregate([{"$sort": {"_id": 1}}], size=MAX_LISTED)

    async def schemas(self, names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """The schemas of these collections."""
        wanted = {"_id": {"$in": [*names]}}
        rows = await self._records.aggregate([{"$match": wanted}, {"$project": {"schema": 1}}], size=MAX_LISTED)
        return {row["_id"]: row["schema"] for row in rows}

    async def find(self, name: str) -> Document | None:
        return await self._records.find({"_id": name})

    async def names(self) -> set[str]:
        """The records of all collections."""
        rows = await self._records.aggregate([{"$project": {"change.kind": 1}}], size=MAX_LISTED)
        return {row["_id"] for row in rows if is_visible(row)}

    async def stamps(self) -> dict[str, datetime]:
        """The visible collections, each with the time of its last change."""
        rows = await self._records.aggregate(
            [{"$project": {"updated_at": 1, "change.kind": 1}}, {"$sort": {"_id": 1}}], size=MAX_LISTED
        )
        return {row["_id"]: row["updated_at"] for row in rows if is_visible(row)}

    async def count_indexes(self) -> dict[str, int]:
        """Collection → the indexes its definition asks for, or the one that it is being given, if that asks for more."""
        asked = {"$max": [_indexes("$"), _indexes("$change.")]}
        rows = await self._records.aggregate([{"$project": {"n": asked}}], size=MAX_LISTED)
        return {row["_id"]: row["n"] for row in rows}

    async def count_bytes(self) -> int:
        """The bytes of all schemas; of one that is being changed, those of the larger one."""
        size = {"$max": [{"$bsonSize": "$schema"}, {"$bsonSize": "$change.schema"}]}
        rows = await self._records.aggregate([{"$group": {"_id": None, "bytes": {"$sum": size}}}], size=1)
        return int(rows[0]["bytes"]) if rows else 0

    async def announce(
        self, record: Document, schema: dict[str, Any], options: CollectionOptions = NO_OPTIONS
    ) -> Document | None:
        """Writes the coming definition into a leased record; None if the lease was lost."""
        coming = {"schema": schema, **options.as_json()}
        return await self._records.update(
            _held(record), {"$set": {f"change.{name}": value for name, value in coming.items()}}
        )

    async def reserve(
        self, name: str, schema: dict[str, Any], kind: Kind = "create", *, options: CollectionOptions = NO_OPTIONS
    ) -> Document:
        """The record of a new collection, leased to create it. Raises CollectionExists: the unique `_id` decides.

        With the kind "delete" the name is only reserved, and no collection visible, while leftovers are removed.
        """
        moment = now()
        fields = {"schema": {"$literal": schema}, "created_at": moment, "updated_at": moment, "change": _lease(kind)}
        fields |= {option: {"$literal": value} for option, value in options.as_json().items() if value}
        try:
            return await self._records.create({"_id": name, "created_at": {"$exists": False}}, [{"$set": fields}])
        except DuplicateValue:
            raise CollectionExists from None

    async def begin(self, name: str, kind: Kind) -> Document | None:
        """The record, leased for a change; None where there is none, or another change is under way."""
        return await self._records.update(
            {"_id": name, "change": {"$exists": False}}, [{"$set": {"change": _lease(kind)}}]
        )

    async def ensure(self, name: str) -> None:
        """Makes an empty record, unless there is one."""
        await self._records.upsert({"_id": name}, {"$setOnInsert": {"schema": {}, "created_at": now()}})

    async def take_over(self, name: str) -> Document | None:
        """The record with a new lease of its abandoned change; None if the change is no longer abandoned."""
        lease = _lease("change")
        renewed = {"change.token": lease["token"], "change.until": lease["until"]}
        has_run_out = {"$expr": {"$lt": ["$change.until", "$$NOW"]}}
        return await self._records.update(
            {"_id": name, "change": {"$exists": True}, **has_run_out}, [{"$set": renewed}]
        )

    async def commit(
        self,
        record: Document,
        schema: dict[str, Any],
        *,
        options: CollectionOptions = NO_OPTIONS,
        additional: bool | None = None,
    ) -> Document | None:
        """Makes `schema` and `options` those of a leased record; None if the lease was lost.

        A schema of profiles takes `additional` fields or does not, and has another version each time.
        """
        fields: Document = {"schema": schema, "updated_at": now()}
        declared = options.as_json()
        fields |= {name: declared.get(name, []) for name in OPTION_NAMES if declared.get(name) or name in record}
        if additional is not None:
            fields |= {"additional": additional, "version": secrets.token_hex(8)}
        return await self._records.update(_held(record), {"$set": fields})

    async def mark(self, names: Iterable[str]) -> None:
        """Writes into the records of these collections that a writer relies on their schemas.

        In a transaction, this conflicts with a concurrent change of one of the schemas; one of the two begins again.
        """
        await self._records.update_many({"_id": {"$in": list(names)}}, {"$set": {"relied_on": secrets.token_hex(8)}})

    async def held(self, record: Document) -> Document | None:
        """The leased record as it is stored now; None where the lease was lost."""
        return await self._records.find(_held(record))

    async def finish(self, record: Document) -> None:
        """Ends the lease, unless another definition was committed meanwhile; then the lease runs out."""
        same = {name: record.get(name) for name in ("schema", *OPTION_NAMES)}
        await self._records.update({**_held(record), **same}, {"$unset": {"change": 1}})

    async def remove(self, record: Document) -> None:
        await self._records.delete(_held(record))


def is_changing(record: Document) -> bool:
    """True if a process is changing the collection, or died over it; `take_over` distinguishes the two."""
    return "change" in record


def is_live(record: Mapping[str, Any]) -> bool:
    """True if changes of the documents can be followed; an older record without the field is not live."""
    return bool(record.get("realtime", False))


def is_visible(record: Document) -> bool:
    """A collection is there from when its creation ended until its deletion begins."""
    return "change" not in record or record["change"]["kind"] == "change"


def _indexes(place: str) -> Document:
    """The expression that counts the indexes of the definition at a path."""
    own = {"$or": [{"$eq": ["$$field.v.type", "reference"]}, {"$eq": ["$$field.v.index", True]}]}
    unique = {"$eq": ["$$field.v.unique", True]}
    each = {"$add": [{"$cond": [own, 1, 0]}, {"$cond": [unique, 1, 0]}]}
    fields = {"$objectToArray": {"$ifNull": [f"{place}schema", {}]}}
    compounds = ({"$size": {"$ifNull": [f"{place}{option}", []]}} for option in ("unique", "indexes"))
    return {"$add": [{"$sum": {"$map": {"input": fields, "as": "field", "in": each}}}, *compounds]}


def _lease(kind: Kind) -> Document:
    """An expression, for an update that is a pipeline."""
    until = {"$add": ["$$NOW", (CHANGE_SECONDS + SPARE_SECONDS) * 1000]}
    return {"token": secrets.token_hex(8), "kind": kind, "until": until}


def _held(record: Document) -> Document:
    return {"_id": record["_id"], "change.token": record["change"]["token"]}

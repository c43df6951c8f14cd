"""Records `{_id, data, created_at, updated_at, version?, ...}`, users and documents alike: one MongoDB command for each
call.

The two operations of every request, finding one record and reading a page, are sent as plain commands: the driver's
cursors take a seventh more CPU for the same (docs/performance.md). Both read from the primary, for every MONGODB_URI,
for a deleted user must be gone at once.

Each call of the driver, here and in the other modules of `storage`, is made in the context of `translated`: its errors
become ours, and it is timed.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from time import perf_counter
from types import TracebackType
from typing import Any

from pymongo import ReturnDocument, timeout
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import AutoReconnect, BulkWriteError, NotPrimaryError, WriteConcernError

from service.errors import Invalid, QueryTooSlow, ServiceError, page_too_large
from service.observe.metrics import operation_series
from service.observe.requests import REQUEST
from service.storage.client import ClientSession, Document
from service.storage.encoded_rows import EncodedRow, keep_encoded
from service.storage.errors import MAX_TIME_EXPIRED, NOTHING_KNOWN, KnownErrors, translate, write_error
from service.storage.query_watch import QueryWatch

Projection = Mapping[str, int]
# Operators; or a pipeline, which computes from the record as it is at that instant.
Changes = Document | Sequence[Document]

FIND_SECONDS = 2.0
EXPLAIN_MS = 2_000
# Codes of MongoDB's specification of server discovery: it is no primary, or none any more, or shuts down.
PRIMARY_GONE = frozenset({91, 189, 10107, 11600, 11602, 13435, 13436})
# MongoDB's deadline, an answer on its way included, comes this long before the worker's.
GRACE_SECONDS = 1.0


def _page_too_large() -> ServiceError:
    return page_too_large("The records of this page are larger than 16 MB together")


def _arrays_in_sort() -> ServiceError:
    msg = "A record has an array in more than one of these fields, which therefore have no order together"
    return Invalid.one(("query", "sort_by"), msg, type_="arrays_in_sort")


# Codes of MongoDB: a document or a lookup past 16 MB, and a stage past its memory (ExceededMemoryLimit, and without disk).
PAGE_ERRORS: KnownErrors = {
    MAX_TIME_EXPIRED: QueryTooSlow,
    # All that MongoDB finds wrong with a page, whose command is ours: two sort keys that are arrays in one record.
    2: _arrays_in_sort,
    **dict.fromkeys((10334, 4568, 146, 292), _page_too_large),
}


class Records:
    """The records of one MongoDB collection. Every call raises the errors of `translated`.

    With a `session` every call is part of its transaction; see `databases` for what that asks of the caller.
    """

    __slots__ = ("collection", "is_profiled", "name", "session", "slow_seconds", "watch")

    def __init__(
        self,
        collection: AsyncCollection[Document],
        session: ClientSession | None = None,
        *,
        watch: QueryWatch | None = None,
        is_profiled: bool = False,
    ) -> None:
        """Slow queries are described by `watch`; where `is_profiled`, commands carry their request's id as `comment`."""
        self.collection = collection
        self.name = collection.name
        self.session = session
        self.watch = watch
        self.is_profiled = is_profiled
        self.slow_seconds = watch.slow_seconds if watch is not None and session is None else inf

    @property
    def _options(self) -> dict[str, Any]:
        """The options of the driver's calls: the transaction, and the comment."""
        return {"session": self.session, **self._comment}

    @property
    def _comment(self) -> dict[str, str]:
        """The request's id, where the profiler is on: MongoDB's profile and log show it."""
        request = REQUEST.get() if self.is_profiled else None
        return {} if request is None else {"comment": request.id}

    async def _query(
        self, command: Document, *, seconds: float, known: KnownErrors, encoded: bool = False
    ) -> Mapping[str, Any]:
        """As `read`, for commands that may examine many records: a slow one is described.

        The rows of an `encoded` reply are for `decode_rows`.
        """
        if self.is_profiled:
            command |= self._comment
        started = perf_counter()
        try:
            collection = keep_encoded(self.collection) if encoded else self.collection
            reply = await read(collection, self.session, command, seconds=seconds, known=known)
        except QueryTooSlow:
            await self._note_slow(command, perf_counter() - started)
            raise
        if (took := perf_counter() - started) >= self.slow_seconds:
            await self._note_slow(command, took)
        return reply

    async def _note_slow(self, command: Document, seconds: float) -> None:
        if self.watch is not None and seconds >= self.slow_seconds:
            await self.watch.note(self.collection, command, seconds)

    async def insert(self, record: Document) -> None:
        with translated("store a record"):
            await self.collection.insert_one(record, **self._options)

    async def insert_new(self, record: Document) -> None:
        """As `insert`, for a record whose `_id` was made for it: no other request can have stored one.

        MongoDB keeps no record by which the driver could repeat it, which takes a fifth of the insertion. If the answer
        to the first attempt was lost, and the second is refused, the stored record decides if it succeeded.
        """
        if self.session is not None:
            await self.insert(record)
            return
        with translated("store a record"):
            insert = {"insert": self.name, "documents": [record], **self._comment}
            reply, is_again = await _write_twice(self.collection, insert)
        errors = reply.get("writeErrors")
        if errors and not (is_again and await self.find({"_id": record["_id"]}, {"_id": 1})):
            raise write_error(errors[0])

    async def insert_many(self, records: Sequence[Document]) -> None:
        with translated("store records"):
            await self.collection.insert_many(records, ordered=False, **self._options)

    async def insert_each(self, records: Sequence[Document]) -> dict[int, ServiceError]:
        """Stores the valid ones, in one batch. Position → DuplicateValue or RejectedByValidator, for the rest.

        Raises the first of those in a transaction, which ends with it.

        """
        with translated("store records"):
            try:
                await self.collection.insert_many(records, ordered=False, **self._options)
            except BulkWriteError as error:
                if self.session is not None or error.details["writeConcernErrors"]:
                    raise
                return {each["index"]: write_error(each) for each in error.details["writeErrors"]}
        return {}

    async def insert_all(self, records: Sequence[Document]) -> None:
        """Stores all in one command, as part of a transaction.

        An error about one of them has its position in `operation`.
        """
        with translated("store records"):
            try:
                await self.collection.insert_many(records, ordered=True, **self._options)
            except BulkWriteError as error:
                if error.details["writeConcernErrors"] or not error.details["writeErrors"]:
                    raise
                refused = write_error(error.details["writeErrors"][0])
                refused.operation = error.details["writeErrors"][0]["index"]
                raise refused from error

    async def find(self, match: Document, fields: Projection | None = None) -> Document | None:
        command: Document = {"find": self.name, "filter": match, "limit": 1, "singleBatch": True}
        if fields is not None:
            command["projection"] = fields
        if self.is_profiled:
            command |= self._comment
        batch = (await read(self.collection, self.session, command))["cursor"]["firstBatch"]
        return batch[0] if batch else None

    async def create(self, match: Document, changes: Sequence[Document]) -> Document:
        """Stores a new record, computed by MongoDB. `match` holds its `_id` and fits no record that is there.

        Raises DuplicateValue where the `_id` is taken.
        """
        with translated("create a record"):
            found: Document | None = await self.collection.find_one_and_update(
                match, changes, upsert=True, return_document=ReturnDocument.AFTER, **self._options
            )
        # An upsert always leaves a record, which is returned.
        return found or {}

    async def upsert(self, match: Document, changes: Document) -> Document:
        """Changes the record that matches, or makes one of `match` and `changes`; returns it as it is afterwards."""
        with translated("store a record"):
            found: Document | None = await self.collection.find_one_and_update(
                match, changes, upsert=True, return_document=ReturnDocument.AFTER, **self._options
            )
        return found or {}

    async def update(
        self,
        match: Document,
        changes: Changes,
        fields: Projection | None = None,
        *,
        known: KnownErrors = NOTHING_KNOWN,
    ) -> Document | None:
        """Changes the record that matches, atomically, and returns it as it is afterwards; None where none matches."""
        with translated("change a record", known):
            return await self.collection.find_one_and_update(
                match, changes, projection=fields, return_document=ReturnDocument.AFTER, **self._options
            )

    async def update_again(self, match: Document, changes: Changes) -> Document | None:
        """As `update`, for changes that have the same effect when they are made twice.

        MongoDB keeps no record by which the driver could repeat them, which costs up to as much as the change.
        """
        if self.session is not None:
            return await self.update(match, changes)
        command: Document = {
            "findAndModify": self.name,
            "query": match,
            "update": changes,
            "new": True,
            **self._comment,
        }
        with translated("change a record"):
            reply, _ = await _write_twice(self.collection, command)
        found: Document | None = reply["value"]
        return found

    async def update_one(self, match: Document, changes: Document | list[Document]) -> bool:
        """Returns False if no record matches."""
        with translated("change a record"):
            return (await self.collection.update_one(match, changes, **self._options)).matched_count == 1

    async def update_many(self, match: Document, changes: Document) -> None:
        with translated("change records"):
            await self.collection.update_many(match, changes, **self._options)

    async def update_each(self, match: Document, changes: Document, known: KnownErrors = NOTHING_KNOWN) -> int:
        """Changes each matching record, and returns their number."""
        with translated("change records", known):
            return (await self.collection.update_many(match, changes, **self._options)).matched_count

    async def put(self, record: Document) -> None:
        """Stores `record` in the place of the one with its `_id`, or as a new one."""
        with translated("store a record"):
            await self.collection.replace_one({"_id": record["_id"]}, record, upsert=True, **self._options)

    async def delete(self, match: Document) -> bool:
        """Returns False if no record matches."""
        with translated("delete a record"):
            return (await self.collection.delete_one(match, **self._options)).deleted_count == 1

    async def delete_many(self, match: Document) -> None:
        with translated("delete records"):
            await self.collection.delete_many(match, **self._options)

    async def aggregate(self, stages: Sequence[Mapping[str, Any]], *, size: int) -> list[Document]:
        """All rows of a pipeline that gives at most `size`; they come in one batch, unless they exceed 16 MB."""
        with translated("find records"):
            # One more than can come tells the server to close the cursor with the first batch.
            cursor = await self.collection.aggregate(stages, batchSize=size + 1, **self._options)
            return await cursor.to_list()

    async def page(
        self,
        command: Document,
        *,
        seconds: float,
        known: KnownErrors = PAGE_ERRORS,
        too_large: Callable[[], ServiceError] = _page_too_large,
    ) -> list[Document]:
        """All rows of a `find` or `aggregate` whose batch holds them, in one reply of MongoDB, which holds 16 MB.

        So a worker's memory is bounded for records of any size. Raises Invalid, or what `too_large` says, where they do
        not fit, QueryTooSlow after so many seconds, and what else is `known`.
        """
        return await self._first_batch(await self._query(command, seconds=seconds, known=known), too_large)

    async def encoded_page(self, command: Document, *, seconds: float) -> list[EncodedRow]:
        """As `page`; the rows are for `decode_rows`."""
        reply = await self._query(command, seconds=seconds, known=PAGE_ERRORS, encoded=True)
        return await self._first_batch(reply, _page_too_large)

    async def _first_batch(self, reply: Mapping[str, Any], too_large: Callable[[], ServiceError]) -> list[Any]:
        cursor = reply["cursor"]
        if cursor["id"]:
            await self._close(cursor["id"])
            raise too_large()
        found: list[Any] = cursor["firstBatch"]
        return found

    async def find_all(self, match: Document, *, limit: int, seconds: float = FIND_SECONDS) -> list[Document]:
        """At most `limit` whole records, in no order. Raises as `page`."""
        return await self.page(
            {"find": self.name, "filter": match, "limit": limit, "batchSize": limit + 1}, seconds=seconds
        )

    async def explain(self, match: Document, *, sort: Document, limit: int) -> Document:
        """The plan by which MongoDB finds the first page: {"index": names of the indexes, "keys", "docs"} examined."""
        find: Document = {"find": self.name, "filter": match, "sort": sort, "limit": limit, "maxTimeMS": EXPLAIN_MS}
        explain = {"explain": find, "verbosity": "executionStats", **self._comment}
        reply = await read(self.collection, self.session, explain)
        stats = reply["executionStats"]
        names = sorted(set(_index_names(reply["queryPlanner"]["winningPlan"])))
        return {"index": names, "keys": stats["totalKeysExamined"], "docs": stats["totalDocsExamined"]}

    async def count(self, command: Document, *, seconds: float) -> int:
        """The number that a command `count` gives. Raises QueryTooSlow after so many seconds."""
        return int((await self._query(command, seconds=seconds, known=PAGE_ERRORS))["n"])

    async def _close(self, cursor_id: int) -> None:
        with translated("close a cursor"):
            command = {"killCursors": self.name, "cursors": [cursor_id]}
            await self.collection.database.command(command, **self._options)

    async def count_all(self) -> int:
        """The number of records by the collection's metadata, which costs no scan; in a transaction they are counted."""
        with translated("count records"):
            if self.session is not None:
                return await self.collection.count_documents({}, **self._options)
            return await self.collection.estimated_document_count(**self._comment)


def match_versions(versions: Sequence[int]) -> dict[str, Any]:
    """The condition that a record's version is one of these.

    A record without one, which another program wrote, has 0.
    """
    return {"$in": [*versions, *([None] if 0 in versions else [])]}


def _index_names(plan: Any) -> Iterator[str]:
    """The names of the indexes anywhere in a plan."""
    if isinstance(plan, dict):
        if isinstance(name := plan.get("indexName"), str):
            yield name
        for inner in plan.values():
            yield from _index_names(inner)
    elif isinstance(plan, list):
        for inner in plan:
            yield from _index_names(inner)


class _Call:
    """`with translated():` turns what the driver raises into the errors of errors.py, and times it. A class: it is fast."""

    __slots__ = ("_doing", "_known", "_started")

    def __init__(self, doing: str, known: KnownErrors) -> None:
        self._doing = doing
        self._known = known

    def __enter__(self) -> None:
        self._started = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours = translate(error, self._doing, self._known) if error is not None else None
        outcome = ours.code if ours is not None else "ok" if error is None else "ended"
        operation_series(outcome).observe(perf_counter() - self._started)
        if ours is not None:
            raise ours from error


def translated(doing: str = "answer", known: KnownErrors = NOTHING_KNOWN) -> _Call:
    """The context in which every driver call is made.

    Raises DuplicateValue, RejectedByValidator, TooLarge; Unavailable when the outcome is unknown, which says that MongoDB
    took too long to do what it was `doing` where that is so. The codes of `known` are errors of the caller's.
    """
    return _Call(doing, known)


async def read(
    collection: AsyncCollection[Document],
    session: ClientSession | None,
    command: Document,
    *,
    seconds: float | None = None,
    known: KnownErrors = NOTHING_KNOWN,
) -> Document:
    """The reply to a command that changes nothing. Tried once more where the connection or the primary was lost.

    MongoDB's specification of retryable reads; the driver leaves out commands that it is handed whole. A lapsed deadline is
    no reason to try again, and a transaction is tried again as a whole.
    """
    with translated("find records", known):
        return await _try_twice(collection, session, command, seconds)


async def _try_twice(
    collection: AsyncCollection[Document], session: ClientSession | None, command: Document, seconds: float | None
) -> Document:
    try:
        return await _run(collection, session, command, seconds)
    except AutoReconnect as error:
        if error.timeout or session is not None:
            raise
        return await _run(collection, session, command, seconds)


async def _write_twice(collection: AsyncCollection[Document], command: Document) -> tuple[Document, bool]:
    """The reply to a command that writes, and whether it was sent once more: then the first may have written, too."""
    command["writeConcern"] = {"w": "majority"}
    try:
        return await _write(collection, command), False
    except AutoReconnect as error:
        if error.timeout:
            raise
        return await _write(collection, command), True


async def _write(collection: AsyncCollection[Document], command: Document) -> Document:
    """Raises NotPrimaryError, too, if the primary stepped down before the others had its write."""
    reply = await _run(collection, None, command, None)
    failed = reply.get("writeConcernError")
    if failed is None:
        return reply
    if failed["code"] in PRIMARY_GONE:
        raise NotPrimaryError(failed["errmsg"], failed)
    raise WriteConcernError(failed["errmsg"], failed["code"], failed)


async def _run(
    collection: AsyncCollection[Document],
    session: ClientSession | None,
    command: Document,
    seconds: float | None,
) -> Document:
    """MongoDB's own deadline comes before ours, so that it is the one that is met, and its work ends with it.

    The driver would give both the same (timeout 0 keeps it from that).
    """
    reply: Document
    run, codec = collection.database.command, collection.codec_options
    if seconds is None:
        reply = await run(command, codec_options=codec, session=session)
        return reply
    command["maxTimeMS"] = max(1, int(seconds * 1000))
    async with asyncio.timeout(seconds + GRACE_SECONDS):
        with timeout(0):
            reply = await run(command, codec_options=codec, session=session)
            return reply

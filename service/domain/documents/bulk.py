"""One change of all documents that a query finds, or their deletion, in chunks: each is a transaction.

The client sends the number of documents it expects, so a mistaken condition changes nothing.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from service.bounds import MAX_BULK
from service.domain.access.caller import SecretKeyCaller
from service.domain.documents.changes import explain_misfit, fields_of, operations_of, prepare_change
from service.domain.documents.file_changes import settle_files, touches_files
from service.domain.documents.reader import Engine, TargetCollection
from service.domain.documents.writes import CHANGED, Change, Update
from service.domain.documents.writing import Misfit, as_client_error, lacks_version
from service.errors import CountChanged, Invalid, RejectedByValidator, ServiceError, TooLarge, Unavailable, Violation
from service.query.commands import page
from service.query.cursor import write_cursor
from service.query.nodes import BoundQuery, Count, ListQuery
from service.storage.databases import ProjectDatabase
from service.storage.documents import DocumentStore, OperatorRefused
from service.storage.validator_migrations import renew_validator

CHUNK = 1_000
SAMPLE = 10
# A call begins no further chunk after so long, and what a chunk's search may take.
CALL_SECONDS = 20.0
FIND_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class BulkWrite:
    """The documents that `query` finds, in the order of their ids, get `change`; without one they are deleted.

    `fingerprint` stands for what is asked, in the cursor that goes on with it.
    """

    query: ListQuery
    change: Change | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Preview:
    """The number of documents to change, and the ids of the first."""

    matched: int
    sample: list[str]


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The number of documents when the call began, and the number it changed; `next` continues, None at the end."""

    matched: int
    changed: int
    next: str | None


@dataclass(frozen=True, slots=True)
class _Run:
    """A bulk write as MongoDB can make it."""

    target: TargetCollection
    query: BoundQuery
    change: Change | None


async def preview_bulk(engine: Engine, caller: SecretKeyCaller, name: str, write: BulkWrite) -> Preview:
    """Changes nothing. Raises as `write_bulk`, of all but the writes."""
    return await _count(await _prepare(engine, caller, name, write))


async def write_bulk(
    engine: Engine, caller: SecretKeyCaller, name: str, write: BulkWrite, *, expect: int
) -> BulkResult:
    """At most MAX_BULK documents; what chunks before changed stays changed, whatever is raised.

    Raises CollectionNotFound, Busy, CountChanged, Invalid, DuplicateValue, QueryTooSlow, Unavailable.
    """
    async with engine.transfers.take(caller.project.id):
        run = await _prepare(engine, caller, name, write)
        matched = (await _count(run)).matched
        if write.query.cursor is None and matched != expect:
            raise CountChanged(matched)
        return await _write_chunks(run, matched, write.fingerprint)


async def _prepare(engine: Engine, caller: SecretKeyCaller, name: str, write: BulkWrite) -> _Run:
    """By the definition as it is stored now; the related records as they are now."""
    reader = engine.of_server(caller, name)
    target = await reader.newest_target()
    change = write.change
    if change is not None:
        try:
            change = (await prepare_change(target, Update("", change))).change
        except Misfit as misfit:
            raise as_client_error(misfit, target) from None
    return _Run(target, _plain(await reader.resolve(await reader.bind(write.query))), change)


async def _count(run: _Run) -> Preview:
    reader, query = run.target.reader, replace(run.query, limit=SAMPLE, count=Count.EXACT)
    found = await reader.engine.lists.read(reader.database, query)
    return Preview(found.total or 0, [row["_id"] for row in found.rows])


async def _write_chunks(run: _Run, matched: int, fingerprint: str) -> BulkResult:
    changed, last, until = 0, "", time.monotonic() + CALL_SECONDS
    more = matched > 0
    while more and changed + CHUNK <= MAX_BULK and time.monotonic() < until:
        ids = await _renewing(run, partial(_write_chunk, run, _behind(run.query, last)))
        more = len(ids) > CHUNK
        changed += len(ids[:CHUNK])
        last = ids[:CHUNK][-1] if ids else last
    next_ = write_cursor(fingerprint, run.query.sort, {"_id": last}) if more else None
    return BulkResult(matched, changed, next_)


async def _renewing(run: _Run, write: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """The ids that `write` returns, at its second attempt where the validator was of an older form."""
    try:
        return await write()
    except RejectedByValidator as refusal:
        target = run.target
        if not lacks_version(refusal) or not await renew_validator(target.database, target.collection.name):
            raise as_client_error(refusal, run.target) from None
    try:
        return await write()
    except RejectedByValidator as refusal:
        raise as_client_error(refusal, run.target) from None


def _plain(query: BoundQuery) -> BoundQuery:
    """The ids alone, behind the cursor."""
    behind = query.match if query.after is None else replace(query.match, filters=(*query.match.filters, query.after))
    return replace(query, match=behind, cursor=None, after=None, offset=0, fields=("_id",), selection=None)


def _behind(query: BoundQuery, last: str) -> BoundQuery:
    """A chunk, and one more that tells that there is a further one."""
    filters = (*query.match.filters, {"_id": {"$gt": last}}) if last else query.match.filters
    return replace(query, match=replace(query.match, filters=filters), limit=CHUNK + 1, count=Count.NONE)


async def _write_chunk(run: _Run, query: BoundQuery) -> list[str]:
    """The ids of the documents that were changed, and one more where there are more."""
    ids: list[str] = []

    async def write(database: ProjectDatabase) -> None:
        nonlocal ids
        rows = await database.records(query.collection).page(page(query), seconds=FIND_SECONDS)
        ids = [row["_id"] for row in rows]
        await _write_with_files(run, database, ids[:CHUNK])

    try:
        await run.target.database.in_transaction(write)
    except OperatorRefused:
        raise await _explain(run, ids[:CHUNK]) from None
    return ids


async def _write_with_files(run: _Run, database: ProjectDatabase, ids: Sequence[str]) -> None:
    """Raises OperatorRefused; and Invalid where a document would name a file that it does not have."""
    collection, store = run.target.collection, DocumentStore(database, run.target.collection.name)
    if not ids or not _touches_files(run):
        await _write(store, ids, run.change)
        return
    chosen = {"_id": {"$in": list(ids)}}
    before = await store.read_fields(chosen, collection.files, limit=CHUNK)
    await _write(store, ids, run.change)
    after = {} if run.change is None else await store.read_fields(chosen, collection.files, limit=CHUNK)
    await settle_files(database, collection, before, after)


def _touches_files(run: _Run) -> bool:
    files = run.target.collection.files
    return touches_files(Update("", run.change), files) if run.change is not None else bool(files)


async def _write(store: DocumentStore, ids: Sequence[str], change: Change | None) -> None:
    """Raises OperatorRefused where an operator does not fit one of the documents."""
    if not ids:
        return
    if change is None:
        await store.delete_each(ids)
    elif await store.change_each(ids, change) < len(ids):
        raise OperatorRefused


async def _explain(run: _Run, ids: Sequence[str]) -> ServiceError:
    """The faults of the first document that the operators do not fit."""
    change = run.change
    for id_ in ids if change is not None else ():
        document = await run.target.store.find(id_)
        if document is None or change is None:
            continue
        refused = await explain_misfit(run.target, document.data, fields_of(change), operations_of(change))
        if refused is not None:
            return _name_document(refused, id_)
    return Unavailable(CHANGED)


def _name_document(refused: ServiceError, id_: str) -> ServiceError:
    if isinstance(refused, Invalid):
        named = [Violation(each.loc, f"{each.msg} (in document {id_})", each.type) for each in refused.violations]
        return Invalid(named)
    return TooLarge(f"{refused.detail} (document {id_})")

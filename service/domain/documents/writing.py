"""The steps that every write of documents shares: checked beyond the validator, stored at once, tried again where it may help.

The database's validator judges most of a write. Names, depth, patterns and references are judged here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

from service.domain.documents.file_changes import find_before, settle_write, touches_files
from service.domain.documents.reader import TargetCollection
from service.domain.documents.references import find_gone, list_dangling
from service.domain.documents.writes import Data, Write
from service.errors import Invalid, Location, RejectedByValidator, ServiceError, Unavailable, Violation
from service.schema.nearest import describe_nearest
from service.schema.values import check_data
from service.schema.violations import is_verdict, may_lack_version, translate
from service.storage.databases import ProjectDatabase
from service.storage.documents import DocumentStore, StoredDocument
from service.storage.validator_migrations import renew_validator

LOC: Location = ("body", "data")
CHANGING = "The schema of this collection is being changed; try again"
AT_ONCE = 50

Item = TypeVar("Item")
Result = TypeVar("Result")
Sent = TypeVar("Sent", bound=Write)


class Misfit(Exception):
    """Operators that do not fit the fields as they are declared, by the definition that is known."""

    def __init__(self, violations: list[Violation]) -> None:
        self.violations = violations
        self.operation: int | None = None
        super().__init__()


class _NoDocument(Exception):
    """No document took the change; raised so that the transaction is undone."""


async def write_document(
    target: TargetCollection, attempt: Callable[[TargetCollection, Sent], Awaitable[StoredDocument]], write: Sent
) -> StoredDocument:
    """The document after `attempt`, by the definition that is known; if that was old and refused it, by the newest.

    Raises as `attempt`; in a transaction, which a refusal ends, also Misfit and RejectedByValidator.
    """
    if target.database.session is not None:
        return await attempt(target, write)
    try:
        return await attempt(target, write)
    except (Misfit, RejectedByValidator) as refusal:
        newest = await look_again(target, refusal)
    try:
        return await attempt(newest, write)
    except (Misfit, RejectedByValidator) as refusal:
        raise as_client_error(refusal, newest) from None


async def look_again(target: TargetCollection, refusal: Misfit | RejectedByValidator) -> TargetCollection:
    """The target for another attempt of a refused write. Raises the client's error where the definition is the same."""
    renewed = lacks_version(refusal) and await renew(target)
    newest = await target.reader.newest_target()
    if not renewed and newest.collection == target.collection:
        raise as_client_error(refusal, newest) from None
    return newest


def lacks_version(error: Exception) -> bool:
    return isinstance(error, RejectedByValidator) and may_lack_version(error.err_info)


async def renew(target: TargetCollection) -> bool:
    """Brings the validator of the present form into force, which an older worker may have replaced. Raises Unavailable."""
    if not await renew_validator(target.database, target.collection.name):
        raise Unavailable(CHANGING)
    return True


def as_client_error(error: ServiceError | Misfit, target: TargetCollection | None = None) -> ServiceError:
    """The error for the client; the first field that the schema lacks with the nearest one that the caller may read.

    While a schema is changed another validator is in force, whose refusal is no verdict.
    """
    if isinstance(error, Misfit):
        return Invalid(_hint(error.violations, target))
    if not isinstance(error, RejectedByValidator):
        return error
    if not is_verdict(error.err_info):
        return Unavailable(CHANGING)
    return Invalid(_hint(translate(error.err_info), target))


def _hint(violations: list[Violation], target: TargetCollection | None) -> list[Violation]:
    unknown = (each for each in violations if each.type == "extra_forbidden" and len(each.loc) == 3)
    if target is None or (first := next(unknown, None)) is None:
        return violations
    hint = describe_nearest(str(first.loc[2]), target.reader.readable_fields(target.collection.fields))
    return [replace(each, msg=each.msg + hint) if each is first else each for each in violations]


async def check_completed(target: TargetCollection, data: Data) -> None:
    """Asks the database once for all references in `data`. Raises Invalid for those that name no record.

    Also for texts that break a pattern. A record that the caller may not read is none.
    """
    if not (target.collection.targets or target.collection.patterned):
        return
    (violations,) = await _faults(target, [data])
    if violations:
        raise Invalid(violations)


async def faults_of(target: TargetCollection, rows: Sequence[Data], completed: Sequence[Data]) -> list[list[Violation]]:
    """For each of `rows`, in one command: the faults of its names and, once completed, of its references."""
    found = await _faults(target, completed)
    named = await map_in_turns(lambda row: check_data(row, LOC), rows)
    return [[*violations, *faults] for violations, faults in zip(named, found, strict=True)]


async def map_in_turns(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`function` of each item; after every few, others have their turn on the event loop."""
    results: list[Result] = []
    for number, item in enumerate(items, start=1):
        results.append(function(item))
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
    return results


async def _faults(target: TargetCollection, rows: Sequence[Data]) -> list[list[Violation]]:
    """Only texts are looked for as references; the validator refuses values of other types."""
    gone = await find_gone(target, rows)
    fields, judge = target.collection.patterned, target.reader.engine.judge
    mismatches = [await judge.judge(target.project.id, data, fields, LOC) if fields else [] for data in rows]
    dangling = await map_in_turns(lambda data: list_dangling(target, data, gone, LOC), rows if gone else ())
    return [[*found, *more] for found, more in zip_longest(mismatches, dangling, fillvalue=())]


async def store_write(
    target: TargetCollection,
    write: Write,
    action: Callable[[DocumentStore], Awaitable[StoredDocument | None]],
    *,
    has_steps: bool = False,
) -> StoredDocument | None:
    """Returns the document that `action` returns.

    If `action` has several steps, or the write a `keep` or files, all happens in one transaction, or nothing.
    """
    touches = bool(target.collection.files or write.upload) and touches_files(write, target.collection.files)
    if write.keep is None and not touches and not has_steps:
        return await action(target.store)

    async def act(database: ProjectDatabase) -> StoredDocument:
        collection = target.collection
        before = await find_before(database, collection, write) if touches else {}
        document = await action(DocumentStore(database, collection.name))
        if document is None:
            raise _NoDocument
        if touches:
            await settle_write(database, collection, write, before, document)
        if write.keep is not None:
            await write.keep(database, document)
        return document

    try:
        if write.upload is not None:
            return await write.upload.publish(act)
        return await target.database.in_transaction(act)
    except _NoDocument:
        return None

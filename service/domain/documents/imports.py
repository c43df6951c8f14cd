"""Documents of a file, created or replaced in batches by the one way that every write takes. A bad line stops no other."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from service.domain.access.caller import SecretKeyCaller
from service.domain.documents.creation import CreateResult
from service.domain.documents.documents import Documents
from service.domain.documents.import_rows import ImportRow, ImportTarget, Layout, find_ids, read_rows, violations_of
from service.domain.documents.import_trials import ImportReport, ImportTrial
from service.domain.documents.reader import Engine
from service.domain.projects.lookup import Project
from service.errors import Busy, DocumentNotFound, DuplicateValue, Invalid, ServiceError, Unavailable, Violation
from service.schema.fields import Fields
from service.storage.documents import ReplaceData

BATCH = 500
# A batch ends with the row that makes it so large.
BATCH_BYTES = 4 * 1_048_576
# Documents that are replaced at once, each by a command of its own, which waits for the disk.
AT_ONCE = 8
# Attempts for a record that other requests create or delete meanwhile.
ATTEMPTS = 5
CHANGED = "Another record took or left this value at the same time; try again"


async def import_documents(
    engine: Engine,
    project: Project,
    name: str,
    stream: AsyncIterator[bytes],
    *,
    layout: Layout,
    by: str | None,
    dry_run: bool = False,
) -> ImportReport:
    """Stores the documents in `stream`. Raises CollectionNotFound, Busy, Invalid, TooLarge, Unavailable.

    Batches that were stored stay stored, whatever is raised later. A dry run stores nothing.
    """
    async with engine.transfers.take(project.id):
        documents = Documents(engine.of_server(SecretKeyCaller(project), name))
        collection = (await documents.reader.newest_target()).collection
        if by is not None:
            _check_unique(by, collection.fields)
        target, report = ImportTarget(documents, collection, by), ImportReport()
        trial = ImportTrial(target, report) if dry_run else None
        async for rows in _batches(read_rows(stream, layout, collection.fields)):
            # The project may be gone by now: clients may be slow.
            await engine.projects.by_id(project.id)
            report.refuse(await (trial.judge(rows) if trial else _store(target, rows, report)))
        return report


async def _store(target: ImportTarget, rows: Sequence[ImportRow], report: ImportReport) -> dict[int, list[Violation]]:
    """The lines that were refused, and why."""
    refused = {row.line: row.violations for row in rows if row.violations}
    left = [row for row in rows if not row.violations]
    if target.by is None:
        return refused | await _create(target, left, report)
    refused |= {row.line: [fault] for row in left if (fault := target.find_key_fault(row)) is not None}
    left = [row for row in left if row.line not in refused]
    for _ in range(ATTEMPTS + len(left)):
        if not left:
            return refused
        some, later = _first_of_each(left, target)
        again, found = await _upsert(target, some, report)
        refused |= found
        left = sorted([*again, *later], key=lambda row: row.line)
    return refused | {row.line: [Violation(("body",), CHANGED, Busy.code)] for row in left}


async def _create(target: ImportTarget, rows: Sequence[ImportRow], report: ImportReport) -> dict[int, list[Violation]]:
    outcomes = await _create_each(target, rows)
    refused = {row.line: violations_of(each) for row, each in outcomes if isinstance(each, ServiceError)}
    report.created += len(rows) - len(refused)
    return refused


async def _create_each(target: ImportTarget, rows: Sequence[ImportRow]) -> list[tuple[ImportRow, CreateResult]]:
    if not rows:
        return []
    outcomes = await target.documents.create_each([row.data for row in rows])
    return list(zip(rows, outcomes, strict=True))


async def _upsert(
    target: ImportTarget, rows: Sequence[ImportRow], report: ImportReport
) -> tuple[list[ImportRow], dict[int, list[Violation]]]:
    """The rows to try again, because another came between, and the lines that were refused. No two have one value."""
    by, refused, again = target.by or "", dict[int, list[Violation]](), list[ImportRow]()
    ids = await find_ids(target, rows)
    new = [row for row in rows if target.key_of(row) not in ids]
    there = [(ids[key], row) for row in rows if (key := target.key_of(row)) in ids]
    for row, error in await _replace_each(target, there):
        if error is None:
            report.updated += 1
        elif isinstance(error, DocumentNotFound):
            again.append(row)
        else:
            refused[row.line] = violations_of(error)
    for row, outcome in await _create_each(target, new):
        if isinstance(outcome, DuplicateValue) and outcome.is_of(by):
            again.append(row)
        elif isinstance(outcome, ServiceError):
            refused[row.line] = violations_of(outcome)
        else:
            report.created += 1
    return again, refused


async def _replace_each(
    target: ImportTarget, rows: Sequence[tuple[str, ImportRow]]
) -> list[tuple[ImportRow, ServiceError | None]]:
    """Each row and why it did not replace the document with the id, a few at once. Raises Unavailable."""
    found: list[tuple[ImportRow, ServiceError | None]] = []
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_replace(target, id_, row)) for id_, row in some]
        found += [(row, task.result()) for (_, row), task in zip(some, tasks, strict=True)]
        if (lost := next((error for _, error in found if isinstance(error, Unavailable)), None)) is not None:
            raise lost
    return found


async def _replace(target: ImportTarget, id_: str, row: ImportRow) -> ServiceError | None:
    """Why the document was not replaced."""
    try:
        await target.documents.change(id_, ReplaceData(row.data))
    except ServiceError as error:
        return error
    return None


def _check_unique(by: str, fields: Fields) -> None:
    """Raises Invalid."""
    if by not in fields or not fields[by].unique:
        raise Invalid.one(("query", "by"), "Must be a field that is declared unique", type_="not_unique")


async def _batches(rows: AsyncIterator[ImportRow]) -> AsyncIterator[list[ImportRow]]:
    batch: list[ImportRow] = []
    size = 0
    async for row in rows:
        batch.append(row)
        size += row.size
        if len(batch) == BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _first_of_each(rows: Sequence[ImportRow], target: ImportTarget) -> tuple[list[ImportRow], list[ImportRow]]:
    """The first row of each value, and those that come after one with theirs."""
    first: dict[Any, ImportRow] = {}
    for row in rows:
        first.setdefault(target.key_of(row), row)
    lines = {row.line for row in first.values()}
    return list(first.values()), [row for row in rows if row.line not in lines]

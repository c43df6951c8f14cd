"""Rows in batches: read, mapped, their references resolved.

A row that cannot be read is refused and does not stop the rest.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from service.domain.projects.lookup import Project
from service.schema.values import Kind
from service.seeding.manifest import Source
from service.seeding.references import resolve
from service.seeding.report import Report
from service.seeding.rows import BadCell, fields_of
from service.seeding.sources import Row, read_rows

# A batch ends with so many rows, or with the row that makes it so large.
BATCH = 1_000
BATCH_BYTES = 16 * 1024 * 1024

RowData = dict[str, Any]
Placed = tuple[str, RowData]
Wanted = TypeVar("Wanted")


class RowBatches:
    """The rows of one source, as `(place, fields)`. `kind` is what the report calls them, `place` the source's path."""

    def __init__(self, source: Source, folder: Path, place: str, *, kind: str, report: Report) -> None:
        self._source = source
        self._folder = folder
        self._place = place
        self._kind = kind
        self._report = report
        self._seen: set[str] = set()

    async def read(self, project: Project | None, kinds: Mapping[str, Kind]) -> AsyncIterator[list[Placed]]:
        """Batches of rows; `kinds` are the declared types that the cells of a CSV file are read as."""
        batch: list[Placed] = []
        size = 0
        async for row in read_rows(self._source, self._folder, self._place):
            if (fields := self._mapped(row, kinds)) is not None:
                batch.append((row.place, fields))
                size += row.size
            if len(batch) == BATCH or size >= BATCH_BYTES:
                yield await self._resolved(project, batch)
                batch, size = [], 0
        if batch:
            yield await self._resolved(project, batch)

    def wanted(self, batch: Iterable[Placed], read: Callable[[str, RowData], Wanted | str], key: str) -> list[Wanted]:
        """The results of `read` for the rows, without refused ones and those with the `key`, an attribute, of an
        earlier row.
        """
        found: list[Wanted] = []
        for place, fields in batch:
            each = read(place, fields)
            fault = each if isinstance(each, str) else self._repeated(str(getattr(each, key)))
            if fault:
                self._report.refuse(self._kind, place, fault)
            elif not isinstance(each, str):
                found.append(each)
        return found

    def _repeated(self, key: str) -> str | None:
        if key in self._seen:
            return f"{key} occurs earlier in this source"
        self._seen.add(key)
        return None

    def _mapped(self, row: Row, kinds: Mapping[str, Kind]) -> RowData | None:
        try:
            if row.fault:
                raise BadCell(row.fault)
            return fields_of(row.value, self._source, kinds)
        except BadCell as error:
            self._report.refuse(self._kind, row.place, str(error))
            return None

    async def _resolved(self, project: Project | None, batch: list[Placed]) -> list[Placed]:
        rows = [fields for _, fields in batch]
        faults = await resolve(project, self._source, rows, dry_run=self._report.dry_run)
        for (place, _), fault in zip(batch, faults, strict=True):
            if fault:
                self._report.refuse(self._kind, place, fault)
        return [placed for placed, fault in zip(batch, faults, strict=True) if not fault]


@asynccontextmanager
async def one_behind() -> AsyncIterator[Callable[[Coroutine[Any, Any, None]], Awaitable[None]]]:
    """A function that starts work once the work before it is done: a batch is stored while the next one is read."""
    running: asyncio.Task[None] | None = None

    async def start(work: Coroutine[Any, Any, None]) -> None:
        nonlocal running
        try:
            if running is not None:
                await running
        except BaseException:
            work.close()
            raise
        running = asyncio.create_task(work)

    try:
        yield start
    finally:
        if running is not None:
            await running

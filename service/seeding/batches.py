"""Rows in batches: read, mapped, cells of text read as their types, references resolved.

A row that cannot be read is refused and does not stop the rest.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from service.domain.projects.lookup import Project
from service.errors import Invalid
from service.schema.csv_text import read_cell, type_of
from service.schema.values import Kind
from service.seeding.manifest import Source
from service.seeding.references import resolve
from service.seeding.report import Report
from service.seeding.sources import Row, read_rows

# A batch ends with so many rows, or with the row that makes it so large.
BATCH = 1_000
BATCH_BYTES = 16 * 1024 * 1024

RowData = dict[str, Any]
Placed = tuple[str, RowData]
Wanted = TypeVar("Wanted")
ABSENT = object()


class BadCell(ValueError):
    """A row that cannot be read; the message names the field and the change to make."""


def fields_of(row: Mapping[str, Any], source: Source, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The record's fields. `kinds` are the declared types of a collection, which the `types` of the source override.

    Cells of CSV files are converted, an empty one is an absent field. JSON values have their own types, unless `types`
    gives others. Raises BadCell.
    """
    taken = {name: _at(row, path) for name, path in source.fields.items()} if source.fields else dict(row)
    present = {name: value for name, value in taken.items() if value is not ABSENT}
    if source.file is not None and source.file.suffix == ".csv":
        types = {name: type_of(kind) for name, kind in kinds.items()} | source.types
        return {name: _read(name, value, types.get(name, "string")) for name, value in present.items() if value != ""}
    named = {name: _read(name, _text(present[name]), type_) for name, type_ in source.types.items() if name in present}
    return present | {name: value for name, value in named.items() if present[name] is not None}


def _at(row: Mapping[str, Any], path: str) -> Any:
    """The value at a column of that very name, else at a dotted path."""
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return ABSENT
        value = value[part]
    return value


def _read(name: str, text: str, type_: str) -> Any:
    try:
        return read_cell(text, type_)
    except (ValueError, KeyError, Invalid):
        raise BadCell(f"{name}: {json.dumps(text[:40], ensure_ascii=False)} is not {type_}") from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


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

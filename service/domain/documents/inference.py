"""Reads the beginning of a file, CSV or NDJSON, and proposes the schema of a collection for it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from service.bounds import MAX_INFER_BYTES, MAX_INFER_COLUMNS, MAX_INFER_LINES, MAX_INFER_ROWS
from service.domain.documents.import_rows import BODY, FileFormat, Layout, read_json_line, read_record
from service.errors import Invalid, Violation
from service.schema.csv_text import BadRecord
from service.schema.inference import Column, name_columns, type_of_value
from service.schema.lines import LineCutter, RecordJoiner, TextLine

# Cells after which others have their turn, and bytes that are cut into lines at once.
CELLS_AT_ONCE = 2_000
PIECE_BYTES = 65_536

Feed = Callable[[TextLine], int]


@dataclass(frozen=True, slots=True)
class Inferred:
    """The columns of a file, and the number of the rows that were looked at."""

    columns: list[Column]
    rows: int


async def infer_schema(raw: bytes, layout: Layout) -> Inferred:
    """Looks at up to MAX_INFER_ROWS rows. A body of MAX_INFER_BYTES is the beginning of a file, whose last line is cut.

    Raises Invalid for what is no such file.
    """
    is_cut = len(raw) >= MAX_INFER_BYTES
    reader = CsvColumns(layout.delimiter) if layout.format is FileFormat.CSV else JsonColumns()
    cells = 0
    for number, line in enumerate(_lines(raw, reader.joiner, is_cut=is_cut)):
        if reader.rows >= MAX_INFER_ROWS or number >= MAX_INFER_LINES:
            break
        cells += reader.feed(line) + 1
        if cells >= CELLS_AT_ONCE:
            cells = 0
            await asyncio.sleep(0)
    return Inferred(reader.finish(), reader.rows)


def _lines(raw: bytes, joiner: RecordJoiner | None, *, is_cut: bool) -> Iterator[TextLine]:
    """The lines, or records; without the last one of a file that is cut."""
    cutter = LineCutter()
    for start in range(0, len(raw), PIECE_BYTES):
        for line in cutter.feed(raw[start : start + PIECE_BYTES]):
            yield from (line,) if joiner is None else joiner.feed(line)
    if is_cut:
        return
    for line in cutter.end():
        yield from (line,) if joiner is None else joiner.feed(line)
    if joiner is not None:
        yield from joiner.end()


class CsvColumns:
    """Columns of CSV. Records with another number of cells than the header are left to the import to refuse."""

    def __init__(self, delimiter: str) -> None:
        self.joiner: RecordJoiner | None = RecordJoiner(delimiter)
        self.rows = 0
        self._delimiter = delimiter
        self._columns: list[Column] | None = None

    def feed(self, record: TextLine) -> int:
        """The number of cells that were looked at. Raises Invalid."""
        try:
            cells = read_record(record, self._delimiter)
        except BadRecord as error:
            raise Invalid.one(BODY, f"The record of line {record.number} {error}", type_="csv_invalid") from None
        if self._columns is None:
            self._columns = _read_header(cells)
        elif len(cells) == len(self._columns):
            self.rows += 1
            for column, text in zip(self._columns, cells, strict=True):
                column.see_cell(text)
        return len(cells)

    def finish(self) -> list[Column]:
        """Raises Invalid for a file without a header."""
        if self._columns is None:
            raise Invalid.one(BODY, "The header is missing: the first line names the fields", type_="missing")
        return self._columns


def _read_header(headers: list[str]) -> list[Column]:
    """Raises Invalid."""
    if not headers:
        raise Invalid.one(BODY, "The header is missing: the first line names the fields", type_="missing")
    _check_number(len(headers))
    repeated = sorted(name for name, times in Counter(headers).items() if times > 1)
    if repeated:
        msg = "A column may occur only once in the header"
        raise Invalid(Violation((*BODY, name), msg, "repeated") for name in repeated)
    return [Column(header, name) for header, name in zip(headers, name_columns(headers), strict=True)]


def _check_number(columns: int) -> None:
    """Raises Invalid."""
    if columns > MAX_INFER_COLUMNS:
        raise Invalid.one(BODY, f"A file has at most {int(MAX_INFER_COLUMNS)} columns", type_="too_many_columns")


class JsonColumns:
    """Columns of NDJSON, whose lines are those of an import. Their names are fields already."""

    def __init__(self) -> None:
        self.joiner: RecordJoiner | None = None
        self.rows = 0
        self._columns: dict[str, Column] = {}

    def feed(self, line: TextLine) -> int:
        """The number of values that were looked at. Raises Invalid."""
        row = read_json_line(line)
        if row is None:
            return 0
        if row.violations:
            raise Invalid(row.violations)
        _check_number(len(row.data.keys() | self._columns.keys()))
        for name, value in row.data.items():
            if name not in self._columns:
                self._columns[name] = Column(name, name_columns([name])[0], empty=self.rows)
            self._see(self._columns[name], value)
        for name in self._columns.keys() - row.data.keys():
            self._columns[name].empty += 1
        self.rows += 1
        return len(self._columns)

    def _see(self, column: Column, value: Any) -> None:
        if value is None:
            column.empty += 1
        else:
            column.see(value if isinstance(value, str) else orjson.dumps(value).decode(), type_of_value(value))

    def finish(self) -> list[Column]:
        return list(self._columns.values())

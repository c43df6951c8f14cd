"""The rows of an import: read from its body, NDJSON or CSV, and the document that each of them means."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from urllib.parse import quote

from service.bounds import MAX_IMPORT_BYTES, MAX_ROW_BYTES, MAX_VALUES
from service.domain.collections.catalog import DeclaredCollection
from service.domain.documents.documents import Documents
from service.errors import DuplicateValue, Invalid, Location, ServiceError, TooLarge, Violation
from service.schema.csv_text import COMMA, QUOTED_CELLS, BadRecord, parse_record, read_cells
from service.schema.documents import read
from service.schema.fields import Fields
from service.schema.lines import LineCutter, RecordJoiner, TextLine
from service.schema.strict_json import loads

BODY: Location = ("body",)
DATA: Location = ("body", "data")
# Members of an export beside `data` that an import ignores.
IGNORED = frozenset({"id", "created_at", "updated_at", "version"})
# After so many lines, others have their turn.
LINES_AT_ONCE = 50
TOO_LONG = f"The line has more than {MAX_ROW_BYTES:,} bytes"


class FileFormat(Enum):
    NDJSON = "ndjson"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a file: its format, and the character between the cells of CSV."""

    format: FileFormat
    delimiter: str = COMMA


@dataclass(frozen=True, slots=True)
class ImportRow:
    """A row and the number of its first line; one that is no document has no `data` but `violations`. `size` is in bytes."""

    line: int
    data: Mapping[str, Any]
    violations: list[Violation] = field(default_factory=list)
    size: int = 0


ReadLine = Callable[[TextLine], ImportRow | None]


async def read_rows(stream: AsyncIterator[bytes], layout: Layout, fields: Fields) -> AsyncIterator[ImportRow]:
    """The rows of a body. Raises TooLarge; and Invalid for a CSV header that names what is no field."""
    is_csv = layout.format is FileFormat.CSV
    read: ReadLine = CsvReader(fields, layout.delimiter).read if is_csv else read_json_line
    number = 0
    async for line in _lines(stream, RecordJoiner(layout.delimiter) if is_csv else None):
        if (row := read(line)) is not None:
            yield row
        number += 1
        if number % LINES_AT_ONCE == 0:
            await asyncio.sleep(0)
    if is_csv and not number:
        raise Invalid.one(BODY, "The header is missing: the first line names the fields", type_="missing")


async def _lines(stream: AsyncIterator[bytes], joiner: RecordJoiner | None) -> AsyncIterator[TextLine]:
    cutter, received = LineCutter(), 0
    async for chunk in stream:
        received += len(chunk)
        if received > MAX_IMPORT_BYTES:
            raise TooLarge(f"An import may have at most {MAX_IMPORT_BYTES:,} bytes")
        for line in _joined(cutter.feed(chunk), joiner):
            yield line
    for line in _joined(cutter.end(), joiner):
        yield line
    if joiner is not None:
        for line in joiner.end():
            yield line


def _joined(lines: Iterator[TextLine], joiner: RecordJoiner | None) -> Iterator[TextLine]:
    if joiner is None:
        yield from lines
        return
    for line in lines:
        yield from joiner.feed(line)


def read_json_line(line: TextLine) -> ImportRow | None:
    """`{"data": {...}}`; None of a blank line."""
    if line.raw is None:
        return _refused(line, BODY, TOO_LONG, "too_long")
    if not line.raw.strip():
        return None
    try:
        return ImportRow(line.number, _data(loads(line.raw, max_values=MAX_VALUES)), size=len(line.raw))
    except Invalid as error:
        return ImportRow(line.number, {}, error.violations)


def _data(value: Any) -> dict[str, Any]:
    """Raises Invalid."""
    if not isinstance(value, dict):
        raise Invalid.one(BODY, "The line must be a JSON object", type_="dict_type")
    if unknown := value.keys() - IGNORED - {"data"}:
        msg = "A line has data, and may have the other names of a document, which are not read"
        raise Invalid([Violation((*BODY, name), msg, "extra_forbidden") for name in sorted(unknown)])
    if "data" not in value:
        raise Invalid.one(DATA, "Field required", type_="missing")
    if not isinstance(value["data"], dict):
        raise Invalid.one(DATA, "Input should be a valid dictionary", type_="dict_type")
    data: dict[str, Any] = value["data"]
    return data


class CsvReader:
    """Rows of CSV, whose first record names the fields."""

    def __init__(self, fields: Fields, delimiter: str = COMMA) -> None:
        self._delimiter = delimiter
        self._kinds = {name: each.kind for name, each in fields.items()}
        self._names: list[str] | None = None

    def read(self, record: TextLine) -> ImportRow | None:
        """None of the header and of blank lines. Raises Invalid for a header that is none."""
        try:
            cells = read_record(record, self._delimiter)
        except BadRecord as error:
            if self._names is None:
                raise Invalid.one(BODY, f"The header {error}", type_="csv_invalid") from None
            return _refused(record, BODY, f"The record {error}", "csv_invalid")
        if self._names is None:
            self._names = self._header(cells)
            return None
        return self._row(record, cells) if cells else None

    def _header(self, names: list[str]) -> list[str]:
        unknown = [name for name in names if name not in self._kinds]
        msg = "The collection has no such field" + (self._other_delimiter(names[0]) if len(names) == 1 else "")
        repeated = [] if unknown else sorted(name for name, times in Counter(names).items() if times > 1)
        if violations := [
            *(Violation((*BODY, name), msg, "unknown_column") for name in unknown),
            *(Violation((*BODY, name), "A column may occur only once in the header", "repeated") for name in repeated),
        ]:
            raise Invalid(violations)
        if not names:
            raise Invalid.one(BODY, "The header is missing: the first line names the fields", type_="missing")
        return names

    def _other_delimiter(self, header: str) -> str:
        """The end of a sentence that proposes the delimiter by which the only cell of a header is names of fields."""
        fitting = (each for each in QUOTED_CELLS if set(header.split(each)) <= self._kinds.keys())
        return next((f"; send delimiter={quote(each)} for this header" for each in fitting), "")

    def _row(self, record: TextLine, cells: list[str]) -> ImportRow:
        names = self._names or []
        if len(cells) != len(names):
            msg = f"The record has {len(cells)} cells, and the header has {len(names)}"
            return _refused(record, BODY, msg, "csv_ragged")
        data = read_cells(dict(zip(names, cells, strict=True)), self._kinds)
        return ImportRow(record.number, data, size=len(record.raw or b""))


def read_record(record: TextLine, delimiter: str) -> list[str]:
    """The cells of a record. Raises BadRecord."""
    if record.raw is None:
        raise BadRecord(f"has more than {MAX_ROW_BYTES:,} bytes; is a quote not closed?")
    try:
        return parse_record(record.raw.decode("utf-8-sig" if record.number == 1 else "utf-8"), delimiter)
    except UnicodeDecodeError:
        raise BadRecord("is not UTF-8") from None


def _refused(line: TextLine, loc: Location, msg: str, type_: str) -> ImportRow:
    return ImportRow(line.number, {}, [Violation(loc, msg, type_)])


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The target of rows: each is a new document, or with a unique field `by` replaces the one with its value."""

    documents: Documents
    collection: DeclaredCollection
    by: str | None

    def key_of(self, row: ImportRow) -> Any:
        """The key of the document that the row means."""
        by = self.by or ""
        return key(read({by: row.data[by]}, self.collection.fields)[by])

    def find_key_fault(self, row: ImportRow) -> Violation | None:
        """The reason why no document can be found by the row's value."""
        by = self.by or ""
        value = row.data.get(by)
        if value is None:
            return Violation(("body", "data", by), "Field required", "missing")
        if isinstance(value, dict | list):
            return Violation(("body", "data", by), "Must be one value, for the document is found by it", "value_error")
        return None


async def find_ids(target: ImportTarget, rows: Sequence[ImportRow]) -> dict[Any, str]:
    """Key → the id of the document that is there, for those that the rows mean."""
    by = target.by or ""
    values = [read({by: row.data[by]}, target.collection.fields)[by] for row in rows]
    found = await target.documents.find_by_values({by: values})
    return {key(document.data.get(by)): document.id for document in found}


def key(value: Any) -> Any:
    """The key of a value in a dict: MongoDB's unique index takes 1 and 1.0 as one, and true as another."""
    return (isinstance(value, bool), value) if isinstance(value, int | float) else repr(value)


def violations_of(error: ServiceError) -> list[Violation]:
    """The error of a single write, as the violations of a line."""
    if isinstance(error, Invalid):
        return error.violations
    if isinstance(error, DuplicateValue):
        return [Violation(("body", *error.fields[0].split(".")), error.detail, error.code)]
    return [Violation(("body",), error.detail, error.code)]

"""Rows of a source, streamed: no file is held in memory but a .json one, which is one value.

A broken record of a CSV file (RFC 4180) is named, and the next line begins another. Files are read in a thread, some
rows at a time; what a row may be is judged here as the API judges a body.
"""

import asyncio
import csv
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, AnyStr, TextIO

import orjson

from service.bounds import MAX_ROW_BYTES, MAX_VALUES
from service.errors import ConfigurationError, Invalid
from service.schema.csv_text import TOO_LONG, explain
from service.schema.strict_json import loads
from service.seeding.manifest import Source

MAX_JSON_BYTES = 256 * 1024 * 1024
ROWS_AT_ONCE = 100
TOO_LARGE = "has more than 1 MiB"
NO_OBJECT = "must be an object"


@dataclass(frozen=True, slots=True)
class Row:
    """One row and its place, as `people.csv:17` or `users[0].rows[3]`. A faulty one has no `value` but a `fault`.

    `size` is that of its JSON, in bytes.
    """

    place: str
    value: dict[str, Any]
    fault: str | None = None
    size: int = field(default=0, compare=False)


async def read_rows(source: Source, folder: Path, place: str) -> AsyncIterator[Row]:
    """The rows of `source`, whose file lies in `folder`; `place` is the path of `source` in the manifest.

    Raises ConfigurationError for a file that cannot be read at all.
    """
    if source.file is None:
        for number, value in enumerate(source.rows or ()):
            yield make_row(f"{place}.rows[{number}]", value)
        return
    path = folder / source.file
    try:
        with closing(READERS[path.suffix](path)) as rows:
            while some := await asyncio.to_thread(_take, rows):
                for row in some:
                    yield row
    except OSError as error:
        raise ConfigurationError(f"{place}.file: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{place}.file: {path} is not UTF-8") from None


def make_row(place: str, value: Any) -> Row:
    """The row that a value of JSON or YAML is, judged like a body of the API."""
    if not isinstance(value, dict):
        return Row(place, {}, NO_OBJECT)
    if _has_more_values(value, MAX_VALUES):
        return Row(place, {}, f"has more than {MAX_VALUES:,} values")
    return _measure(place, value)


def _measure(place: str, value: dict[str, Any]) -> Row:
    try:
        size = len(orjson.dumps(value))
    except orjson.JSONEncodeError:
        return Row(place, {}, "is nested too deeply")
    return Row(place, value, size=size) if size <= MAX_ROW_BYTES else Row(place, {}, TOO_LARGE)


def _has_more_values(value: Any, most: int) -> bool:
    """True if `value` is more than `most` values. YAML can name one value in many places, even inside itself."""
    found, left = 0, [value]
    while left and found <= most:
        found += 1
        each = left.pop()
        if isinstance(each, dict | list):
            left.extend(each.values() if isinstance(each, dict) else each)
    return found > most


def _take(rows: Iterator[Row]) -> list[Row]:
    return list(islice(rows, ROWS_AT_ONCE))


def _read_json(path: Path) -> Generator[Row, None, None]:
    with path.open("rb") as file:
        raw = file.read(MAX_JSON_BYTES + 1)
    if len(raw) > MAX_JSON_BYTES:
        raise ConfigurationError(f"{path}: larger than 256 MiB; write it as JSON Lines, which is streamed")
    try:
        values = loads(raw)
    except Invalid as error:
        raise ConfigurationError(f"{path}: {error.violations[0].msg}") from None
    if not isinstance(values, list):
        raise ConfigurationError(f"{path}: must be an array of objects")
    for number, value in enumerate(values):
        yield make_row(f"{path.name}[{number}]", value)


def _read_json_lines(path: Path) -> Generator[Row, None, None]:
    number = 0
    with path.open("rb") as file:
        while line := file.readline(MAX_ROW_BYTES + 1):
            number += 1
            place = f"{path.name}:{number}"
            if len(line) > MAX_ROW_BYTES:
                pass_over_line(file, line)
                yield Row(place, {}, TOO_LARGE)
            elif line.strip():
                yield _json_line(place, line)


def _json_line(place: str, line: bytes) -> Row:
    try:
        value = loads(line, max_values=MAX_VALUES)
    except Invalid as error:
        return Row(place, {}, error.violations[0].msg)
    return Row(place, value, size=len(line)) if isinstance(value, dict) else Row(place, {}, NO_OBJECT)


def _read_csv(path: Path) -> Generator[Row, None, None]:
    """RFC 4180 with a header."""
    records = read_records(path)
    header = next(records, None)
    if header is None:
        return
    if header.fault:
        raise ConfigurationError(f"{path}: the header {header.fault}")
    names = header.cells
    if len(set(names)) < len(names):
        raise ConfigurationError(f"{path}: a name occurs twice in the header")
    for record in records:
        place = f"{path.name}:{record.line}"
        if record.fault:
            yield Row(place, {}, record.fault)
        elif len(record.cells) != len(names):
            yield Row(place, {}, f"has {len(record.cells)} cells, and the header has {len(names)}")
        else:
            yield _measure(place, dict(zip(names, record.cells, strict=True)))


READERS = {".json": _read_json, ".jsonl": _read_json_lines, ".csv": _read_csv}


@dataclass(frozen=True, slots=True)
class Record:
    """The cells of one record and the line it begins on. A broken one has no `cells` but a `fault`."""

    line: int
    cells: list[str]
    fault: str | None = None


class CsvLines:
    """The lines of a file as csv.reader asks for them: at most MAX_ROW_BYTES characters of one record."""

    def __init__(self, file: TextIO) -> None:
        self.number = 0
        self._file = file
        self._room = int(MAX_ROW_BYTES)

    def begin_record(self) -> int:
        """The number of the line that comes next."""
        self._room = int(MAX_ROW_BYTES)
        return self.number + 1

    def __iter__(self) -> "CsvLines":
        return self

    def __next__(self) -> str:
        line = self._file.readline(self._room + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > self._room:
            pass_over_line(self._file, line)
            raise csv.Error(TOO_LONG)
        self._room -= len(line)
        return line


def pass_over_line(file: IO[AnyStr], begun: AnyStr) -> None:
    """Reads on to the end of the line of which `begun` was read, without keeping it."""
    while begun and begun[-1:] not in {"\n", b"\n"}:
        begun = file.readline(int(MAX_ROW_BYTES))


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file, its header first; blank lines are skipped. Raises OSError, UnicodeDecodeError.

    Lines end with LF or CR LF; a CR alone ends none, and is a fault outside of quotes.
    """
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        lines = CsvLines(file)
        reader = csv.reader(lines, strict=True)
        while True:
            line = lines.begin_record()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield Record(line, [], explain(str(error)))
                continue
            if len(cells) > 1 or (cells and cells[0].strip()):
                yield Record(line, cells)

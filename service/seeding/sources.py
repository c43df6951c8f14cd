"""Rows of a source, streamed: no file is held in memory but a .json one, which is one value."""

import csv
from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import aiofiles

from service.errors import ConfigurationError, Invalid
from service.schema.strict_json import loads
from service.seeding.manifest import Source

MAX_JSON_BYTES = 256 * 1024 * 1024
PIECE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Row:
    """One row and where it stands, as `people.csv:17` or `users[0].rows[3]`. A faulty one has no `value` but a `fault`."""

    place: str
    value: dict[str, Any]
    fault: str | None = None


async def read_rows(source: Source, folder: Path, place: str) -> AsyncIterator[Row]:
    """The rows of `source`, whose file lies in `folder`; `place` is the path of `source` in the manifest.

    Raises ConfigurationError for a file that cannot be read at all.
    """
    if source.file is None:
        for number, value in enumerate(source.rows or ()):
            yield Row(f"{place}.rows[{number}]", value)
        return
    path = folder / source.file
    readers = {".json": _json, ".jsonl": _json_lines, ".csv": _csv}
    try:
        async for row in readers[path.suffix](path):
            yield row
    except OSError as error:
        raise ConfigurationError(f"{place}.file: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{place}.file: {path} is not UTF-8") from None


async def _json(path: Path) -> AsyncIterator[Row]:
    async with aiofiles.open(path, "rb") as file:
        raw = await file.read(MAX_JSON_BYTES + 1)
    if len(raw) > MAX_JSON_BYTES:
        raise ConfigurationError(f"{path}: larger than 256 MiB; write it as JSON Lines, which is streamed")
    values = _value(raw)
    if not isinstance(values, list):
        raise ConfigurationError(f"{path}: {values if isinstance(values, str) else 'must be an array of objects'}")
    for number, value in enumerate(values):
        yield _row(f"{path.name}[{number}]", value)


async def _json_lines(path: Path) -> AsyncIterator[Row]:
    number = 0
    async for line in _lines(path):
        number += 1
        if line.strip():
            yield _row(f"{path.name}:{number}", _value(line))


async def _csv(path: Path) -> AsyncIterator[Row]:
    """RFC 4180 with a header. A record ends with the first line after which all quotes are closed."""
    header: list[str] | None = None
    record, number, first = "", 0, 1
    async for line in _lines(path):
        number, record = number + 1, record + line.decode()
        if record.count('"') % 2:
            continue
        if header is None:
            header = _cells(record.removeprefix("\ufeff"))
        elif record.strip():
            yield _csv_row(f"{path.name}:{first}", header, record)
        record, first = "", number + 1
    if record:
        yield Row(f"{path.name}:{first}", {}, "a quote is not closed")


async def _lines(path: Path) -> AsyncIterator[bytes]:
    """The lines of a file, with their ends. Read in large pieces, for each read is a trip to a thread."""
    async with aiofiles.open(path, "rb") as file:
        rest = b""
        while piece := await file.read(PIECE_BYTES):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line + b"\n"
        if rest:
            yield rest


def _csv_row(place: str, header: list[str], record: str) -> Row:
    cells = _cells(record)
    if len(cells) != len(header):
        return Row(place, {}, f"has {len(cells)} cells, and the header has {len(header)}")
    return Row(place, dict(zip(header, cells, strict=True)))


def _cells(record: str) -> list[str]:
    return next(csv.reader(StringIO(record, newline="")), [])


def _value(raw: bytes) -> Any:
    """The JSON value, or as text why it is none."""
    try:
        return loads(raw)
    except Invalid as error:
        return error.violations[0].msg


def _row(place: str, value: Any) -> Row:
    if isinstance(value, dict):
        return Row(place, value)
    return Row(place, {}, value if isinstance(value, str) else "must be an object")

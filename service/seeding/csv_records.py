"""Records of a CSV file (RFC 4180), one after the other: a broken one is named, and the next line begins another."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, AnyStr, TextIO

from service.bounds import MAX_ROW_BYTES
from service.schema.csv_text import TOO_LONG, explain


@dataclass(frozen=True, slots=True)
class Record:
    """The cells of one record and the line it begins on. A broken one has no `cells` but a `fault`."""

    line: int
    cells: list[str]
    fault: str | None = None


class Lines:
    """The lines of a file as csv.reader asks for them: at most MAX_ROW_BYTES characters of one record."""

    def __init__(self, file: TextIO) -> None:
        self.number = 0
        self._file = file
        self._room = int(MAX_ROW_BYTES)

    def begin_record(self) -> int:
        """The number of the line that comes next."""
        self._room = int(MAX_ROW_BYTES)
        return self.number + 1

    def __iter__(self) -> "Lines":
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
    """The records of a file, its header first; blank lines are none. Raises OSError, UnicodeDecodeError.

    Lines end with LF or CR LF; a CR alone ends none, and is a fault outside of quotes.
    """
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        lines = Lines(file)
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

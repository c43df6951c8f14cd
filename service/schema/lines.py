"""A body as it comes, cut into lines; and lines put together into the records of CSV. Pure: what holds a line holds 1 MiB."""

from collections.abc import Iterator
from dataclasses import dataclass

from service.bounds import MAX_ROW_BYTES
from service.schema.csv_text import COMMA, is_open_after


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line without its LF, or a CSV record of several; `number` is that of its first line. None stands for a line
    that is too long.
    """

    number: int
    raw: bytes | None


class LineCutter:
    """Bytes in, whole lines out. A line ends with LF, and may keep a CR; the last one may lack its end."""

    def __init__(self) -> None:
        self._number = 0
        self._rest = bytearray()
        self._is_too_long = False

    def feed(self, chunk: bytes) -> Iterator[TextLine]:
        """The lines that end in `chunk`. Nothing is kept of a line that is too long."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._hold(piece)
            yield self._take()
        self._hold(rest)

    def end(self) -> Iterator[TextLine]:
        """The last line, where there is more than nothing of it."""
        if self._rest or self._is_too_long:
            yield self._take()

    def _hold(self, piece: bytes) -> None:
        if self._is_too_long or len(self._rest) + len(piece) > MAX_ROW_BYTES:
            self._is_too_long = True
            self._rest.clear()
        else:
            self._rest += piece

    def _take(self) -> TextLine:
        self._number += 1
        raw = None if self._is_too_long else bytes(self._rest)
        self._is_too_long = False
        self._rest.clear()
        return TextLine(self._number, raw)


class RecordJoiner:
    """Lines in, records of CSV out: a cell in quotes may hold line ends."""

    def __init__(self, delimiter: str = COMMA) -> None:
        self._delimiter = delimiter
        self._begun: TextLine | None = None
        self._held: list[bytes] = []
        self._size = 0
        self._is_too_long = False

    def feed(self, line: TextLine) -> Iterator[TextLine]:
        begun, is_open = self._begun or line, self._begun is not None
        self._hold(line.raw)
        if line.raw is None:
            is_open = False
        elif b'"' in line.raw:
            # Bytes of UTF-8 that are no quotes and commas are neither in Latin-1.
            is_open = is_open_after(line.raw.decode("latin-1"), self._delimiter, is_open=is_open)
        self._begun = begun if is_open else None
        if not is_open:
            yield self._take(begun)

    def end(self) -> Iterator[TextLine]:
        """The record of a cell that was never closed."""
        if self._begun is not None:
            yield self._take(self._begun)

    def _hold(self, raw: bytes | None) -> None:
        self._size += len(raw or b"") + 1
        if raw is None or self._size > MAX_ROW_BYTES + 1:
            self._is_too_long = True
            self._held.clear()
        elif not self._is_too_long:
            self._held.append(raw)

    def _take(self, begun: TextLine) -> TextLine:
        raw = None if self._is_too_long else b"\n".join(self._held)
        self._held, self._size, self._is_too_long = [], 0, False
        return TextLine(begun.number, raw)

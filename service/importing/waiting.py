"""Fields of imported documents that are set once all documents are there, in a file on disk."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

import orjson


@dataclass(frozen=True, slots=True)
class Waiting:
    """Fields of a document that are set when all documents are there. A `new` one is not stored yet."""

    target: str
    id: str
    line: int
    data: Mapping[str, Any]
    files: Mapping[str, Sequence[str]]
    new: bool = False


class WaitingList:
    """Waits in a temporary file, which has no name and goes with the process."""

    def __init__(self) -> None:
        self._file: IO[bytes] = TemporaryFile()  # noqa: SIM115 - `close` closes it

    def add(self, waiting: Waiting) -> None:
        self._file.write(orjson.dumps(waiting, option=orjson.OPT_APPEND_NEWLINE))

    def read(self) -> Iterator[Waiting]:
        self._file.seek(0)
        for line in self._file:
            yield Waiting(**orjson.loads(line))

    def close(self) -> None:
        self._file.close()

"""How much the records of a batch's answer may be together: each operation gives a whole one back, however often the same."""

from collections.abc import Iterable

import orjson

from service.bounds import MAX_BATCH_ANSWER_BYTES
from service.domain.batches.steps import Done
from service.errors import TooLarge
from service.storage.documents import Document

FULL = f"The records before this operation are more than {MAX_BATCH_ANSWER_BYTES:,} bytes together"


class Room:
    """What is left for the answer of one batch."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = int(MAX_BATCH_ANSWER_BYTES)

    def check(self, position: int) -> None:
        """Raises TooLarge, at the operation that would be next, where nothing is left."""
        if self._left <= 0:
            raise TooLarge(FULL).at(position)

    def take(self, done: Iterable[Done]) -> None:
        self._left -= sum(map(_size_of, done))


def _size_of(done: Done) -> int:
    """In bytes of JSON."""
    if done.user is not None:
        return len(orjson.dumps(done.user, default=str))
    return len(orjson.dumps(done.document.data, default=str)) if isinstance(done.document, Document) else 0

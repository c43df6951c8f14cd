"""The operations of a batch, their results, and the room that those have in its answer."""

from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from service.bounds import MAX_BATCH_ANSWER_BYTES
from service.domain.documents.writes import Operation, Written
from service.errors import TooLarge
from service.query.populate import Row
from service.storage.documents import StoredDocument

FULL = f"The records before this operation are more than {MAX_BATCH_ANSWER_BYTES:,} bytes together"


@dataclass(frozen=True, slots=True)
class Step:
    """One operation on a collection, or on `users`. `refers_to` are the ids of earlier steps' documents that it names."""

    collection: str
    operation: Operation
    refers_to: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Done:
    """The status of an operation that was done, and the document, or the row of a user, afterwards."""

    status: int
    document: Written | None = None
    user: Row | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A result that was kept for a replay: its status and the id of its record. A document may have been hidden then."""

    status: int
    id: str | None
    was_shown: bool


class AnswerRoom:
    """The bytes that are left for the records of a batch's answer: each operation returns a whole one."""

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
    return len(orjson.dumps(done.document.data, default=str)) if isinstance(done.document, StoredDocument) else 0

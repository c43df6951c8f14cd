"""A generated text with its parts by collection, and the room that it may take. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from service.bounds import MAX_CONTRACT_BYTES
from service.errors import TooLarge

TOO_LARGE = f"The contract of this project has more than {MAX_CONTRACT_BYTES:,} bytes"


@dataclass(frozen=True, slots=True)
class WrittenTypes:
    """`parts` has the pieces of the text that are about one collection, or about `users`."""

    text: str
    parts: Mapping[str, tuple[str, ...]]


class Room:
    """The bytes that the parts of one text may still take."""

    __slots__ = ("_left", "_refusal")

    def __init__(self, refusal: str = TOO_LARGE) -> None:
        self._left = int(MAX_CONTRACT_BYTES)
        self._refusal = refusal

    def take(self, part: str) -> str:
        """`part`. Raises TooLarge where it is too much."""
        self.take_bytes(len(part.encode()))
        return part

    def take_bytes(self, number: int) -> None:
        """Raises TooLarge where so many bytes are too much."""
        self._left -= number
        if self._left < 0:
            raise TooLarge(self._refusal)

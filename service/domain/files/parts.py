"""The parts of a form, as they arrive: one after the other, each read only when the one before was."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DataPart:
    """The JSON object of the part `data`."""

    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file for the field `field`; `content` gives its bytes once, as the client sends them."""

    field: str
    file_name: str
    content: AsyncIterator[bytes]


FormPart = DataPart | FilePart
FormParts = AsyncIterator[FormPart]

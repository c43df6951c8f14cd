"""Multipart forms: which fields of the data are files, and the bytes of the form, part by part."""

import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from auth_collections_client.encoding import json_bytes
from auth_collections_client.errors import ConfigurationError
from auth_collections_client.narrow import list_of
from auth_collections_client.values import File

# Bytes of one part of a body; a progress is counted by them.
CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Part:
    """The head of a part and its content: bytes, or a file with the place where it begins and its length."""

    head: bytes
    content: bytes | BinaryIO | Path
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Form:
    """A form that can be read several times, from its beginning each time."""

    boundary: str
    parts: tuple[Part, ...]

    @property
    def content_type(self) -> str:
        return f"multipart/form-data; boundary={self.boundary}"

    @property
    def length(self) -> int:
        return sum(len(part.head) + part.length + 2 for part in self.parts) + len(self.boundary) + 6

    def chunks(self) -> Iterator[bytes]:
        """Yields the form's bytes, a small form as one chunk: an early refusal must not meet an unfinished body.

        Raises ConfigurationError where a file is shorter than when the call began.
        """
        gathered = bytearray()
        for piece in self._pieces():
            gathered += piece
            if len(gathered) >= CHUNK:
                yield bytes(gathered)
                gathered.clear()
        yield bytes(gathered)

    def _pieces(self) -> Iterator[bytes]:
        for part in self.parts:
            yield part.head
            yield from _content(part)
            yield b"\r\n"
        yield f"--{self.boundary}--\r\n".encode()


def split_files(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, File]]]:
    """Returns the fields that are JSON and those that are files. Kept URLs of a list stay, its new files follow them."""
    rest: dict[str, Any] = {}
    files: list[tuple[str, File]] = []
    for name, value in data.items():
        found = [value] if isinstance(value, File) else _files_of(value)
        files += [(name, each) for each in found]
        if not found:
            rest[name] = value
        elif not isinstance(value, File) and len(found) < len(value):
            rest[name] = [each for each in value if not isinstance(each, File)]
    return rest, files


def _files_of(value: Any) -> list[File]:
    return [each for each in list_of([*value] if isinstance(value, tuple) else value) if isinstance(each, File)]


def make_form(data: Mapping[str, Any], files: list[tuple[str, File]]) -> Form:
    """Returns the form of the fields and files. Raises ConfigurationError for a file that cannot be read again."""
    boundary = secrets.token_hex(16)
    parts = [_part(boundary, "data", None, json_bytes(data))]
    parts += [_part(boundary, name, file.name, file.content) for name, file in files]
    return Form(boundary, tuple(parts))


def _part(boundary: str, name: str, file_name: str | None, content: bytes | BinaryIO | Path) -> Part:
    named = f'; filename="{_quoted(file_name)}"\r\ncontent-type: application/octet-stream' if file_name else ""
    head = f'--{boundary}\r\ncontent-disposition: form-data; name="{_quoted(name)}"{named}\r\n\r\n'.encode()
    return Part(head, content, *_extent(content))


def _quoted(text: str) -> str:
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _extent(content: bytes | BinaryIO | Path) -> tuple[int, int]:
    if isinstance(content, bytes):
        return 0, len(content)
    if isinstance(content, Path):
        return 0, content.stat().st_size
    if not content.seekable():
        raise ConfigurationError("A file to upload must be seekable: read it into bytes, or give its path.")
    start = content.tell()
    length = content.seek(0, os.SEEK_END) - start
    content.seek(start)
    return start, length


def _content(part: Part) -> Iterator[bytes]:
    if isinstance(part.content, bytes):
        yield from (part.content[at : at + CHUNK] for at in range(0, part.length, CHUNK))
    elif isinstance(part.content, Path):
        with part.content.open("rb") as file:
            yield from _exactly(file, part)
    else:
        part.content.seek(part.start)
        yield from _exactly(part.content, part)


def _exactly(file: BinaryIO, part: Part) -> Iterator[bytes]:
    left = part.length
    while left:
        chunk = file.read(min(CHUNK, left))
        if not chunk:
            raise ConfigurationError("A file became shorter while it was uploaded.")
        left -= len(chunk)
        yield chunk

"""Accepted files: judged by the last extension of their name, and by their bytes as they stream past.

Pure; nothing here keeps more of a file than a bounded piece.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Protocol

import puremagic

from service.domain.files.content_checks import BadContent, DocxCheck, OleWordCheck, SvgCheck

# The longest magic number of the accepted types ends at byte 12; the library wants a few more to tell them apart.
MAGIC_BYTES = 64


class Check(Protocol):
    """Sees every byte of one file, in order; both calls raise BadContent as soon as the file cannot be of its type."""

    def feed(self, piece: bytes) -> None: ...

    def finish(self) -> None: ...


class MagicCheck:
    """The first bytes must be what a maintained table of magic numbers knows the extension by."""

    def __init__(self, extension: str, inner: Check | None = None) -> None:
        self._extension = extension
        self._inner = inner
        self._head: bytearray | None = bytearray()

    def feed(self, piece: bytes) -> None:
        if self._head is not None:
            self._head += piece[: MAGIC_BYTES - len(self._head)]
            if len(self._head) == MAGIC_BYTES:
                self._judge(bytes(self._head))
        if self._inner:
            self._inner.feed(piece)

    def finish(self) -> None:
        if self._head is not None:
            self._judge(bytes(self._head))
        if self._inner:
            self._inner.finish()

    def _judge(self, head: bytes) -> None:
        self._head = None
        if f".{self._extension}" not in known_extensions(head):
            raise BadContent(f"the content is not {self._extension}")


def known_extensions(head: bytes) -> Set[str]:
    """The extensions, with their dots, of the formats whose magic number `head` begins with, the most certain only.

    The less certain ones are guesses: the table names webp for every file that begins with RIFF.
    """
    try:
        matches = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return frozenset()
    certain = max(match.confidence for match in matches)
    return {match.extension for match in matches if match.confidence == certain}


@dataclass(frozen=True, slots=True)
class FileType:
    """One accepted type: how it is sent back, and the check its bytes must pass."""

    media_type: str
    shown_inline: bool
    check: Callable[[], Check]


# Only raster images are shown in place: everything else can carry scripts or links and is offered as a download.
FILE_TYPES = {
    "jpg": FileType("image/jpeg", True, lambda: MagicCheck("jpg")),
    "jpeg": FileType("image/jpeg", True, lambda: MagicCheck("jpeg")),
    "png": FileType("image/png", True, lambda: MagicCheck("png")),
    "gif": FileType("image/gif", True, lambda: MagicCheck("gif")),
    "webp": FileType("image/webp", True, lambda: MagicCheck("webp")),
    "svg": FileType("image/svg+xml", False, SvgCheck),
    "pdf": FileType("application/pdf", False, lambda: MagicCheck("pdf")),
    "doc": FileType("application/msword", False, lambda: MagicCheck("doc", OleWordCheck())),
    "docx": FileType(
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        False,
        DocxCheck,
    ),
}


def extension(file_name: str) -> str:
    """The text behind the last dot, in lower case: `a.php.PNG` → `png`; `""` without a dot or without text behind it."""
    return file_name.rpartition(".")[2].lower() if "." in file_name else ""

"""Checks of SVG and Word files as they stream past, for which the first bytes are not enough.

An SVG is well-formed XML with an `svg` root, and holds nothing that could harm a parser elsewhere. Word files are the OLE
files of Word 97 to 2003, and the zip files of Word 2007 and later.
"""

import io
import struct
import zipfile
from typing import Any
from xml.parsers import expat

SVG_ROOTS = frozenset({"svg", "http://www.w3.org/2000/svg svg"})
# The parser gets small pieces, so that the bytes it holds of an unfinished tag are known to within one of them.
PIECE_BYTES = 16_384
# The parser keeps each tag until it ends, and each name for ever: these bound its memory.
MAX_TAG_BYTES = 2_097_152
MAX_NAMES = 4_096
MAX_DEPTH = 256
# Every attribute has a `=`; an embedded image, the one reason for a long tag, has three.
MAX_ATTRIBUTES = 4_096
# [MS-DOC] section 2.1.1: every Word file holds a stream of this name. [MS-CFB] section 2.6.1: names are UTF-16, and a
# directory entry has 128 bytes, begins with its name and stands at a multiple of 128 in the file.
WORD_STREAM = "WordDocument\0".encode("utf-16-le")
DIRECTORY_ENTRY_BYTES = 128
# APPNOTE.TXT section 4.3.7: a local file header. A zip file that begins with anything else has something put before it.
ZIP_ENTRY = b"PK\x03\x04"
# The directory of a zip file stands at its end, 46 bytes and a name for each entry: this holds more than 1,500 entries.
ZIP_DIRECTORY_BYTES = 131_072


class BadContent(ValueError):
    """A file's content does not match its name; the message completes a sentence about it: "the content is not png"."""


class SvgCheck:
    """Feeds a parser that refuses document types and entities, which is where the attacks of XML are."""

    def __init__(self) -> None:
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.ordered_attributes = True
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.EntityDeclHandler = _refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartNamespaceDeclHandler = self._remember
        self._names: set[str | None] = set()
        self._depth = 0
        self._fed = 0
        self._tag_began = 0
        self._equals_signs = 0

    def feed(self, piece: bytes) -> None:
        for start in range(0, len(piece), PIECE_BYTES):
            self._parse(piece[start : start + PIECE_BYTES], is_last=False)

    def finish(self) -> None:
        self._parse(b"", is_last=True)

    def _parse(self, piece: bytes, *, is_last: bool) -> None:
        try:
            self._parser.Parse(piece, is_last)
        except BadContent:
            raise
        # Besides its own errors, the parser raises what Python's codecs do for an encoding it does not know.
        except (expat.ExpatError, ValueError, LookupError):
            raise BadContent("the content is not well-formed SVG") from None
        self._fed += len(piece)
        self._bound_tag(piece)

    def _bound_tag(self, piece: bytes) -> None:
        began = self._parser.CurrentByteIndex
        if began != self._tag_began:
            self._tag_began, self._equals_signs = began, 0
        self._equals_signs += piece.count(b"=")
        if self._fed - began > MAX_TAG_BYTES:
            raise BadContent("one tag or comment of the SVG is longer than 2 MiB")
        if self._fed - began > 2 * PIECE_BYTES and self._equals_signs > MAX_ATTRIBUTES:
            raise BadContent("one tag of the SVG has too many attributes")

    def _start(self, name: str, attributes: list[Any]) -> None:
        if not self._depth and name not in SVG_ROOTS:
            raise BadContent("the root element is not svg")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadContent(f"the SVG is nested more than {MAX_DEPTH} deep")
        self._names.update((name, *attributes[::2]))
        self._bound_names()

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _remember(self, prefix: str | None, uri: str | None) -> None:
        self._names.update((prefix, uri))
        self._bound_names()

    def _bound_names(self) -> None:
        if len(self._names) > MAX_NAMES:
            raise BadContent(f"the SVG has more than {MAX_NAMES} different names")


def _refuse_doctype(*_: object) -> None:
    raise BadContent("the SVG has a DOCTYPE or an entity; remove it")


class OleWordCheck:
    """An OLE file must have a directory entry `WordDocument`, which tells it from a workbook or an installer."""

    def __init__(self) -> None:
        self._carried = b""
        self._offset = 0
        self._found = False

    def feed(self, piece: bytes) -> None:
        if not self._found:
            window = self._carried + piece
            self._found = self._stands_in(window)
            self._carried = window[-len(WORD_STREAM) + 1 :]
            self._offset += len(window) - len(self._carried)

    def _stands_in(self, window: bytes) -> bool:
        at = window.find(WORD_STREAM)
        while at >= 0 and (self._offset + at) % DIRECTORY_ENTRY_BYTES:
            at = window.find(WORD_STREAM, at + 1)
        return at >= 0

    def finish(self) -> None:
        if not self._found:
            raise BadContent("the content is not a Word document")


class DocxCheck:
    """A zip file must list `[Content_Types].xml` and something under `word/` in the directory at its end.

    The directory, not the headers before each entry, is what programs that open the file go by, so only the end of the
    file is kept.
    """

    def __init__(self) -> None:
        self._end = bytearray()
        self._length = 0
        self._start = b""

    def feed(self, piece: bytes) -> None:
        if len(self._start) < len(ZIP_ENTRY):
            self._start = (self._start + piece)[: len(ZIP_ENTRY)]
            self._begins_as_zip()
        self._end += piece
        self._length += len(piece)
        if len(self._end) > 2 * ZIP_DIRECTORY_BYTES:
            del self._end[:-ZIP_DIRECTORY_BYTES]

    def _begins_as_zip(self) -> None:
        if not ZIP_ENTRY.startswith(self._start):
            raise BadContent("the content is not a zip file")

    def finish(self) -> None:
        names = self._names()
        if "[Content_Types].xml" not in names or not any(name.startswith("word/") for name in names):
            raise BadContent("the zip file is not a Word document")

    def _names(self) -> list[str]:
        try:
            with zipfile.ZipFile(_End(bytes(self._end), self._length)) as archive:
                return archive.namelist()
        except (zipfile.BadZipFile, struct.error, NotImplementedError, ValueError, OSError, OverflowError):
            raise BadContent("the content is not a whole zip file") from None


class _End(io.RawIOBase):
    """A file of `length` bytes of which only the last ones are there."""

    def __init__(self, end: bytes, length: int) -> None:
        self._end = end
        self._length = length
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._length}[whence]
        if start + offset < 0:
            raise OSError("before the beginning of the file")
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, target: Any) -> int:
        start = self._position - (self._length - len(self._end))
        if start < 0:
            raise OSError("this part of the file was not kept")
        view = memoryview(target)
        piece = self._end[start : start + len(view)]
        view[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

"""SVG as it streams past: well-formed XML with an `svg` root, and nothing that a parser elsewhere could be harmed by."""

from typing import Any
from xml.parsers import expat

from service.domain.files.bad_content import BadContent

SVG_ROOTS = frozenset({"svg", "http://www.w3.org/2000/svg svg"})
# The parser gets small pieces, so that the bytes it holds of an unfinished tag are known to within one of them.
PIECE_BYTES = 16_384
# The parser keeps each tag until it ends, and each name for ever: these bound its memory.
MAX_TAG_BYTES = 2_097_152
MAX_NAMES = 4_096
MAX_DEPTH = 256
# Every attribute has a `=`; an embedded image, the one reason for a long tag, has three.
MAX_ATTRIBUTES = 4_096


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

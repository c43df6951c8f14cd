"""multipart/form-data (RFC 7578) as a stream of parts: the socket is read only as fast as the parts are consumed."""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from service.bounds import MAX_JSON_BYTES, MAX_VALUES
from service.domain.files.parts import DataPart, FilePart, FormPart
from service.errors import Invalid, Location, TooLarge
from service.schema.strict_json import loads

DATA = "data"
# RFC 2046 section 5.1.1 allows a boundary so many characters.
MAX_BOUNDARY = 70
# RFC 7578 section 4.7 deprecates encodings; these are the ones that change nothing.
IDENTITY_ENCODINGS = frozenset({b"", b"7bit", b"8bit", b"binary"})
BODY: Location = ("body",)


@dataclass(frozen=True, slots=True)
class _Head:
    """What the headers of a part say of it."""

    name: str
    file_name: str | None


class _End:
    """The end of a part."""


_END: Final = _End()
_Event = _Head | bytes | _End


@dataclass(slots=True)
class _Headers:
    """The headers of the part that is being parsed; they may arrive byte by byte."""

    name: bytearray = field(default_factory=bytearray)
    value: bytearray = field(default_factory=bytearray)
    read: dict[bytes, bytes] = field(default_factory=dict)

    def end_one(self) -> None:
        name = bytes(self.name).lower()
        if name in self.read:
            raise _malformed("A part has a header twice")
        self.read[name] = bytes(self.value)
        self.name.clear()
        self.value.clear()


class _Events:
    """The parser's callbacks, kept as events until someone asks for them."""

    def __init__(self, boundary: bytes) -> None:
        self.queue: deque[_Event] = deque()
        self.is_complete = False
        self._headers = _Headers()
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": lambda data, start, end: self._headers.name.extend(data[start:end]),
                "on_header_value": lambda data, start, end: self._headers.value.extend(data[start:end]),
                "on_header_end": self._headers.end_one,
                "on_headers_finished": lambda: self.queue.append(_head(self._headers.read)),
                "on_part_data": lambda data, start, end: self.queue.append(data[start:end]),
                "on_part_end": lambda: self.queue.append(_END),
                "on_end": self._complete,
            },
        )

    def feed(self, chunk: bytes) -> None:
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise _malformed("The body is not well-formed multipart/form-data") from None

    def _begin(self) -> None:
        self._headers.read = {}

    def _complete(self) -> None:
        self.is_complete = True


async def read_parts(content_type: str, stream: AsyncIterator[bytes]) -> AsyncIterator[FormPart]:
    """The parts of a body whose Content-Type is multipart/form-data, as its bytes come out of `stream`.

    Each FilePart must be read to its end before the next part is asked for. Raises Invalid with the place in the form,
    TooLarge for a `data` part of more than 1 MiB. A client that leaves is a body without an end.
    """
    events = _events(stream, _Events(_boundary(content_type)))
    async for event in events:
        if isinstance(event, _Head):
            yield await _part(event, events)


async def _events(stream: AsyncIterator[bytes], parsed: _Events) -> AsyncIterator[_Event]:
    try:
        async for chunk in stream:
            parsed.feed(chunk)
            while parsed.queue:
                yield parsed.queue.popleft()
            if parsed.is_complete:
                return
    except ClientDisconnect:
        pass
    raise _malformed("The body ends before its last boundary")


async def _part(head: _Head, events: AsyncIterator[_Event]) -> FormPart:
    content = _content(events)
    if head.file_name is not None and head.name != DATA:
        return FilePart(head.name, head.file_name, content)
    if head.name != DATA:
        raise Invalid.one((*BODY, head.name), "Only files may stand beside the part data; put this into it")
    if head.file_name is not None:
        raise Invalid.one((*BODY, DATA), "The part data must be text, not a file")
    return DataPart(await _data(content))


async def _content(events: AsyncIterator[_Event]) -> AsyncIterator[bytes]:
    """The bytes up to the end of the part that `events` stands in."""
    async for event in events:
        if not isinstance(event, bytes):
            return
        yield event


async def _data(content: AsyncIterator[bytes]) -> dict[str, Any]:
    raw = bytearray()
    async for piece in content:
        raw += piece
        if len(raw) > MAX_JSON_BYTES:
            raise TooLarge(f"The part data must have at most {MAX_JSON_BYTES} bytes")
    value = loads(bytes(raw), loc=(*BODY, DATA), max_values=MAX_VALUES)
    if not isinstance(value, dict):
        raise Invalid.one((*BODY, DATA), "The part data must be a JSON object", type_="dict_type")
    return value


def _boundary(content_type: str) -> bytes:
    try:
        options = parse_options_header(content_type)[1]
    except UnicodeEncodeError:
        raise _malformed("The Content-Type is not well-formed") from None
    boundary = options.get(b"boundary", b"")
    if not 1 <= len(boundary) <= MAX_BOUNDARY or not boundary.isascii() or not boundary.decode().isprintable():
        raise _malformed(f"The Content-Type must name a boundary of 1 to {MAX_BOUNDARY} characters")
    if options.get(b"charset", b"utf-8").lower() not in {b"utf-8", b"utf8"}:
        raise _malformed("A form must be UTF-8")
    return boundary


def _head(headers: dict[bytes, bytes]) -> _Head:
    """The name and the file name of a part (RFC 7578 section 4.2), which must be UTF-8 without NUL."""
    disposition, options = parse_options_header(headers.get(b"content-disposition", b""))
    if disposition != b"form-data" or b"name" not in options:
        raise _malformed("Each part must have Content-Disposition: form-data with a name")
    if headers.get(b"content-transfer-encoding", b"").strip().lower() not in IDENTITY_ENCODINGS:
        raise _malformed("Send the parts as they are, without Content-Transfer-Encoding")
    file_name = options.get(b"filename")
    return _Head(_text(options[b"name"]), None if file_name is None else _text(file_name))


def _text(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise _malformed("The names of parts and files must be UTF-8") from None
    if "\0" in text:
        raise _malformed("The names of parts and files must not hold NUL")
    return text


def _malformed(reason: str) -> Invalid:
    return Invalid.one(BODY, reason, type_="multipart_invalid")

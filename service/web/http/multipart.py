"""multipart/form-data (RFC 7578) as a stream of parts: the socket is read only as fast as the parts are consumed."""

import re
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import multipart
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from service.bounds import MAX_BOUNDARY, MAX_JSON_BYTES, MAX_PART_HEADER_BYTES, MAX_PART_HEADERS, MAX_PARTS, MAX_VALUES
from service.domain.files.intake import DataPart, FilePart, FormPart
from service.errors import Invalid, Location, TooLarge
from service.schema.strict_json import load_object

DATA = "data"
# RFC 7578 section 4.7 deprecates encodings; these are the ones that change nothing.
IDENTITY_ENCODINGS = frozenset({"", "7bit", "8bit", "binary"})
# A parameter of a Content-Type, quoted or as it is: clients leave the quotes away where RFC 2045 section 5.1 wants them.
PARAMETERS = {
    name: re.compile(rf';\s*{name}\s*=\s*(?:"([^"]*)"|([^\s";]*))', re.IGNORECASE) for name in ("boundary", "charset")
}
BODY: Location = ("body",)

# A part begins, some of its bytes, it ends.
Event: TypeAlias = MultipartSegment | bytes | None


async def read_parts(content_type: str, stream: AsyncIterator[bytes]) -> AsyncIterator[FormPart]:
    """The parts of a body whose Content-Type is multipart/form-data, as its bytes come out of `stream`.

    Each FilePart must be read to its end before the next part is asked for. Raises Invalid with the place in the form,
    TooLarge for a `data` part of more than 1 MiB. A client that leaves is a body without an end.
    """
    boundary = _boundary(content_type)
    parser = PushMultipartParser(
        boundary,
        max_header_size=MAX_PART_HEADER_BYTES,
        max_header_count=MAX_PART_HEADERS,
        max_segment_count=MAX_PARTS,
        strict=True,
    )
    events = _events(_from_boundary(stream, boundary.encode()), parser)
    async for event in events:
        if isinstance(event, MultipartSegment):
            yield await _part(event, events)


async def _from_boundary(stream: AsyncIterator[bytes], boundary: bytes) -> AsyncIterator[bytes]:
    """`stream`, which must begin with the first boundary: a form has no preamble, and a parser would search all of it."""
    start, needed = b"", len(b"\r\n--" + boundary)
    async for chunk in stream:
        if len(start) >= needed:
            yield chunk
            continue
        start += chunk
        if len(start) >= needed:
            if not start.removeprefix(b"\r\n").startswith(b"--" + boundary):
                raise _malformed("The body must begin with its boundary")
            yield start


async def _events(stream: AsyncIterator[bytes], parser: PushMultipartParser) -> AsyncIterator[Event]:
    """The events of the parser, up to the last boundary: it would itself read on until the body ends."""
    try:
        async for chunk in stream:
            # An empty chunk would tell the parser that the body ends.
            for event in parser.parse(chunk) if chunk else ():
                yield event
            if parser._state is multipart._COMPLETE:  # noqa: SLF001 - there is no public word for it
                return
    except MultipartError:
        raise _malformed("The body is not well-formed multipart/form-data") from None
    except ClientDisconnect:
        pass
    raise _malformed("The body ends before its last boundary")


async def _part(segment: MultipartSegment, events: AsyncIterator[Event]) -> FormPart:
    name, file_name = _names(segment)
    content = _content(events)
    if file_name is not None and name != DATA:
        return FilePart(name, file_name, content)
    if name != DATA:
        raise Invalid.one((*BODY, name), "Only files may come beside the part data; put this field into data")
    if file_name is not None:
        raise Invalid.one((*BODY, DATA), "The part data must be text, not a file")
    return DataPart(await _data(content))


async def _content(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
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
    return load_object(bytes(raw), "The part data", loc=(*BODY, DATA), max_values=MAX_VALUES)


def _boundary(content_type: str) -> str:
    boundary = _parameter(content_type, "boundary")
    if not 1 <= len(boundary) <= MAX_BOUNDARY or not boundary.isascii() or not boundary.isprintable():
        raise _malformed(f"The Content-Type must name a boundary of 1 to {MAX_BOUNDARY} characters")
    if _parameter(content_type, "charset").lower() not in {"", "utf-8", "utf8"}:
        raise _malformed("A form must be UTF-8")
    return boundary


def _parameter(content_type: str, name: str) -> str:
    found = PARAMETERS[name].search(content_type)
    return (found[1] or found[2] or "") if found else ""


def _names(segment: MultipartSegment) -> tuple[str, str | None]:
    """The name and the file name of a part (RFC 7578 section 4.2), which must be UTF-8 without NUL."""
    headers = dict(segment.headerlist)
    if len(headers) < len(segment.headerlist):
        raise _malformed("A part has a header twice")
    if headers.get("Content-Transfer-Encoding", "").strip().lower() not in IDENTITY_ENCODINGS:
        raise _malformed("Send the parts as they are, without Content-Transfer-Encoding")
    # Not the parser's own reading, which takes %22 for a quote.
    options = parse_options_header(headers["Content-Disposition"])[1]
    name, file_name = options["name"], options.get("filename")
    if "\0" in name or "\0" in (file_name or ""):
        raise _malformed("The names of parts and files must not hold NUL")
    return name, file_name


def _malformed(reason: str) -> Invalid:
    return Invalid.one(BODY, reason, type_="multipart_invalid")

"""Files over HTTP: GET and HEAD /files/{file_name}."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import AnonymousCaller
from service.domain.files.types import FILE_TYPES, extension
from service.errors import RangeNotSatisfiable
from service.storage.files.stored import StoredFile
from service.web.asgi.streaming import Streamed
from service.web.auth.authenticate import find_client_address
from service.web.http.conditional import ByteRange, NotModified, NotSatisfiable, Whole, answer
from service.web.http.disposition import content_disposition
from service.web.http.services import services

# Names are never reused, so nobody needs to ask again.
IMMUTABLE = "public, max-age=31536000, immutable"
# Whatever a file holds, opened as a page it runs no script, loads nothing, and has no origin. An image's own styles stay.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


async def read_file(request: Request, caller: AnonymousCaller) -> Response:
    """Read an uploaded file, whole or one range of it."""
    _, file = await services(request).files.find(request.path_params["file_name"])
    chosen = answer(_conditions(request), etag=_etag(file), length=file.length)
    if isinstance(chosen, NotModified):
        return Response(status_code=304, headers=file_headers(file))
    status, part = _part(chosen, file)
    headers = file_headers(file) | _part_headers(part, file, status)
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    pieces = await services(request).files.read(caller.project, file, part.start, part.stop)
    return Streamed(pieces, status, headers, address=find_client_address(request))


def _part(chosen: Whole | ByteRange | NotSatisfiable, file: StoredFile) -> tuple[int, ByteRange]:
    """The status and the bytes to send. Raises RangeNotSatisfiable."""
    if isinstance(chosen, NotSatisfiable):
        raise RangeNotSatisfiable(file.length)
    return (206, chosen) if isinstance(chosen, ByteRange) else (200, ByteRange(0, file.length))


def _part_headers(part: ByteRange, file: StoredFile, status: int) -> dict[str, str]:
    headers = {
        "content-length": str(part.stop - part.start),
        "content-type": FILE_TYPES[extension(file.name)].media_type,
    }
    if status == 206:
        headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{file.length}"
    return headers


def _etag(file: StoredFile) -> str:
    """A name is never given to other bytes, so it tells them apart."""
    return f'"{file.name}"'


def file_headers(file: StoredFile) -> dict[str, str]:
    """What every answer about a file carries, with or without its bytes."""
    shown_inline = FILE_TYPES[extension(file.name)].shown_inline
    return {
        "etag": _etag(file),
        "cache-control": IMMUTABLE,
        "accept-ranges": "bytes",
        "content-disposition": content_disposition(file.original_name, inline=shown_inline),
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        # Pages of other origins show the images, also those that are isolated (COEP).
        "cross-origin-resource-policy": "cross-origin",
    }


def _conditions(request: Request) -> Mapping[str, str]:
    """Headers by lower-case name, repeated ones joined (RFC 9110 section 5.3). HEAD has no ranges (section 14.2)."""
    joined: dict[str, str] = {}
    for name, value in request.headers.items():
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    if request.method == "HEAD":
        joined.pop("range", None)
    return joined

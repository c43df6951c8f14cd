"""A backup as a download: the whole file, or one range of it, so that a download that was cut goes on."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import OperatorCaller
from service.domain.permissions import Access
from service.domain.portable.backups import find_file, find_whole, note_download
from service.errors import BackupNotFound, BackupOnOtherHost, Busy, RangeNotSatisfiable
from service.services import Services
from service.web.asgi.streaming import Streamed
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import find_client_address
from service.web.http.conditional import ByteRange, NotModified, NotSatisfiable, answer
from service.web.http.disposition import content_disposition
from service.web.openapi.declaration import TEXT, Content, ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint

PIECE_BYTES = 262_144
ZIP = (Content(schema={"type": "string", "format": "binary"}, media_type="application/zip"),)


@endpoint(
    f"GET {IN_PROJECT}/backups/{{id}}/file",
    credential=Credential.OPERATOR_IN_PROJECT,
    tag=Tag.PROJECTS,
    operator=Access("config", "write", confirm=True),
    description="Each download leaves an entry in the audit log. One range can be asked for (RFC 9110 section 14).",
    parameters=(
        Parameter(
            name="Range",
            location="header",
            description="`bytes=<first>-<last>`, `bytes=<first>-` or `bytes=-<length>`.",
            schema=TEXT,
            example="bytes=0-1023",
        ),
    ),
    answer=(
        Success("The whole file", content=ZIP, headers={"ETag": "The SHA-256 of the file", "Accept-Ranges": "bytes"}),
        Success("The range", content=ZIP, headers={"Content-Range": "Which bytes of how many"}, status=206),
        Success("The client has it", status=304),
    ),
    errors=(
        BackupNotFound,
        ErrorExample(BackupOnOtherHost, "The file is on the host host-2"),
        ErrorExample(RangeNotSatisfiable, 1024),
        Busy,
    ),
    takes_head=False,
)
async def download_backup(request: Request, caller: OperatorCaller, services: Services) -> Response:
    """Download a backup."""
    backup = await find_whole(services.backups, request.path_params["id"], caller.project)
    length, etag = backup["bytes"], f'"{backup["sha256"]}"'
    chosen = answer(dict(request.headers), etag=etag, length=length)
    if isinstance(chosen, NotModified):
        return Response(status_code=304, headers={"etag": etag})
    if isinstance(chosen, NotSatisfiable):
        raise RangeNotSatisfiable(length)
    part = chosen if isinstance(chosen, ByteRange) else ByteRange(0, length)
    status = 206 if isinstance(chosen, ByteRange) else 200
    path = await find_file(services.backups, backup)
    await note_download(services.backups, backup)
    headers = {
        "content-type": "application/zip",
        "content-length": str(part.stop - part.start),
        "content-disposition": content_disposition(backup["name"], inline=False),
        "accept-ranges": "bytes",
        "etag": etag,
        **({"content-range": f"bytes {part.start}-{part.stop - 1}/{length}"} if status == 206 else {}),
    }
    address = find_client_address(request, services.web.trusted_proxies)
    return Streamed(_read(path, part), status, headers, address=address)


async def _read(path: Path, part: ByteRange) -> AsyncGenerator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as source:
        source.seek(part.start)
        left = part.stop - part.start
        while left and (piece := await asyncio.to_thread(source.read, min(left, PIECE_BYTES))):
            left -= len(piece)
            yield piece

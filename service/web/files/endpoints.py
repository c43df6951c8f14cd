"""Files over HTTP: GET and HEAD /files/{file_name}, and signing URLs of them."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from service.bounds import MAX_SIGNED_URLS
from service.domain.access.caller import AnonymousCaller, SecretKeyCaller, UserCaller
from service.domain.files.signed_urls import EXPIRES, SIGNATURE, VARIANT, FileLink
from service.domain.files.signing import sign_urls
from service.domain.files.types import FILE_TYPES, extension
from service.domain.limits.policies import DAILY_BY_RULE
from service.domain.limits.policies import FILES as FILE_READS
from service.domain.permissions import Access
from service.errors import (
    Busy,
    FileNotFound,
    Invalid,
    QueryTooSlow,
    RangeNotSatisfiable,
    Unavailable,
)
from service.query.parse import parse_pairs
from service.services import Services
from service.storage.files.stored import StoredFile, is_variant
from service.web.asgi.streaming import Streamed
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import find_client_address
from service.web.http.conditional import ByteRange, NotModified, NotSatisfiable, Whole, answer
from service.web.http.disposition import content_disposition
from service.web.http.json_body import RequestWith, read_form
from service.web.http.query_values import refuse_unknown
from service.web.http.render import Json
from service.web.openapi.declaration import TEXT, Content, ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import KeyUse, endpoint

# Names are never reused, so caches need not ask again.
IMMUTABLE = "public, max-age=31536000, immutable"
VARIANTS_CACHED = "public, max-age=3600"
# A file opened as a page runs no script, loads nothing, and has no origin. An image's own styles stay.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

HOUR, WEEK = 3_600, 604_800
MEDIA_TYPES = sorted({file_type.media_type for file_type in FILE_TYPES.values()})
# Generators that know no image type find bytes under the last, which no file is sent as.
BYTES = tuple(
    Content(schema={"type": "string", "format": "binary"}, media_type=media_type)
    for media_type in (*MEDIA_TYPES, "application/octet-stream")
)
HEADERS = {
    "ETag": "Tells this file from every other; a name is never given to other bytes",
    "Content-Disposition": "The name it was uploaded under; images are shown, others are saved",
    "Accept-Ranges": "bytes",
}
PLAIN = "https://api.example.com/files/demo-0123456789abcdef0123456789abcdef.pdf"
SIGNED = f"{PLAIN}?expires=1798761600&signature=h0fYx2mq3cJ7nq1o7Yx5kC2mJ8v1dF4sT6uW9zB0aEg"


def _whole(value: Any) -> Any:
    """In JSON Schema 60.0 is an integer, too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class UrlsForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    urls: Annotated[list[str], Field(max_length=MAX_SIGNED_URLS, description="URLs of files, signed or not")]
    expires_in: Annotated[
        int, Field(ge=1, le=WEEK, description="For how many seconds they shall be good"), BeforeValidator(_whole)
    ] = HOUR


class SignedUrls(TypedDict):
    urls: Annotated[dict[str, str], Field(description="Each URL as it was sent → the same with a new signature")]


@endpoint(
    "GET /files/{file_name}",
    credential=Credential.FILE_NAME,
    policy=FILE_READS,
    tag=Tag.FILES,
    description="The URL of a file is public and cannot be guessed, unless the project's rules protect the field it was "
    "uploaded to: then answers carry it signed, and it opens the file for a while. One range can be asked for (RFC 9110 "
    "section 14).",
    parameters=(
        Parameter(name="expires", description="Of a signed URL: its last second, since 1970.", schema=TEXT),
        Parameter(name="signature", description="Of a signed URL.", schema=TEXT),
        Parameter(
            name="variant",
            description="A variant of an image that its collection declares; 422 where the image cannot be decoded.",
            schema=TEXT,
            example="thumb",
        ),
        Parameter(
            name="Range",
            location="header",
            description="`bytes=<first>-<last>`, `bytes=<first>-` or `bytes=-<length>`.",
            schema=TEXT,
            example="bytes=0-1023",
        ),
        Parameter(
            name="If-None-Match",
            location="header",
            description="The `ETag` of a file that the client has.",
            schema=TEXT,
        ),
    ),
    answer=(
        Success("The whole file", content=BYTES, headers=HEADERS),
        Success(
            "The range", content=BYTES, headers={**HEADERS, "Content-Range": "Which bytes of how many"}, status=206
        ),
        Success("The client has it", headers=HEADERS, status=304),
    ),
    errors=(FileNotFound, ErrorExample(RangeNotSatisfiable, 1024), Invalid, Busy, Unavailable),
)
async def read_file(request: Request, caller: AnonymousCaller, services: Services) -> Response:
    """Read an uploaded file, whole or one range of it."""
    link = _link(request)
    source = services.variants if link.variant else services.files
    file, seconds = await source.find_readable(request.path_params["file_name"], link)
    chosen = answer(_conditions(request), etag=_etag(file), length=file.length)
    if isinstance(chosen, NotModified):
        return Response(status_code=304, headers=file_headers(file, seconds))
    status, part = _part(chosen, file)
    headers = file_headers(file, seconds) | _part_headers(part, file, status)
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    pieces = await services.files.read(caller.project, file, part.start, part.stop)
    return Streamed(pieces, status, headers, address=find_client_address(request, services.web.trusted_proxies))


@endpoint(
    "POST /api/files/sign",
    operator=Access("data", "read"),
    credential=Credential.KEY_OR_USER,
    policy=DAILY_BY_RULE,
    tag=Tag.FILES,
    description="By the secret key, of any file of the project; by a user, of the user's own, and of those that the rules let "
    "the user read in other users. Refused as a whole where one URL is of no such file.",
    body={"a day": {"urls": [PLAIN], "expires_in": 86_400}},
    idempotency_key=KeyUse.IGNORED,
    answer=Success("The URLs, each good for so many seconds from now", {"a day": {"urls": {PLAIN: SIGNED}}}),
    errors=(FileNotFound, Busy, QueryTooSlow),
)
async def sign_file_urls(
    request: RequestWith[UrlsForm], caller: SecretKeyCaller | UserCaller, services: Services
) -> Json[SignedUrls]:
    """Sign URLs of files, so that they can be read for a while."""
    form = await read_form(request)
    return Json({"urls": await sign_urls(services.files.protection, caller, form.urls, form.expires_in)})


def _link(request: Request) -> FileLink:
    """The parameters of a file's URL. Raises Invalid for any other, and for a variant without a name."""
    pairs = dict(parse_pairs(request.scope["query_string"]))
    refuse_unknown(sorted(pairs), (EXPIRES, SIGNATURE, VARIANT))
    if pairs.get(VARIANT) == "":
        raise Invalid.one(("query", VARIANT), "Name a declared variant, or leave the parameter out", type_="missing")
    return FileLink(pairs.get(EXPIRES, ""), pairs.get(SIGNATURE, ""), pairs.get(VARIANT, ""))


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


def file_headers(file: StoredFile, seconds: int | None) -> dict[str, str]:
    """The headers of every answer about a file, with or without its bytes.

    `seconds` are left to the URL of a protected one; it is None for a public file.
    """
    shown_inline = FILE_TYPES[extension(file.name)].shown_inline
    return {
        "etag": _etag(file),
        "cache-control": _caching(file) if seconds is None else f"private, max-age={seconds}",
        "accept-ranges": "bytes",
        "content-disposition": content_disposition(file.original_name, inline=shown_inline),
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        # Pages of other origins show the images, also those that are isolated (COEP).
        "cross-origin-resource-policy": "cross-origin",
    }


def _caching(file: StoredFile) -> str:
    """A variant follows its declaration, which may be changed."""
    return VARIANTS_CACHED if is_variant(file) else IMMUTABLE


def _conditions(request: Request) -> Mapping[str, str]:
    """Headers by lower-case name, repeated ones joined (RFC 9110 section 5.3). HEAD has no ranges (section 14.2)."""
    joined: dict[str, str] = {}
    for name, value in request.headers.items():
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    if request.method == "HEAD":
        joined.pop("range", None)
    return joined

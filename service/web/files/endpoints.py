"""Files over HTTP: GET and HEAD /files/{file_name}, and signing URLs of them."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import AnonymousCaller, SecretKeyCaller, UserCaller
from service.domain.files.signed_urls import EXPIRES, SIGNATURE, VARIANT, Link
from service.domain.files.types import FILE_TYPES, extension
from service.errors import Invalid, RangeNotSatisfiable, Violation
from service.query.parse import parse_pairs
from service.services import Services
from service.storage.files.stored import StoredFile, is_variant
from service.web.asgi.streaming import Streamed
from service.web.auth.client_address import find_client_address
from service.web.files.bodies import SignedUrls, UrlsForm
from service.web.http.conditional import ByteRange, NotModified, NotSatisfiable, Whole, answer
from service.web.http.disposition import content_disposition
from service.web.http.json_body import read_object, validated
from service.web.http.render import json_response

# Names are never reused, so caches need not ask again.
IMMUTABLE = "public, max-age=31536000, immutable"
VARIANTS_CACHED = "public, max-age=3600"
# A file opened as a page runs no script, loads nothing, and has no origin. An image's own styles stay.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


async def read_file(request: Request, caller: AnonymousCaller, services: Services) -> Response:
    """Read an uploaded file, whole or one range of it."""
    link = _link(request)
    source = services.file_variants if link.variant else services.files
    file, seconds = await source.find_readable(request.path_params["file_name"], link)
    chosen = answer(_conditions(request), etag=_etag(file), length=file.length)
    if isinstance(chosen, NotModified):
        return Response(status_code=304, headers=file_headers(file, seconds))
    status, part = _part(chosen, file)
    headers = file_headers(file, seconds) | _part_headers(part, file, status)
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    pieces = await services.files.read(caller.project, file, part.start, part.stop)
    return Streamed(pieces, status, headers, address=find_client_address(request, services.trusted_proxies))


async def sign_urls(request: Request, caller: SecretKeyCaller | UserCaller, services: Services) -> Response:
    """Sign URLs of files, so that they can be read for a while."""
    form = validated(UrlsForm, await read_object(request))
    signed = await services.file_signing.sign(caller, form.urls, form.expires_in)
    body: SignedUrls = {"urls": signed}
    return json_response(body)


def _link(request: Request) -> Link:
    """The parameters of a file's URL. Raises Invalid for any other, and for a variant without a name."""
    pairs = dict(parse_pairs(request.scope["query_string"]))
    if unknown := pairs.keys() - {EXPIRES, SIGNATURE, VARIANT}:
        raise Invalid(
            Violation(("query", name), "This endpoint takes no such parameter", "extra_forbidden")
            for name in sorted(unknown)
        )
    if pairs.get(VARIANT) == "":
        raise Invalid.one(("query", VARIANT), "Name a declared variant, or leave the parameter out", type_="missing")
    return Link(pairs.get(EXPIRES, ""), pairs.get(SIGNATURE, ""), pairs.get(VARIANT, ""))


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

"""The OpenAPI document and the page that shows it and tries requests."""

import hashlib
from functools import lru_cache

import orjson
from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ServiceCaller
from service.errors import FileNotFound
from service.services import Services
from service.web.docs_ui.viewer import MEDIA_TYPES, PAGE, read_asset
from service.web.openapi.document import build_document

# The page runs its own scripts and asks its own origin, and nothing else (W3C Content Security Policy Level 3).
PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
ASSET_SECONDS = 3600


async def openapi_document(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The OpenAPI document of this service."""
    document = getattr(request.app.state, "openapi", None)
    if document is None:
        document = request.app.state.openapi = orjson.dumps(build_document(request.app.routes))
    return _cached(request, document, "application/json", {"cache-control": "no-cache"})


async def page(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The page that shows the OpenAPI document."""
    return _cached(request, read_asset(PAGE), "text/html; charset=utf-8", PAGE_HEADERS)


async def asset(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """A script or style sheet of that page."""
    name = request.path_params["asset"]
    if name not in MEDIA_TYPES:
        raise FileNotFound
    return _cached(request, read_asset(name), MEDIA_TYPES[name], {"cache-control": f"public, max-age={ASSET_SECONDS}"})


def _cached(request: Request, body: bytes, media_type: str, headers: dict[str, str]) -> Response:
    """The body under its ETag, or 304 to a client that has it (RFC 9110 section 13.1.2)."""
    headers = {**headers, "etag": _etag(body)}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)


@lru_cache(maxsize=16)
def _etag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'

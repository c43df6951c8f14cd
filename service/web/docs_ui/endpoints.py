"""The OpenAPI document, and the page that shows it and tries requests: Swagger UI as its package on npm has it.

`scripts/vendor-viewer` writes `assets/swagger-ui*` and assets/VENDORED; nothing is fetched at run time.
"""

import asyncio
import hashlib
from collections.abc import Iterable
from functools import cache, lru_cache, partial
from importlib.resources import files
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import AdminCaller, ServiceCaller
from service.domain.permissions import Access
from service.errors import FileNotFound
from service.services import Services
from service.web.auth.authenticate import OF_OPERATORS, OUTSIDE_PUBLIC_API, Credential
from service.web.openapi.declaration import HTML, TEXT, Content, Success, Tag
from service.web.openapi.document import ADMIN, PUBLIC, Api, build_document
from service.web.openapi.endpoint import ApiRoute, Query, endpoint

# The page runs its own scripts and asks its own origin, and nothing else (W3C Content Security Policy Level 3).
PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
ASSET_SECONDS = 3600
MEDIA_TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
}
PAGE = "page.html"

of_page = partial(endpoint, credential=Credential.NONE, query=Query.IGNORED, tag=Tag.DOCUMENTATION)


@of_page(
    "GET /openapi.json",
    operation_id="openApiDocument",
    answer=Success("An OpenAPI 3.1 document", content=(Content(type=dict[str, Any]),)),
)
async def openapi_document(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The OpenAPI document of this service."""
    routes = (route for route in request.app.routes if route.credential not in OUTSIDE_PUBLIC_API)
    return _cached(request, await _find(request, routes, PUBLIC), "application/json", {"cache-control": "no-cache"})


@endpoint(
    "GET /admin/v1/openapi.json",
    operation_id="adminOpenApiDocument",
    credential=Credential.OPERATOR,
    operator=Access("any", "read"),
    tag=Tag.DOCUMENTATION,
    answer=Success("An OpenAPI 3.1 document", content=(Content(type=dict[str, Any]),)),
)
async def admin_openapi_document(request: Request, caller: AdminCaller, services: Services) -> Response:
    """The OpenAPI document of the Admin API."""
    routes = (route for route in request.app.routes if route.credential in OF_OPERATORS)
    return _cached(request, await _find(request, routes, ADMIN), "application/json", {})


@of_page("GET /docs", answer=Success("A page that shows the document and tries requests", content=(HTML,)))
async def documentation_page(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The page that shows the OpenAPI document."""
    return _cached(request, read_asset(PAGE), "text/html; charset=utf-8", PAGE_HEADERS)


@of_page(
    "GET /docs/{asset}",
    answer=Success(
        "The file", content=tuple(Content(schema=TEXT, media_type=each) for each in ("text/css", "text/javascript"))
    ),
    errors=(FileNotFound,),
    path_parameters={
        "asset": {
            "description": "A file of the page.",
            "schema": {"type": "string", "enum": sorted(MEDIA_TYPES)},
            "example": "swagger-ui.css",
        }
    },
)
async def documentation_asset(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """A script or style sheet of that page."""
    name = request.path_params["asset"]
    if name not in MEDIA_TYPES:
        raise FileNotFound
    return _cached(request, read_asset(name), MEDIA_TYPES[name], {"cache-control": f"public, max-age={ASSET_SECONDS}"})


@cache
def read_asset(name: str) -> bytes:
    """One of MEDIA_TYPES or PAGE. They are few and do not change while the process runs."""
    return (files("service.web.docs_ui") / "assets" / name).read_bytes()


async def _find(request: Request, routes: Iterable[ApiRoute], api: Api) -> bytes:
    """The bytes of a document. A thread makes them once, for that takes long, and all who ask meanwhile wait for it."""
    state, name = request.app.state, f"document of {api.title}"
    if not hasattr(state, name):
        making = asyncio.to_thread(lambda: orjson.dumps(build_document(routes, api)))
        setattr(state, name, asyncio.create_task(making))
    document: bytes = await asyncio.shield(getattr(state, name))
    return document


def _cached(request: Request, body: bytes, media_type: str, headers: dict[str, str]) -> Response:
    """The body under its ETag, or 304 to a client that has it (RFC 9110 section 13.1.2)."""
    headers = {**headers, "etag": _etag(body)}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=media_type)


@lru_cache(maxsize=16)
def _etag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'

"""The console's page and its assets. Everything that it shows comes from the Admin API."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ServiceCaller
from service.errors import FileNotFound
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.console.assets import read_console
from service.web.openapi.declaration import HTML, TEXT, Content, Success, Tag
from service.web.openapi.endpoint import Query, endpoint

# Nothing of the browser's devices is asked for; a page that opens the console keeps no hold of it.
PAGE_HEADERS = {
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
}
ASSET_HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "same-origin",
    "vary": "accept-encoding",
}

of_console = partial(endpoint, credential=Credential.CONSOLE_PAGE, query=Query.IGNORED, tag=Tag.OPERATORS)


@of_console("GET /console", answer=Success("The way to the page", content=(HTML,)))
async def redirect_to_console(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The page's own address, to which all of its addresses are relative."""
    return Response(status_code=308, headers={"location": "console/", "cache-control": "no-cache"})


@of_console("GET /console/", answer=Success("The page", content=(HTML,)))
async def console_page(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The console."""
    console = read_console()
    policy = console.allow_pictures(services.operators.rules.pictures)
    headers = {**PAGE_HEADERS, "content-security-policy": policy, "etag": f'"{console.version}"'}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(console.page, headers=headers, media_type="text/html; charset=utf-8")


@of_console(
    "GET /console/a/{version}/{folder}/{name}",
    answer=Success("The file", content=(Content(schema=TEXT, media_type="text/javascript"),)),
    errors=(FileNotFound,),
)
async def console_asset(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """A file of the console. Its address changes with any of the files, so that caches may keep it."""
    console, path = read_console(), request.path_params
    asset = console.assets.get(f"{path['folder']}/{path['name']}")
    if asset is None or path["version"] != console.version:
        raise FileNotFound
    if asset.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers = {**ASSET_HEADERS, "content-encoding": "gzip"}
        return Response(asset.packed, headers=headers, media_type=asset.media_type)
    return Response(asset.body, headers=ASSET_HEADERS, media_type=asset.media_type)

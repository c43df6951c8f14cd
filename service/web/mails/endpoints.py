"""A project's mails, for its servers; and the mailbox, which shows them to whoever develops on this machine."""

from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import SecretKeyCaller, ServiceCaller
from service.errors import NotFound
from service.services import Services
from service.web.auth.local import is_from_here, is_from_its_own_page
from service.web.http.paging import read_paging
from service.web.http.render import json_response
from service.web.mails.bodies import MessageList, list_view, message_view

ASSETS = {"mailbox.css": "text/css; charset=utf-8", "mailbox.js": "text/javascript; charset=utf-8"}
# A mail is shown in a frame of its own without scripts; its styles stand in it.
PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


async def list_mails(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """List a project's mails, newest first."""
    paging = read_paging(request)
    page = await services.mails.list(caller.project, limit=paging.limit, offset=paging.offset)
    return json_response(list_view(page, limit=paging.limit, offset=paging.offset))


async def retry_mail(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Have a mail tried at once."""
    await services.mails.retry(caller.project, request.path_params["id"])
    return Response(status_code=204)


async def mailbox(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The page that shows the mails of all projects, for who develops on this machine."""
    _refuse_others(request, services)
    return Response(_asset("mailbox.html"), headers=PAGE_HEADERS, media_type="text/html; charset=utf-8")


async def messages(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The mails that the mailbox shows, newest first."""
    _refuse_others(request, services)
    if not is_from_its_own_page(request):
        raise NotFound
    body: MessageList = {"messages": [message_view(message) for message in await services.mails.read()]}
    return json_response(body)


async def asset(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """A script or style sheet of the mailbox."""
    _refuse_others(request, services)
    name = request.path_params["asset"]
    if name not in ASSETS:
        raise NotFound
    return Response(_asset(name), media_type=ASSETS[name])


def _refuse_others(request: Request, services: Services) -> None:
    """Raises NotFound, as if there were no mailbox."""
    if not request.app.shows_mailbox or not is_from_here(request, services.trusted_proxies):
        raise NotFound


@cache
def _asset(name: str) -> bytes:
    return (files("service.web.mails") / "assets" / name).read_bytes()

"""A project's mails, for its servers; and the mailbox, which shows them to the developer on this machine."""

from functools import cache, partial
from importlib.resources import files
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from service.bounds import MAX_LIMIT
from service.domain.access.caller import SecretKeyCaller, ServiceCaller
from service.domain.limits.policies import AUTH
from service.domain.mail_flows.mailbox import MailEntry, MailList, Message, read_messages
from service.domain.mail_flows.mailbox import list_mails as find_mails
from service.domain.mail_flows.mailbox import retry_mail as retry
from service.domain.permissions import Access
from service.errors import MailNotFound, NotFound
from service.mail.texts import KINDS
from service.query.nodes import ListQuery
from service.query.options import MAX_OFFSET
from service.query.parse import parse_pairs, parse_query
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.auth.local import is_from_here, is_from_its_own_page
from service.web.http.query_values import refuse_unknown
from service.web.http.render import Json, NoContent
from service.web.openapi.declaration import HTML, TEXT, Content, Parameter, Schema, Success, Tag
from service.web.openapi.endpoint import Query, endpoint
from service.web.openapi.shapes import EXAMPLE_TIME, Limit, Offset, Time, WholeNumber

EXAMPLE_MAIL_ID = "4bS9uQmXk1dW0p2RzV7nYA"
MAIL_ID: dict[str, Schema] = {
    "id": {
        "description": "The mail's id.",
        "schema": {"type": "string", "pattern": "^[^/]+$"},
        "example": EXAMPLE_MAIL_ID,
    }
}
EXAMPLE_MAIL = {
    "id": EXAMPLE_MAIL_ID,
    "to": "ann@example.com",
    "kind": "verify_email",
    "status": "queued",
    "attempts": 1,
    "created_at": EXAMPLE_TIME,
}
EXAMPLE_MESSAGE = {
    "id": EXAMPLE_MAIL_ID,
    "to": "ann@example.com",
    "subject": "Confirm your address for Shop",
    "text": "Is this your address?",
    "html": "<!doctype html>",
    "kind": "verify_email",
    "code": "402719",
    "link": "https://auth.example.com/auth-collections/link?t=Zt0rXk8J",
    "created_at": EXAMPLE_TIME,
}
Kind = Literal[KINDS]  # type: ignore[valid-type]
Status = Literal["kept", "queued", "sent", "failed"]


class MailView(TypedDict):
    id: str
    to: str | None
    kind: Kind
    status: Status
    attempts: WholeNumber
    created_at: Time


class MailPageView(TypedDict):
    mails: list[MailView]
    total: WholeNumber
    limit: Limit
    offset: Offset


class MessageView(TypedDict):
    """`text`, `html`, `code` and `link` are null once the mail was sent, as all else that it was made from."""

    id: str
    to: str | None
    subject: str | None
    text: str | None
    html: str | None
    kind: Kind
    code: str | None
    link: str | None
    created_at: Time


class MessageList(TypedDict):
    messages: list[MessageView]


def mail_view(mail: MailEntry) -> MailView:
    return {
        "id": mail.id,
        "to": mail.to,
        "kind": mail.kind,
        "status": mail.status,  # type: ignore[typeddict-item]
        "attempts": mail.attempts,
        "created_at": mail.created_at,
    }


def list_view(page: MailList, *, limit: int, offset: int) -> MailPageView:
    return {"mails": [mail_view(mail) for mail in page.mails], "total": page.total, "limit": limit, "offset": offset}


def message_view(message: Message) -> MessageView:
    return {
        "id": message.id,
        "to": message.to,
        "subject": message.subject,
        "text": message.text,
        "html": message.html,
        "kind": message.kind,
        "code": message.code,
        "link": message.link,
        "created_at": message.created_at,
    }


ASSETS = {"mailbox.css": "text/css; charset=utf-8", "mailbox.js": "text/javascript; charset=utf-8"}
# A mail is shown in a frame of its own without scripts; its styles stand in it.
PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}

by_server = partial(endpoint, credential=Credential.API_KEY, policy=AUTH, tag=Tag.MAILS)
of_mailbox = partial(
    endpoint,
    credential=Credential.NONE,
    query=Query.IGNORED,
    tag=Tag.MAILS,
    description="Not found unless `serve` runs an embedded MongoDB and the request comes from this machine.",
    errors=(NotFound,),
)


@by_server(
    "GET /auth-collections/mails",
    operator=Access("config", "read"),
    description="Never a code, a link or a text. `to` is null once the mail was sent.",
    parameters=(
        Parameter(
            name="limit",
            description="Page size.",
            schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": ListQuery().limit},
        ),
        Parameter(
            name="offset",
            description="Number of mails to skip.",
            schema={"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0},
        ),
    ),
    answer=Success("One page of mails", {"a page": {"mails": [EXAMPLE_MAIL], "total": 1, "limit": 50, "offset": 0}}),
)
async def list_mails(request: Request, caller: SecretKeyCaller, services: Services) -> Json[MailPageView]:
    """List a project's mails, newest first."""
    query_string = request.scope["query_string"]
    refuse_unknown((name for name, _ in parse_pairs(query_string)), ("limit", "offset"))
    query = parse_query(query_string)
    page = await find_mails(services.flows, caller.project, limit=query.limit, offset=query.offset)
    return Json(list_view(page, limit=query.limit, offset=query.offset))


@by_server(
    "POST /auth-collections/mails/{id}/retry",
    operator=Access("config", "write"),
    description="One that failed, or waits for its next try, or was kept because there was no server.",
    answer=Success("It is tried at once"),
    errors=(MailNotFound,),
    path_parameters=MAIL_ID,
)
async def retry_mail(request: Request, caller: SecretKeyCaller, services: Services) -> NoContent:
    """Have a mail tried at once."""
    await retry(services.flows, caller.project, request.path_params["id"])
    return NoContent()


@of_mailbox("GET /mailbox", answer=Success("The page", content=(HTML,)))
async def mailbox(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The page that shows the mails of all projects, for who develops on this machine."""
    _refuse_others(request, services)
    return Response(_asset("mailbox.html"), headers=PAGE_HEADERS, media_type="text/html; charset=utf-8")


@of_mailbox(
    "GET /mailbox/messages",
    answer=Success("The mails, with their codes and links", {"one": {"messages": [EXAMPLE_MESSAGE]}}),
)
async def mailbox_messages(request: Request, caller: ServiceCaller, services: Services) -> Json[MessageList]:
    """The mails that the mailbox shows, newest first."""
    _refuse_others(request, services)
    if not is_from_its_own_page(request):
        raise NotFound
    return Json({"messages": [message_view(message) for message in await read_messages(services.flows)]})


@of_mailbox(
    "GET /mailbox/{asset}",
    answer=Success(
        "The file", content=tuple(Content(schema=TEXT, media_type=each) for each in ("text/css", "text/javascript"))
    ),
    path_parameters={
        "asset": {
            "description": "A file of the mailbox.",
            "schema": {"type": "string", "enum": sorted(ASSETS)},
            "example": "mailbox.css",
        }
    },
)
async def mailbox_asset(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """A script or style sheet of the mailbox."""
    _refuse_others(request, services)
    name = request.path_params["asset"]
    if name not in ASSETS:
        raise NotFound
    return Response(_asset(name), media_type=ASSETS[name])


def _refuse_others(request: Request, services: Services) -> None:
    """Raises NotFound, as if there were no mailbox."""
    if not request.app.shows_mailbox or not is_from_here(request, services.web.trusted_proxies):
        raise NotFound


@cache
def _asset(name: str) -> bytes:
    return (files("service.web.mails") / "assets" / name).read_bytes()

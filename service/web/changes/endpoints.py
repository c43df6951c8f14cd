"""The feed of a project over HTTP. `docs/changes.md` describes events and cursors."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from service.bounds import MAX_CHANGES
from service.domain.access.caller import OperatorCaller, SecretKeyCaller
from service.domain.feed.questions import read_after, read_patterns
from service.domain.feed.reader import ChangesPage, ChangesQuery
from service.domain.limits.policies import DAILY
from service.domain.permissions import Access
from service.errors import (
    Busy,
    CursorExpired,
    InvalidApiKey,
    NotInFeed,
    ProjectNotFound,
    QueryTooSlow,
    ServiceError,
    TooManyReaders,
    Violation,
)
from service.services import Services
from service.web.asgi.streaming import Streamed
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import find_client_address
from service.web.changes.lines import LINES, ChangeLines
from service.web.http.query_values import read_values, read_whole
from service.web.http.render import Json
from service.web.http.request_state import API_KEY
from service.web.openapi.declaration import ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME, Time

MAX_WAIT, WAIT_ANSWER_SECONDS = 25, 40.0
EXAMPLE_CURSOR = "6b03bb8000000005000000"
EXAMPLE = {
    "id": f"evt_{EXAMPLE_CURSOR}",
    "type": "documents.orders.updated",
    "timestamp": EXAMPLE_TIME,
    "project_id": "shop",
    "data": {
        "collection": "orders",
        "id": EXAMPLE_ID,
        "version": 7,
        "actor": {"kind": "unknown", "id": None},
        "changed": ["status"],
        "document": {
            "id": EXAMPLE_ID,
            "data": {"status": "paid"},
            "created_at": EXAMPLE_TIME,
            "updated_at": EXAMPLE_TIME,
            "version": 7,
        },
    },
    "cursor": EXAMPLE_CURSOR,
}
PAGE = {"events": [EXAMPLE], "next": EXAMPLE_CURSOR, "caught_up": True, "lag_ms": 120}
BEYOND = [
    Violation(("query", "events"), "The setting FEED keeps documents.*; ask for those, or change it", "not_in_feed")
]
Cursor = Annotated[str, Field(pattern="^[0-9a-f]{22}$")]


class ChangeEvent(TypedDict):
    """One write. `data` depends on the type; `cursor` is the place to go on from."""

    id: str
    type: str
    timestamp: Time
    project_id: str
    data: dict[str, Any]
    cursor: Cursor


class ChangeList(TypedDict):
    """`next` is `after` of the next request, also where no event came. `caught_up`: there were no more at this moment."""

    events: list[ChangeEvent]
    next: Cursor
    caught_up: bool
    lag_ms: Annotated[int, Field(ge=0, description="Milliseconds from the last write that the feed has to now")]


@endpoint(
    "GET /api/changes",
    credential=Credential.API_KEY,
    policy=DAILY,
    tag=Tag.CHANGES,
    operator=Access("data", "read", audited=True),
    description="The events that the project's setting `FEED` keeps, in their order, by the secret key. With "
    "`Accept: application/x-ndjson` the events come as lines as they happen: see the page about changes.",
    parameters=(
        Parameter(
            name="after",
            description="Events after this cursor, or event; `now`, or `first` for the earliest that is kept.",
            schema={"type": "string", "pattern": "^((evt_)?[0-9a-f]{22}|now|first)$", "default": "first"},
            example="first",
        ),
        Parameter(
            name="events",
            description="Patterns, with commas between them, within `FEED`. `feed.gap` always comes.",
            schema={"type": "string", "minLength": 1},
            example="documents.*",
        ),
        Parameter(
            name="limit",
            description="Events of the answer.",
            schema={"type": "integer", "minimum": 1, "maximum": int(MAX_CHANGES), "default": 100},
        ),
        Parameter(
            name="wait",
            description="Seconds to wait for an event where there is none.",
            schema={"type": "integer", "minimum": 0, "maximum": MAX_WAIT, "default": 0},
        ),
    ),
    answer=Success("Some events, the earliest first", {"one event": PAGE}),
    errors=(
        ErrorExample(CursorExpired, EXAMPLE_CURSOR),
        ErrorExample(NotInFeed, BEYOND),
        TooManyReaders,
        QueryTooSlow,
        Busy,
    ),
    answer_seconds=WAIT_ANSWER_SECONDS,
    takes_head=False,
)
async def list_changes(request: Request, caller: SecretKeyCaller, services: Services) -> Json[ChangeList]:
    """Read what was written."""
    query = ChangesQuery(**read_values(request.scope["query_string"], READERS))
    if wants_lines(request):
        return await _follow(request, caller, services, query)  # type: ignore[return-value]
    if query.wait:
        request.scope["state"]["deadline"].leave()
    return Json(show_changes(await services.feed.read(caller.project, query)))


async def _follow(request: Request, caller: SecretKeyCaller, services: Services, query: ChangesQuery) -> Response:
    reader = await services.feed.open(caller.project, query)
    lines = ChangeLines(services.feed, caller.project, reader, _may_follow(request, caller, services))
    address = find_client_address(request, services.web.trusted_proxies)
    return Streamed(lines, 200, {"content-type": LINES}, address=address)


def _may_follow(request: Request, caller: SecretKeyCaller, services: Services) -> Callable[[], Awaitable[bool]]:
    """A function that is false once the key was revoked, the operator may no longer read, or the project is gone."""

    async def ask() -> bool:
        try:
            if isinstance(caller, OperatorCaller):
                await services.base.projects.by_id(caller.project.id)
                return await caller.is_allowed()
            await services.base.projects.by_api_key(request.scope["state"][API_KEY])
        except (InvalidApiKey, ProjectNotFound):
            return False
        except ServiceError:
            # The database is away: what was allowed goes on.
            return True
        return True

    return ask


def wants_lines(request: Request) -> bool:
    return LINES in request.headers.get("accept", "").lower()


def show_changes(changes: ChangesPage) -> ChangeList:
    events: list[Any] = list(changes.events)
    return {"events": events, "next": changes.next, "caught_up": changes.caught_up, "lag_ms": changes.lag_ms}


READERS = {
    "after": read_after,
    "events": read_patterns,
    "limit": read_whole(1, MAX_CHANGES),
    "wait": read_whole(0, MAX_WAIT),
}

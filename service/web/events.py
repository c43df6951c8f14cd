"""Events over HTTP. `docs/administration.md` lists their types."""

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from typing_extensions import TypedDict

from service.bounds import MAX_LIMIT
from service.domain.access.caller import SecretKeyCaller, UserCaller
from service.domain.accounts.profile import read_profile
from service.domain.events import EventPage, EventQuery, list_events_of
from service.domain.events import list_events as find_events
from service.domain.limits.policies import AUTH
from service.domain.permissions import Access
from service.errors import QueryTooSlow
from service.query.options import MAX_OFFSET
from service.query.populate import Row
from service.schema.values import BadValue, read_time
from service.services import Services
from service.storage.events import Actor, EventFilter, EventType
from service.web.auth.authenticate import Credential
from service.web.http.query_values import read_values, read_whole
from service.web.http.render import Json
from service.web.openapi import shapes
from service.web.openapi.declaration import Parameter, Schema, Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.openapi.shapes import Id, Limit, Offset, Time, Total

ID = re.compile(r"[0-9a-f]{24}")
DEFAULTS = EventQuery()
TIME: Schema = {"type": "string", "pattern": "^[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$"}
EXAMPLE = {
    "id": "66f0c1a2b3c4d5e6f7a8b9c2",
    "type": "email_changed",
    "at": shapes.EXAMPLE_TIME,
    "user_id": shapes.EXAMPLE_ID,
    "sid": None,
    "ip": None,
    "user_agent": None,
    "actor": "server",
    "detail": {"before": "ann@example.com", "after": "ann.b@example.com"},
}
PAGE = {"a page": {"events": [EXAMPLE], "total": 1, "limit": 50, "offset": 0}}


def _whole(minimum: int, maximum: int, default: int) -> Schema:
    return {"type": "integer", "minimum": minimum, "maximum": maximum, "default": default}


OF_USER = Parameter(name="user_id", description="Events of this user.", schema=shapes.ID_SCHEMA)
PARAMETERS = (
    Parameter(name="type", description="Events of this type.", schema={"type": "string", "enum": [*EventType]}),
    Parameter(name="since", description="Events from this time on: a date, or a time of RFC 3339.", schema=TIME),
    Parameter(name="until", description="Events before this time.", schema=TIME),
    Parameter(name="limit", description="Page size.", schema=_whole(1, MAX_LIMIT, DEFAULTS.limit)),
    Parameter(name="offset", description="Number of events to skip.", schema=_whole(0, MAX_OFFSET, DEFAULTS.offset)),
    Parameter(
        name="count",
        description="`false` skips the total, which is faster.",
        schema={"type": "string", "enum": ["true", "false"], "default": "true"},
    ),
)

lists = partial(endpoint, policy=AUTH, errors=(QueryTooSlow,))


class EventView(TypedDict):
    """One thing that happened to a user; `sid`, `ip` and `user_agent` are of a request of the user's own."""

    id: Id
    type: EventType
    at: Time
    user_id: Id
    sid: str | None
    ip: str | None
    user_agent: str | None
    actor: Annotated[Actor, Field(description="`server`: with the secret key")]
    detail: dict[str, Any]


class EventList(TypedDict):
    events: list[EventView]
    total: Total
    limit: Limit
    offset: Offset


def read_event_query(query_string: bytes, *, of_one_user: bool = False) -> EventQuery:
    """Raises Invalid."""
    readers = {name: reader for name, reader in READERS.items() if not (of_one_user and name == "user_id")}
    values = read_values(query_string, readers)
    paging = {name: values.pop(name) for name in ("limit", "offset", "count") if name in values}
    return EventQuery(EventFilter(**values), **paging)


def _type(text: str) -> EventType:
    if text not in set(EventType):
        raise BadValue(f"must be one of {', '.join(EventType)}")
    return EventType(text)


def _id(text: str) -> str:
    if not ID.fullmatch(text):
        raise BadValue("must be the id of a user: 24 hexadecimal digits, in lower case")
    return text


def _flag(text: str) -> bool:
    if text not in {"true", "false"}:
        raise BadValue("must be true or false")
    return text == "true"


READERS: dict[str, Callable[[str], Any]] = {
    "type": _type,
    "user_id": _id,
    "since": read_time,
    "until": read_time,
    "limit": read_whole(1, MAX_LIMIT),
    "offset": read_whole(0, MAX_OFFSET),
    "count": _flag,
}


def page_view(page: EventPage) -> EventList:
    events = [event_view(row) for row in page.rows]
    return {"events": events, "total": page.total, "limit": page.query.limit, "offset": page.query.offset}


def event_view(row: Row) -> EventView:
    return {
        "id": row["_id"],
        "type": row["type"],
        "at": row["at"],
        "user_id": row["user_id"],
        "sid": row["sid"],
        "ip": row["ip"],
        "user_agent": row["user_agent"],
        "actor": row["actor"],
        "detail": row["detail"],
    }


@lists(
    "GET /auth-collections/events",
    operator=Access("users", "read"),
    credential=Credential.API_KEY,
    tag=Tag.USERS,
    parameters=(OF_USER, *PARAMETERS),
    answer=Success("One page of events, the newest first", PAGE),
)
async def list_events(request: Request, caller: SecretKeyCaller, services: Services) -> Json[EventList]:
    """List what happened to the project's users."""
    query = read_event_query(request.scope["query_string"])
    return Json(page_view(await find_events(caller.project, query)))


@lists(
    "GET /auth-collections/user/events",
    credential=Credential.USER_TOKEN,
    tag=Tag.ACCOUNTS,
    parameters=PARAMETERS,
    answer=Success("One page of the user's events, the newest first", PAGE),
)
async def list_own_events(request: Request, caller: UserCaller, services: Services) -> Json[EventList]:
    """List what happened to the authenticated user."""
    query = read_event_query(request.scope["query_string"], of_one_user=True)
    await read_profile(services.accounts, caller)
    return Json(page_view(await list_events_of(caller.project, caller.user_id, query)))

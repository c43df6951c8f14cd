"""Reads the query string of events, and makes the answer."""

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from service.bounds import MAX_LIMIT
from service.domain.events import EventPage, EventQuery
from service.errors import Invalid, Violation
from service.query.options import MAX_OFFSET
from service.query.parse import parse_pairs
from service.query.populate import Row
from service.schema.values import BadValue, parse_number, read_time
from service.storage.events import Actor, EventFilter, EventType
from service.web.openapi.shapes import Id, Limit, Offset, Time, Total

ID = re.compile(r"[0-9a-f]{24}")


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
    read = {name: reader for name, reader in READERS.items() if not (of_one_user and name == "user_id")}
    violations, values = list[Violation](), dict[str, Any]()
    for name, text in parse_pairs(query_string):
        if (reader := read.get(name)) is None:
            violations.append(Violation(("query", name), f"This endpoint takes {', '.join(read)}", "extra_forbidden"))
            continue
        try:
            values[name] = reader(text)
        except BadValue as error:
            violations.append(Violation(("query", name), f"This {error}", "value_error"))
    if violations:
        raise Invalid(violations)
    paging = {name: values.pop(name) for name in ("limit", "offset", "count") if name in values}
    return EventQuery(EventFilter(**values), **paging)


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = parse_number(text)
        if not isinstance(number, int) or not low <= number <= high:
            raise BadValue(f"must be a whole number from {low} to {high}")
        return number

    return read


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
    "limit": _whole(1, MAX_LIMIT),
    "offset": _whole(0, MAX_OFFSET),
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

"""The declarations of events."""

from service.bounds import MAX_LIMIT
from service.domain.events import EventQuery
from service.errors import QueryTooSlow
from service.query.options import MAX_OFFSET
from service.storage.events import EventType
from service.web.events.bodies import EventList
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Content, Operation, Parameter, Schema, SuccessResponse

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
PAGE = Content(type=EventList, examples={"a page": {"events": [EXAMPLE], "total": 1, "limit": 50, "offset": 0}})


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
PROJECT = Operation(
    id="listEvents",
    tag=tags.USERS,
    parameters=(OF_USER, *PARAMETERS),
    answers=(SuccessResponse(description="One page of events, the newest first", content=(PAGE,)),),
    errors=(QueryTooSlow,),
)
OWN = Operation(
    id="listOwnEvents",
    tag=tags.ACCOUNTS,
    parameters=PARAMETERS,
    answers=(SuccessResponse(description="One page of the user's events, the newest first", content=(PAGE,)),),
    errors=(QueryTooSlow,),
)

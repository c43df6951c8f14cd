"""The declarations of web/realtime."""

from dataclasses import replace

from service.errors import ListNotLive, TooManySubscriptions, UpgradeRequired
from service.web.openapi import tags
from service.web.openapi.declaration import ErrorExample, Operation, Parameter, SuccessResponse

OPEN = Operation(
    id="openSocket",
    tag=tags.DOCUMENTS,
    description="The credential is part of the first message. The messages are described on the page about realtime.",
    answers=(SuccessResponse(status=101, description="The connection is a WebSocket from here on"),),
    errors=(UpgradeRequired,),
)
LAST_EVENT_ID = Parameter(
    name="Last-Event-ID",
    location="header",
    description="The `id` of the last event that came: a stream of events begins with what was missed since.",
    schema={"type": "string"},
)


def with_events(operation: Operation) -> Operation:
    """A list that can be followed as well.

    The answer in events is no content of its own here: a generated client would have to tell it from a page on each call.
    """
    text = "With `Accept: text/event-stream` the list is followed: see the page about realtime."
    return replace(
        operation,
        description=f"{operation.description} {text}".strip(),
        parameters=(*operation.parameters, LAST_EVENT_ID),
        errors=(*operation.errors, ErrorExample(ListNotLive), TooManySubscriptions),
    )

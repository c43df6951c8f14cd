"""The declarations of web/operations."""

from typing import Literal

from typing_extensions import TypedDict

from service.errors import NotFound, Unavailable
from service.web.openapi import tags
from service.web.openapi.declaration import Content, Operation, SuccessResponse

TEXT = {"type": "string"}


class Live(TypedDict):
    status: Literal["live"]


class Ready(TypedDict):
    status: Literal["ready"]


LIVE = Operation(
    id="live",
    tag=tags.OPERATIONS,
    answers=(
        SuccessResponse(
            description="The process answers", content=(Content(type=Live, examples={"live": {"status": "live"}}),)
        ),
    ),
)
READY = Operation(
    id="ready",
    tag=tags.OPERATIONS,
    answers=(
        SuccessResponse(
            description="Requests can be served",
            content=(Content(type=Ready, examples={"ready": {"status": "ready"}}),),
        ),
    ),
    errors=(Unavailable,),
)
METRICS = Operation(
    id="metrics",
    tag=tags.OPERATIONS,
    description="The text format of Prometheus. 404 where the service has no METRICS_TOKEN.",
    answers=(
        SuccessResponse(
            description="The metrics of this process", content=(Content(schema=TEXT, media_type="text/plain"),)
        ),
    ),
    errors=(NotFound,),
)

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


class LandingLink(TypedDict):
    path: str
    name: str
    meaning: str


class Landing(TypedDict):
    service: Literal["auth-collections"]
    status: Literal["ready", "not ready"]
    links: list[LandingLink]


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
EXAMPLE_LINK = {"path": "/docs", "name": "API documentation", "meaning": "Every endpoint, with a form to try it"}
LANDING = Operation(
    id="landing",
    tag=tags.OPERATIONS,
    description="A page where `Accept` has `text/html`, JSON otherwise. Ready or not, the status is 200.",
    answers=(
        SuccessResponse(
            description="What the service is, and where to go on",
            content=(
                Content(
                    type=Landing,
                    examples={
                        "ready": {"service": "auth-collections", "status": "ready", "links": [EXAMPLE_LINK]},
                    },
                ),
                Content(schema=TEXT, media_type="text/html"),
            ),
        ),
    ),
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

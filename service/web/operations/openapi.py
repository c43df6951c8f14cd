"""The declarations of web/operations."""

from service.errors import NotFound, Unavailable
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Component, Content, Operation, SuccessResponse

TEXT = {"type": "string"}


def _status(word: str) -> Content:
    return Content(
        schema=Component(word.capitalize(), shapes.object_of(status={"type": "string", "const": word})),
        examples={word: {"status": word}},
    )


LIVE = Operation(
    id="live",
    tag=tags.OPERATIONS,
    answers=(SuccessResponse(description="The process answers", content=(_status("live"),)),),
)
READY = Operation(
    id="ready",
    tag=tags.OPERATIONS,
    answers=(SuccessResponse(description="Requests can be served", content=(_status("ready"),)),),
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

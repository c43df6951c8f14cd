"""The declarations of web/operations and web/docs."""

from service.errors import FileNotFound, NotFound, Unavailable
from service.web.openapi import shapes, tags
from service.web.openapi.declaration import Answer, Component, Content, Credential, Operation

TEXT = {"type": "string"}


def _status(word: str) -> Content:
    return Content(
        schema=Component(word.capitalize(), shapes.object_of(status={"type": "string", "const": word})),
        examples={word: {"status": word}},
    )


LIVE = Operation(
    id="live",
    tag=tags.OPERATIONS,
    answers=(Answer(description="The process answers", content=(_status("live"),)),),
)
READY = Operation(
    id="ready",
    tag=tags.OPERATIONS,
    answers=(Answer(description="Requests can be served", content=(_status("ready"),)),),
    errors=(Unavailable,),
)
METRICS = Operation(
    id="metrics",
    tag=tags.OPERATIONS,
    credential=Credential.METRICS_TOKEN,
    description="The text format of Prometheus. 404 where the service has no METRICS_TOKEN.",
    answers=(
        Answer(description="The metrics of this process", content=(Content(schema=TEXT, media_type="text/plain"),)),
    ),
    errors=(NotFound,),
)
DOCUMENT = Operation(
    id="openApiDocument",
    tag=tags.DOCUMENTATION,
    answers=(
        Answer(
            description="An OpenAPI 3.1 document",
            content=(Content(schema={"type": "object", "required": ["openapi", "info", "paths"]}),),
        ),
    ),
)
PAGE = Operation(
    id="documentationPage",
    tag=tags.DOCUMENTATION,
    answers=(
        Answer(
            description="A page that shows the document and tries requests",
            content=(Content(schema=TEXT, media_type="text/html"),),
        ),
    ),
)
ASSET = Operation(
    id="documentationAsset",
    tag=tags.DOCUMENTATION,
    answers=(
        Answer(
            description="The file",
            content=tuple(
                Content(schema=TEXT, media_type=media_type) for media_type in ("text/css", "text/javascript")
            ),
        ),
    ),
    errors=(FileNotFound,),
)

"""The declarations of web/docs_ui."""

from typing import Any

from service.errors import FileNotFound
from service.web.docs_ui.viewer import MEDIA_TYPES
from service.web.openapi import tags
from service.web.openapi.declaration import Content, Operation, SuccessResponse

TEXT = {"type": "string"}

DOCUMENT = Operation(
    id="openApiDocument",
    tag=tags.DOCUMENTATION,
    answers=(
        SuccessResponse(
            description="An OpenAPI 3.1 document",
            content=(Content(type=dict[str, Any]),),
        ),
    ),
)
PAGE = Operation(
    id="documentationPage",
    tag=tags.DOCUMENTATION,
    answers=(
        SuccessResponse(
            description="A page that shows the document and tries requests",
            content=(Content(schema=TEXT, media_type="text/html"),),
        ),
    ),
)
ASSET = Operation(
    id="documentationAsset",
    tag=tags.DOCUMENTATION,
    answers=(
        SuccessResponse(
            description="The file",
            content=tuple(
                Content(schema=TEXT, media_type=media_type) for media_type in ("text/css", "text/javascript")
            ),
        ),
    ),
    errors=(FileNotFound,),
    path_parameters={
        "asset": {
            "description": "A file of the page.",
            "schema": {"type": "string", "enum": sorted(MEDIA_TYPES)},
            "example": "swagger-ui.css",
        }
    },
)

"""The declarations of web/realtime."""

from service.errors import UpgradeRequired
from service.web.openapi import tags
from service.web.openapi.declaration import Operation, SuccessResponse

OPEN = Operation(
    id="openSocket",
    tag=tags.DOCUMENTS,
    description="The credential is part of the first message. The messages are described on the page about realtime.",
    answers=(SuccessResponse(status=101, description="The connection is a WebSocket from here on"),),
    errors=(UpgradeRequired,),
)

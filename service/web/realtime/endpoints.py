"""The answer to a request for the socket that opens none."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ServiceCaller
from service.errors import UpgradeRequired
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import Query, endpoint


@endpoint(
    "GET /realtime",
    credential=Credential.NONE,
    query=Query.IGNORED,
    tag=Tag.DOCUMENTS,
    description="The credential is part of the first message. The messages are described on the page about realtime.",
    answer=Success("The connection is a WebSocket from here on", status=101),
    errors=(UpgradeRequired,),
)
async def open_socket(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """Follow queries over a WebSocket."""
    raise UpgradeRequired

"""The answer to a request for the socket that opens none."""

from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ServiceCaller
from service.errors import UpgradeRequired
from service.services import Services


async def open_socket(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """Follow queries over a WebSocket."""
    raise UpgradeRequired

"""What operators ask: is the process alive, can it serve, how does it fare."""

import asyncio

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ServiceCaller
from service.domain.projects.readiness import check_readiness
from service.errors import Unavailable
from service.observe.metrics import exposition
from service.services import Services
from service.web.asgi.deadlines import is_stopping
from service.web.http.render import json_response


async def liveness(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The process answers."""
    return json_response({"status": "live"})


async def readiness(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """Requests can be served, and the server does not stop; 503 otherwise, and the log has the cause."""
    if is_stopping(request):
        raise Unavailable("The service is stopping; try again")
    await check_readiness(services.databases, services.canary, services.versions)
    return json_response({"status": "ready"})


async def metrics(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The metrics, for who has METRICS_TOKEN: they tell how much is used, and by which ways. Not found where it is not set."""
    return Response(await asyncio.to_thread(exposition), media_type=CONTENT_TYPE_LATEST)

"""Endpoints for operators: liveness, readiness, metrics, and the page at the root."""

import asyncio

import structlog
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from service.domain.access.caller import ServiceCaller
from service.domain.projects.readiness import check_readiness
from service.errors import ServiceError, Unavailable
from service.observe.metrics import exposition
from service.services import Services
from service.web.asgi.deadlines import is_stopping
from service.web.auth.local import is_from_here
from service.web.http.render import json_response
from service.web.operations.landing import answer_landing

log = structlog.get_logger()

# A person waits for the page at the root; MongoDB that does not answer by then is not ready.
LANDING_SECONDS = 0.9


async def liveness(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The process answers."""
    return json_response({"status": "live"})


async def readiness(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """Requests can be served, and the server does not stop; 503 otherwise, and the log has the cause."""
    if is_stopping(request):
        raise Unavailable("The service is stopping; try again")
    await check_readiness(services.databases, services.canary, services.versions)
    return json_response({"status": "ready"})


async def landing(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """What this service is, whether it is ready, and links: a page for browsers, JSON for others."""
    try:
        async with asyncio.timeout(LANDING_SECONDS):
            await readiness(request, caller, services)
        is_ready = True
    except (ServiceError, TimeoutError) as error:
        late = f"MongoDB has not answered within {LANDING_SECONDS} seconds"
        log.warning("not_ready", cause=getattr(error, "cause", None) or getattr(error, "code", late))
        is_ready = False
    has_mailbox = request.app.shows_mailbox and is_from_here(request, services.trusted_proxies)
    return answer_landing(request.headers.get("accept", ""), is_ready=is_ready, has_mailbox=has_mailbox)


async def metrics(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The metrics, for who has METRICS_TOKEN: they tell how much is used, and by which ways. Not found where it is not set."""
    return Response(await asyncio.to_thread(exposition), media_type=CONTENT_TYPE_LATEST)

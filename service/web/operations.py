"""What operators ask: is the process alive, can it serve."""

from starlette.requests import Request
from starlette.responses import Response

from service.web.render import json_response
from service.web.services import services


async def live(request: Request) -> Response:  # noqa: ARG001 - the signature of a handler
    """The process answers."""
    return json_response({"status": "live"})


async def ready(request: Request) -> Response:
    """The database answers, so requests can be served; 503 otherwise."""
    await services(request).databases.ping()
    return json_response({"status": "ready"})

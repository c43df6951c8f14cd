"""From a request to the services of the application that answers it."""

from starlette.requests import Request

from service.services import Services

STOPPING = "stopping"


def services(request: Request) -> Services:
    found: Services = request.scope["app"].services
    return found


def is_stopping(request: Request) -> bool:
    """Whether the server has been told to stop; it sets this in the state that each request is given."""
    return STOPPING in request.scope["state"]

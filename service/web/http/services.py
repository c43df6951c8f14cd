"""From a request to the services of the application that answers it."""

from starlette.requests import Request

from service.services import Services


def services(request: Request) -> Services:
    found: Services = request.scope["app"].services
    return found

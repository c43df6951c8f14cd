"""The origin of a sign-in, as its session remembers it."""

from starlette.requests import Request

from service.bounds import MAX_USER_AGENT
from service.domain.sessions.sessions import Client
from service.services import Services
from service.web.auth.client_address import find_client_address


def read_client(request: Request, services: Services) -> Client:
    return Client(find_client_address(request, services.web.trusted_proxies), _user_agent(request))


def _user_agent(request: Request) -> str:
    """The client's description, without characters that are no visible ASCII: it is shown to the user later."""
    sent = request.headers.get("user-agent", "")[:MAX_USER_AGENT]
    return "".join(letter for letter in sent if " " <= letter <= "~")

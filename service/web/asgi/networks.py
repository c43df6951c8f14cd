"""Hides the Admin API and the console from networks that ADMIN_NETWORKS does not name."""

from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from service.web.auth.client_address import Network, find_exact_address
from service.web.auth.operators import COMMAND

HIDDEN = ("/admin/v1", "/console")


class NetworkGuard:
    """Answers clients of other networks as for an unknown path, whatever they ask there."""

    def __init__(self, app: ASGIApp, networks: Sequence[Network], trusted_proxies: Sequence[Network]) -> None:
        self.app = app
        self._networks = networks
        self._trusted_proxies = trusted_proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(HIDDEN) and not self._admits(scope):
            raise HTTPException(404)
        await self.app(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        if COMMAND in scope["state"]:
            return True
        address = find_exact_address(Request(scope), self._trusted_proxies)
        return address is not None and any(address in network for network in self._networks)

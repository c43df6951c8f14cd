"""Puts the service together: the only file that knows everything."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.types import ASGIApp, Lifespan

from service.domain.traffic.tally import Ring, Tally
from service.observe.logging import configure_logging
from service.process import turn_on_collector
from service.services import Services, build_services
from service.settings import EMBEDDED_VARIABLE, WORKERS_VARIABLE, Settings, read_settings
from service.web.asgi.deadlines import Deadlines
from service.web.asgi.networks import NetworkGuard
from service.web.asgi.request_context import DeadlineWatch, RequestContext
from service.web.asgi.router import dispatch
from service.web.asgi.streaming import Streams
from service.web.auth.client_address import Network
from service.web.auth.unknown_paths import UnknownPaths
from service.web.http.render import render_error
from service.web.realtime.sockets import OpenSockets, SocketDispatch
from service.web.routes import ADMIN_ROUTES, CONSOLE_ROUTES, ROUTES


def from_environment() -> Starlette:
    """The application as the environment configures it; what each worker of a server calls."""
    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    app = create_app(settings)
    app.shows_mailbox = os.environ.get(EMBEDDED_VARIABLE) == "1"
    app.workers = int(os.environ.get(WORKERS_VARIABLE) or 1)
    turn_on_collector()
    return app


def create_app(settings: Settings, deadlines: Deadlines = Deadlines()) -> "Application":  # noqa: B008 - frozen
    """The ASGI application. It connects when its lifespan begins, and lives through a database that is away."""
    settings.secret  # noqa: B018 - a missing key must stop the start, not the first request

    @asynccontextmanager
    async def lifespan(app: Application) -> AsyncIterator[None]:
        services = app.services = build_services(settings)
        app.ring, app.tally = services.traffic.log.ring, services.traffic.usage.tally
        services.jobs.start()
        try:
            yield
        finally:
            await services.close()

    app = assemble(lifespan, deadlines)
    app.admin_networks, app.trusted_proxies = settings.admin_networks, settings.trusted_proxies
    return app


def assemble(
    lifespan: "Lifespan[Application] | None" = None,
    deadlines: Deadlines = Deadlines(),  # noqa: B008 - frozen
) -> "Application":
    """The application with all its rows; without a lifespan, a command gives it its services."""
    app = Application(routes=[*ROUTES, *ADMIN_ROUTES, *CONSOLE_ROUTES], lifespan=lifespan)
    app.deadlines, app.streams, app.sockets = deadlines, Streams(), OpenSockets()
    app.router.default = UnknownPaths(app.router.default)
    # A path with a slash too many is not found: a redirect would be built from the client's own Host header.
    app.router.redirect_slashes = False
    return app


class Application(Starlette):
    """Starlette with the service's own layers around every request: a context with CORS, a place, a deadline, an endpoint.

    `services` are there as long as the lifespan runs.
    """

    services: Services
    # Mails are shown without a credential where only this machine asks, and the MongoDB is one for development.
    shows_mailbox = False
    deadlines: Deadlines
    streams: Streams
    sockets: OpenSockets
    # Processes that serve, this one among them.
    workers = 1
    # The requests that wait for their log; None where there is none.
    ring: Ring | None = None
    # The counts of requests; None in a command, whose requests are no traffic.
    tally: Tally | None = None
    # Networks from which operators come; all where there are none.
    admin_networks: tuple[Network, ...] = ()
    trusted_proxies: tuple[Network, ...] = ()

    def build_middleware_stack(self) -> ASGIApp:
        routed: ASGIApp = dispatch(self.router, render_error)
        if self.admin_networks:
            routed = NetworkGuard(routed, self.admin_networks, self.trusted_proxies)
        answered = DeadlineWatch(routed, self.deadlines)
        return RequestContext(answered, render_error, otherwise=SocketDispatch(answered, self.sockets))

"""Puts the service together: the only file that knows everything."""

import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.types import ASGIApp

from service.observe.logging import configure_logging
from service.services import Services, build_services
from service.settings import EMBEDDED_VARIABLE, Settings, read_settings
from service.web.asgi.deadlines import Deadlines
from service.web.asgi.request_context import DeadlineWatch, RequestContext
from service.web.asgi.router import RouteDispatch
from service.web.asgi.streaming import Streams
from service.web.http.render import render_error
from service.web.realtime.sockets import OpenSockets, SocketDispatch
from service.web.routes import ROUTES

# Objects made and not freed before the youngest generation is looked at; and how many of its turns make one of the next.
COLLECTOR_THRESHOLDS = (20_000, 50, 50)


def from_environment() -> Starlette:
    """The application as the environment configures it; what each worker of a server calls."""
    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    app = create_app(settings)
    app.shows_mailbox = os.environ.get(EMBEDDED_VARIABLE) == "1"
    _tune_gc()
    return app


def _tune_gc() -> None:
    """Leaves the objects that are loaded now out of the collector, and lets it run less often.

    Loaded objects live as long as the process, and requests leave few cycles behind. Python's own thresholds date from
    small heaps: they cost a tenth of a request (docs/performance.md). The collector is turned on, because a worker
    imports the program's `__main__`, which turns it off.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


def create_app(settings: Settings, deadlines: Deadlines = Deadlines()) -> "Application":  # noqa: B008 - frozen
    """The ASGI application. It connects when its lifespan begins, and lives through a database that is away."""
    settings.secret  # noqa: B018 - a missing key must stop the start, not the first request

    @asynccontextmanager
    async def lifespan(app: Application) -> AsyncIterator[None]:
        services = app.services = build_services(settings)
        services.jobs.start()
        try:
            yield
        finally:
            await services.close()

    app = Application(routes=ROUTES, lifespan=lifespan)
    app.deadlines, app.streams, app.sockets = deadlines, Streams(), OpenSockets()
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

    def build_middleware_stack(self) -> ASGIApp:
        answered = DeadlineWatch(RouteDispatch(self.router, render_error), self.deadlines)
        return RequestContext(answered, render_error, otherwise=SocketDispatch(answered, self.sockets))

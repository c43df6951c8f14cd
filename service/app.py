"""Puts the service together: the only file that knows everything."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog
from starlette.applications import Starlette
from starlette.types import ASGIApp

from service.domain.accounts import Accounts
from service.domain.catalogs import Catalogs
from service.domain.collections import Collections
from service.domain.documents import Documents
from service.domain.identity_provider import ProviderDefaults
from service.domain.limits import Limits
from service.domain.passwords import Passwords
from service.domain.projects import Projects
from service.domain.schema_changes import SchemaChanges
from service.domain.sealing import Sealer
from service.domain.sign_in import SignIn
from service.domain.submissions import Files
from service.domain.sweeping import keep_sweeping
from service.domain.tokens import Tokens
from service.errors import ServiceError
from service.local import database_uri
from service.logs import configure_logging
from service.providers import Gateway
from service.settings import Settings, read_settings
from service.storage.counters import Counters
from service.storage.databases import Databases
from service.storage.mongo import connect
from service.storage.projects import ProjectStore
from service.storage.sign_in_states import SignInStates
from service.web.admission import Admission
from service.web.cors import Cors
from service.web.dispatch import Dispatch
from service.web.middleware import RequestContext
from service.web.render import render_error
from service.web.routes import ROUTES
from service.web.services import Services

log = structlog.get_logger()

PREPARE_RETRY_SECONDS = 1.0
CLOSE_SECONDS = 2.0
# Objects made and not freed before the youngest generation is looked at; and how many of its turns make one of the next.
COLLECTOR_THRESHOLDS = (20_000, 50, 50)


def from_environment() -> Starlette:
    """The application as the environment configures it; what each worker of a server calls."""
    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    app = create_app(settings)
    _calm_collector()
    return app


def _calm_collector() -> None:
    """What is loaded now stays, so the collector need not look at it again; and requests leave few cycles behind.

    Python's own thresholds date from small heaps: they cost a tenth of a request (docs/performance.md).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


def create_app(settings: Settings) -> "Application":
    """The ASGI application. It connects when its lifespan begins, and lives through a database that is away."""
    settings.secret  # noqa: B018 - a missing key must stop the start, not the first request

    @asynccontextmanager
    async def lifespan(app: Application) -> AsyncIterator[None]:
        client = connect(database_uri(settings))
        passwords = Passwords(settings.bcrypt_cost)
        services = app.services = build_services(settings, Databases(client, settings.database_prefix), passwords)
        background = [
            asyncio.create_task(_prepare(services.databases), name="background: prepare"),
            asyncio.create_task(services.limits.keep(), name="background: limits"),
            asyncio.create_task(keep_sweeping(services.databases), name="background: sweep"),
        ]
        try:
            yield
        finally:
            for task in background:
                task.cancel()
            await services.limits.close()
            passwords.close()
            await services.sign_in.aclose()
            # A process that is told to end does, whatever its connections do.
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await client.close()

    app = Application(routes=ROUTES, lifespan=lifespan)
    # A path with a slash too many is not found: a redirect would be built from the client's own Host header.
    app.router.redirect_slashes = False
    return app


class Application(Starlette):
    """Starlette with the service's own layers: around every request its context, then admission, CORS, its endpoint.

    `services` are there as long as the lifespan runs.
    """

    services: Services

    def build_middleware_stack(self) -> ASGIApp:
        return RequestContext(Admission(Cors(Dispatch(self.router, render_error))), render_error)


def build_services(settings: Settings, databases: Databases, passwords: Passwords) -> Services:
    """One of each service, on databases that need not be there yet."""
    store, sealer = ProjectStore(databases), Sealer(settings.secret)
    projects = Projects(databases, store, sealer, default_id=settings.default_project_id)
    tokens = Tokens(settings.base_url, projects)
    catalogs = Catalogs()
    return Services(
        databases=databases,
        projects=projects,
        tokens=tokens,
        accounts=Accounts(passwords, tokens),
        collections=Collections(catalogs),
        schema_changes=SchemaChanges(catalogs),
        documents=Documents(catalogs),
        files=Files(settings.files_url, projects),
        sign_in=SignIn(Gateway(), SignInStates(databases), tokens=tokens, defaults=_provider_defaults(settings)),
        limits=Limits(Counters(databases)),
        trusted_proxies=settings.trusted_proxies,
        metrics_token=settings.metrics_token.get_secret_value() if settings.metrics_token else None,
    )


def _provider_defaults(settings: Settings) -> ProviderDefaults:
    return ProviderDefaults(
        issuer=settings.idp_issuer,
        authorize_url=settings.idp_authorize_url,
        token_url=settings.idp_token_url,
        userinfo_url=settings.idp_userinfo_url,
        scopes=settings.idp_scopes,
    )


async def _prepare(databases: Databases) -> None:
    """Creates the indexes of the service's own records, as soon as the database is there."""
    while True:
        try:
            return await databases.ensure_indexes()
        except ServiceError as error:
            log.warning("waiting_for_database", cause=type(error.__cause__).__name__)
            await asyncio.sleep(PREPARE_RETRY_SECONDS)

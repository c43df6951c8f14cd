"""Liveness, readiness, metrics for operators, and the page at the root, which says what this is and where to go on."""

import asyncio
import base64
import hashlib
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Literal

import structlog
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from service.domain.access.caller import ServiceCaller
from service.domain.projects.readiness import check_readiness
from service.errors import NotFound, ServiceError, Unavailable
from service.mail.templates import read_layouts
from service.observe.metrics import exposition
from service.services import Services
from service.web.asgi.deadlines import is_stopping
from service.web.auth.authenticate import Credential
from service.web.auth.local import is_from_here
from service.web.http.render import Json
from service.web.openapi.declaration import HTML, TEXT, Content, Success, Tag
from service.web.openapi.endpoint import Query, endpoint

LAYOUTS = read_layouts("service.web.operations")
PAGE_TYPE = "text/html"


@dataclass(frozen=True, slots=True)
class PageLink:
    """A page or a document of the service."""

    path: str
    name: str
    meaning: str


CONSOLE = PageLink("/console/", "Console", "Projects, operators and keys, for those who run the service")
DOCS = PageLink("/docs", "API documentation", "Every endpoint, with a form to try it")
OPENAPI = PageLink("/openapi.json", "OpenAPI document", "For generators of clients")
MAILBOX = PageLink("/mailbox", "Mailbox", "The mails of projects, kept on this machine")


class LandingLink(TypedDict):
    path: str
    name: str
    meaning: str


class Landing(TypedDict):
    service: Literal["auth-collections"]
    status: Literal["ready", "not ready"]
    links: list[LandingLink]


def answer_landing(accept: str, *, is_ready: bool, has_console: bool, has_mailbox: bool) -> Json[Landing] | Response:
    """A page for a client that takes HTML, as browsers say that they do; JSON for all others."""
    links = (*((CONSOLE,) if has_console else ()), DOCS, OPENAPI, *((MAILBOX,) if has_mailbox else ()))
    if PAGE_TYPE not in accept:
        shown: Landing = {
            "service": "auth-collections",
            "status": "ready" if is_ready else "not ready",
            "links": [{"path": link.path, "name": link.name, "meaning": link.meaning} for link in links],
        }
        return Json(shown, {"cache-control": "no-store", "vary": "accept"})
    page = LAYOUTS.get_template("landing.html")
    html = page.render(language="en", style=_style(), is_ready=is_ready, links=links)
    return Response(html, headers=_headers(), media_type=f"{PAGE_TYPE}; charset=utf-8")


def _headers() -> dict[str, str]:
    """Nothing is loaded, nothing runs, and no page frames it."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return {
        "content-security-policy": f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        "vary": "accept",
    }


@cache
def _style() -> str:
    return (files("service.web.operations") / "layouts" / "landing.css").read_text()


log = structlog.get_logger()

# A person waits for the page at the root; MongoDB that does not answer by then is not ready.
LANDING_SECONDS = 0.9
EXAMPLE_LINK = {"path": "/docs", "name": "API documentation", "meaning": "Every endpoint, with a form to try it"}

of_service = partial(endpoint, query=Query.IGNORED, tag=Tag.OPERATIONS)


class Live(TypedDict):
    status: Literal["live"]


class Ready(TypedDict):
    status: Literal["ready"]


@of_service(
    "GET /health/live",
    credential=Credential.NONE,
    answer=Success("The process answers", {"live": {"status": "live"}}),
)
async def live(request: Request, caller: ServiceCaller, services: Services) -> Json[Live]:
    """The process answers."""
    return Json({"status": "live"})


@of_service(
    "GET /health/ready",
    credential=Credential.NONE,
    answer=Success("Requests can be served", {"ready": {"status": "ready"}}),
    errors=(Unavailable,),
)
async def ready(request: Request, caller: ServiceCaller, services: Services) -> Json[Ready]:
    """Requests can be served, and the server does not stop; 503 otherwise, and the log has the cause."""
    if is_stopping(request):
        raise Unavailable("The service is stopping; try again")
    await check_readiness(services.base.databases, services.base.canary, services.base.versions)
    return Json({"status": "ready"})


@of_service(
    "GET /",
    credential=Credential.NONE,
    description="A page where `Accept` has `text/html`, JSON otherwise. Ready or not, the status is 200.",
    answer=Success(
        "What the service is, and where to go on",
        {"ready": {"service": "auth-collections", "status": "ready", "links": [EXAMPLE_LINK]}},
        content=(HTML,),
    ),
)
async def landing(request: Request, caller: ServiceCaller, services: Services) -> Json[Landing] | Response:
    """What this service is, whether it is ready, and links: a page for browsers, JSON for others."""
    try:
        async with asyncio.timeout(LANDING_SECONDS):
            await ready(request, caller, services)
        is_ready = True
    except (ServiceError, TimeoutError) as error:
        late = f"MongoDB has not answered within {LANDING_SECONDS} seconds"
        log.warning("not_ready", cause=getattr(error, "cause", None) or getattr(error, "code", late))
        is_ready = False
    has_mailbox = request.app.shows_mailbox and is_from_here(request, services.web.trusted_proxies)
    return answer_landing(
        request.headers.get("accept", ""),
        is_ready=is_ready,
        has_console=services.operators.rules.has_console,
        has_mailbox=has_mailbox,
    )


@of_service(
    "GET /metrics",
    credential=Credential.METRICS_TOKEN,
    description="The text format of Prometheus. 404 where the service has no METRICS_TOKEN.",
    answer=Success("The metrics of this process", content=(Content(schema=TEXT, media_type="text/plain"),)),
    errors=(NotFound,),
)
async def metrics(request: Request, caller: ServiceCaller, services: Services) -> Response:
    """The metrics, for who has METRICS_TOKEN: they tell how much is used, and by which ways. Not found where it is not set."""
    return Response(await asyncio.to_thread(exposition), media_type=CONTENT_TYPE_LATEST)

"""The page at the root of the service: what this is, whether it is ready, and where to go on. Pure."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from starlette.responses import Response
from typing_extensions import TypedDict

from service.mail.templates import read_layouts
from service.web.http.render import Json

LAYOUTS = read_layouts("service.web.operations")
HTML = "text/html"


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
    if HTML not in accept:
        shown: Landing = {
            "service": "auth-collections",
            "status": "ready" if is_ready else "not ready",
            "links": [{"path": link.path, "name": link.name, "meaning": link.meaning} for link in links],
        }
        return Json(shown, {"cache-control": "no-store", "vary": "accept"})
    page = LAYOUTS.get_template("landing.html")
    html = page.render(language="en", style=_style(), is_ready=is_ready, links=links)
    return Response(html, headers=_headers(), media_type=f"{HTML}; charset=utf-8")


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

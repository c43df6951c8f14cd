"""The page behind the link of a mail: what it says, and the headers that keep it to itself. Pure."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import quote, urlsplit

from starlette.responses import Response

from service.mail.templates import read_layouts
from service.mail.texts import find_language

LAYOUTS = read_layouts("service.web.flows")


@dataclass(frozen=True, slots=True)
class PageForm:
    """The fields of the page's form. `fault` says what was wrong with the last answer.

    `asks_password` is for a new password, `asks_factor` for a code of an app or a recovery code, and `asks_own_password` for
    the present password, or the click of a second button.
    """

    token: str
    email: str = ""
    page: str = ""
    asks_password: bool = False
    asks_factor: bool = False
    asks_own_password: bool = False
    may_go_without: bool = False
    fault: str = ""


def render_page(
    name: str,
    locale: str | None,
    *,
    status: int = 200,
    project: str = "",
    form: PageForm | None = None,
    redirect_to: str | None = None,
) -> Response:
    """The page `name`, as `lost` or a purpose. Its form may lead on to `redirect_to`."""
    language = find_language(locale)
    around = language.around
    title = around[f"page_{name}"].replace("{project}", project)
    html = LAYOUTS.get_template("link.html").render(
        language=language.name,
        title=title,
        more=around.get(f"page_{name}_more", ""),
        around=around,
        style=_style(),
        action=f"?t={quote(form.token)}" if form else "",
        email=form.email if form else "",
        asks_password=form is not None and form.asks_password,
        asks_factor=form is not None and form.asks_factor,
        asks_own_password=form is not None and form.asks_own_password,
        may_go_without=form is not None and form.may_go_without,
        fault=form.fault if form else "",
        button=around["set_password" if form and form.asks_password else "page_button"],
    )
    return Response(html, status, _headers(redirect_to), media_type="text/html; charset=utf-8")


def redirect(url: str) -> Response:
    """To the next page, asked for with GET."""
    return Response(status_code=303, headers={"location": url, **_headers(None)})


def _headers(redirect_to: str | None) -> dict[str, str]:
    """Nothing is loaded, nothing runs, no page frames it, and its address, which holds the token, goes nowhere.

    A browser holds a redirect that answers a form against `form-action`, so where that leads is named.
    """
    target = f" {_source(redirect_to)}" if redirect_to else ""
    return {
        "content-security-policy": f"default-src 'none'; style-src 'sha256-{_style_hash()}'; img-src data:; "
        f"form-action 'self'{target}; base-uri 'none'; frame-ancestors 'none'",
        # Not no-referrer: the page's own form would say Origin: null.
        "referrer-policy": "same-origin",
        "cache-control": "no-store",
        "x-frame-options": "DENY",
    }


def _source(url: str) -> str:
    """`https://app.example/done` → `https://app.example`; of an app's own scheme, the scheme."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in {"http", "https"} else f"{parts.scheme}:"


@cache
def _style() -> str:
    return (files("service.web.flows") / "layouts" / "link.css").read_text()


@cache
def _style_hash() -> str:
    return base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()

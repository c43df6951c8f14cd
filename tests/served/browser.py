"""The pages of docs/examples in a real browser."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PATIENCE_MS = 30_000
# A browser has passkeys for names, and none for the numbers of a machine.
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@dataclass(frozen=True)
class Site:
    """A page's address, which says where the service is and holds the publishable key; the service, and its project's keys."""

    url: str
    service: str
    publishable_key: str
    key: str


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        pass


@contextmanager
def file_server(folder: Path) -> Iterator[str]:
    """A server of `folder`, as `python3 -m http.server` is one."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def window(browser: Browser, *, width: int = 900) -> Iterator[Page]:
    """A window of its own user. Errors of its page fail the test, but for refusals by the service."""
    context = browser.new_context(viewport={"width": width, "height": 700})
    opened, complaints = context.new_page(), list[str]()
    opened.set_default_timeout(PATIENCE_MS)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("dialog", lambda dialog: complaints.append(dialog.message))
    opened.on(
        "console", lambda m: complaints.append(m.text) if m.type == "error" and "status of 4" not in m.text else None
    )
    yield opened
    context.close()
    assert complaints == []


def shoot(page: Page, name: str) -> None:
    """Pictures for whoever wants to look at the page: in light and dark, and as wide as a phone."""
    if folder := os.environ.get("SCREENSHOTS"):
        for scheme, width in (("light", 900), ("dark", 900), ("light", 360), ("dark", 360)):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 700})
            page.screenshot(path=f"{folder}/{name}-{scheme}-{width}.png")


def connect(page: Page, site: Site) -> None:
    """Opens the page without what its address says, and says it in its form."""
    page.goto(site.url.partition("?")[0])
    page.get_by_label("Service").fill(site.service)
    page.get_by_label("Publishable key").fill(site.publishable_key)
    page.get_by_role("button", name="Go on").click()


def sign(page: Page, email: str, way: str, password: str = "correct horse") -> None:
    """Up, or in."""
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name=way).click()


def add_device(page: Page) -> tuple[CDPSession, str]:
    """The browser has an authenticator from now on."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    return session, made["authenticatorId"]

"""A real browser shows uploaded images, and runs no script in one."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, Route

from faults.samples import FORM_TYPE, SCRIPTED_SVG, SVG, account, file_part, form, picture
from faults.server import Server
from tests.chromium import launched, needs_chromium

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page()
    yield opened
    opened.close()


def uploaded(server: Server, name: str, content: bytes) -> str:
    """The URL of a user's file, on the server's own port."""
    answer = server.signup(form(account(), file_part("a", name, content)))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["user"]["data"]["a"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", picture("PNG")),
        ("a.webp", picture("WEBP")),
        ("a.svg", SVG),
        ("scripted.svg", SCRIPTED_SVG),
        ("styled.svg", SVG.replace(b"<rect", b"<style>rect{fill:blue}</style><rect")),
    ],
    ids=["png", "webp", "svg", "svg with a script", "svg with a style"],
)
def test_f8_a_page_of_another_origin_shows_the_image(server: Server, page: Page, name: str, content: bytes) -> None:
    url = uploaded(server, name, content)
    page.set_content(f'<img id="it" src="{url}">')
    page.wait_for_function("document.getElementById('it').complete")
    assert page.evaluate("[it.naturalWidth, it.naturalHeight]") == [20, 10]


def test_f8_a_styled_svg_keeps_its_colour(server: Server, page: Page) -> None:
    url = uploaded(server, "styled.svg", SVG.replace(b"<rect", b"<style>rect{fill:blue}</style><rect"))
    page.set_content(f'<img id="it" src="{url}">')
    page.wait_for_function("document.getElementById('it').complete")
    shot = Image.open(io.BytesIO(page.locator("#it").screenshot())).convert("RGB")
    assert shot.getpixel((10, 5)) == (0, 0, 255)


@pytest.fixture(params=["of a user", "of a document"])
def scripted(request: pytest.FixtureRequest, server: Server) -> str:
    """The URL of an image with a script."""
    if request.param == "of a user":
        return uploaded(server, "scripted.svg", SCRIPTED_SVG)
    made = server.request("POST", "/api/collections", json={"name": "drawings", "schema": {"a": {"type": "file"}}})
    assert made.status_code == 201, made.text
    body = form(file_part("a", "scripted.svg", SCRIPTED_SVG))
    answer = server.request("POST", "/api/collections/drawings/documents", content=body, headers=FORM_TYPE)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["data"]["a"])


def test_f8_opening_an_svg_offers_it_as_a_download(scripted: str, page: Page) -> None:
    with page.expect_download() as started:
        page.evaluate(f"location.href = '{scripted}'")
    assert started.value.suggested_filename == "scripted.svg"
    assert page.url == "about:blank"


def without(*names: str) -> Any:
    """Lets a request through and takes headers out of its answer."""

    def handle(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, headers={k: v for k, v in answer.headers.items() if k not in names})

    return handle


@pytest.mark.parametrize(
    ("taken_out", "ran"),
    [(["content-disposition"], None), (["content-disposition", "content-security-policy"], "yes")],
    ids=["the policy alone holds", "without it the script runs"],
)
def test_f8_no_script_of_an_opened_svg_runs(scripted: str, page: Page, taken_out: list[str], ran: str | None) -> None:
    page.route("**/files/*", without(*taken_out))
    page.goto(scripted)
    assert page.evaluate("document.documentElement.nodeName") == "svg"
    assert page.evaluate("document.documentElement.getAttribute('data-ran')") == ran

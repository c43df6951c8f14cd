"""The page at /docs in a real browser: it shows every endpoint and tries requests, under a strict policy and no network."""

import os
from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Page

from tests.chromium import launched, needs_chromium
from tests.served.conftest import METRICS_TOKEN, Served, make_project

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def key(served: Served, served_settings: dict[str, str]) -> str:
    """That of a project of its own, with one user: what the fuzzer did to the other's is not shown."""
    key = make_project(served_settings, "docs")
    body = {"email": "ann@example.com", "password": "correct horse", "name": "Ann"}
    url = f"{served.base_url}/auth-collections/signup"
    httpx2.post(url, json=body, headers={"x-api-key": key}).raise_for_status()
    return key


@pytest.fixture(scope="module")
def page(served: Served, key: str) -> Iterator[Page]:  # made before its event loop runs
    """The page, opened. `served` is the only host it may reach; what else it asks for, and what it complains of, fails."""
    with launched() as browser:
        opened = browser.new_page(viewport={"width": 1280, "height": 1000})
        opened.set_default_timeout(60_000)
        elsewhere, complaints = list[str](), list[str]()
        opened.on(
            "request", lambda r: elsewhere.append(r.url) if not r.url.startswith((served.base_url, "data:")) else None
        )
        opened.on("console", lambda m: complaints.append(m.text) if m.type in {"error", "warning"} else None)
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.goto(f"{served.base_url}/docs")
        opened.wait_for_selector(".opblock")
        yield opened
        assert elsewhere == []
        assert complaints == []


def test_the_page_shows_every_endpoint(page: Page, served: Served) -> None:
    paths = httpx2.get(f"{served.base_url}/openapi.json").json()["paths"]
    expected = {(method.upper(), path) for path, item in paths.items() for method in item if method != "parameters"}
    blocks = page.locator(".opblock-summary").all()
    shown = {
        (block.locator(".opblock-summary-method").inner_text(), block.locator("[data-path]").get_attribute("data-path"))
        for block in blocks
    }
    assert shown == expected
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/docs.png", full_page=True)


def test_the_page_tries_a_request(page: Page, served: Served, key: str) -> None:
    page.click(".authorize")
    assert page.locator(".modal-ux-content").evaluate("shown => shown.scrollHeight <= shown.clientHeight")
    schemes = page.locator(".auth-container")
    assert schemes.locator("h4 code").all_inner_texts() == ["apiKey", "publishableKey", "userToken", "metricsToken"]
    # Both kinds of key go into one header, so a user enters one of them.
    for name, value in {"apiKey": key, "userToken": served.token, "metricsToken": METRICS_TOKEN}.items():
        scheme = schemes.filter(has=page.locator("h4 code", has_text=name))
        scheme.locator("input").fill(value)
        scheme.locator("button.authorize").click()
    page.click(".modal-ux .close-modal")
    page.click("#operations-Users-listUsers .opblock-summary")
    block = page.locator("#operations-Users-listUsers")
    block.locator(".try-out__btn").click()
    assert block.locator("textarea").first.input_value() == "{}"
    block.locator("textarea").first.fill('{"name_eq": "Ann"}')
    block.locator(".execute").click()
    answered = block.locator(".live-responses-table .response")
    answered.wait_for()
    assert answered.locator(".response-col_status").inner_text().startswith("200")
    assert '"ann@example.com"' in answered.inner_text()
    if folder := os.environ.get("SCREENSHOTS"):
        block.screenshot(path=f"{folder}/docs-request.png")

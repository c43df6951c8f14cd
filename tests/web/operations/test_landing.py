"""The root of the service: a page for browsers, JSON for others."""

import asyncio
import base64
import hashlib
import re

import httpx2
import pytest
from structlog.testing import capture_logs

from service.app import Application
from service.storage.databases import Databases, ServerState
from tests.web.mails.test_mailbox import client

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
LINKS = ["/console/", "/docs", "/openapi.json"]


async def test_a_browser_is_shown_a_page_that_loads_and_runs_nothing(http: httpx2.AsyncClient) -> None:
    page = await http.get("/", headers=BROWSER)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert ">Ready</p>" in page.text
    assert re.findall(r'href="(/[^"]*)"', page.text) == LINKS
    style = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = page.headers["content-security-policy"]
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "<script" not in page.text
    assert (page.headers["vary"].lower(), page.headers["cache-control"]) == ("accept", "no-store")
    for link in LINKS:
        assert (await http.get(link)).status_code == 200


@pytest.mark.parametrize("accept", ["*/*", "application/json", ""])
async def test_others_are_answered_json(http: httpx2.AsyncClient, accept: str) -> None:
    answer = await http.get("/", headers={"accept": accept})
    body = answer.json()
    assert (answer.status_code, body["service"], body["status"]) == (200, "auth-collections", "ready")
    assert [link["path"] for link in body["links"]] == LINKS
    assert (await http.head("/", headers=BROWSER)).status_code == 200
    assert (await http.post("/")).status_code == 405


async def test_the_mailbox_is_named_to_this_machine_only(
    running_app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_app, "shows_mailbox", True)
    for peer, base, links in (
        ("127.0.0.1", "http://127.0.0.1:8000", [*LINKS, "/mailbox"]),
        ("192.0.2.1", "http://127.0.0.1:8000", LINKS),
        ("127.0.0.1", "http://rebound.example:8000", LINKS),
    ):
        async with client(running_app, peer, base) as http:
            assert [link["path"] for link in (await http.get("/")).json()["links"]] == links
            assert re.findall(r'href="(/[^"]*)"', (await http.get("/", headers=BROWSER)).text) == links


async def test_a_service_that_is_not_ready_says_so_and_no_cause(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hello(_: Databases) -> ServerState:
        return ServerState("replica set", is_writable=False)

    monkeypatch.setattr(Databases, "hello", hello)
    with capture_logs() as logs:
        page, answer = [await http.get("/", headers=headers) for headers in (BROWSER, {})]
    assert (page.status_code, answer.status_code, answer.json()["status"]) == (200, 200, "not ready")
    assert ">Not ready: the log of the service has the cause</p>" in page.text
    assert "writes" not in page.text + answer.text
    assert [line["event"] for line in logs if "cause" in line] == ["not_ready"] * 2


async def test_a_mongodb_that_does_not_answer_is_not_ready_within_a_second(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hello(_: Databases) -> ServerState:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(Databases, "hello", hello)
    with capture_logs() as logs:
        answer = await http.get("/")
    assert (answer.status_code, answer.json()["status"]) == (200, "not ready")
    assert [line["cause"] for line in logs if "cause" in line] == ["MongoDB has not answered within 0.9 seconds"]

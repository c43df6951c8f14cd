"""The console's grid on many documents, in Chromium: its requests, documents and bytes, its times beside few documents, its
elements, its heap and its longest task while it scrolls.
"""

import asyncio
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import islice
from statistics import median
from typing import Any

import httpx2
from playwright.sync_api import Browser, Page, Response, sync_playwright
from pymongo import MongoClient
from pymongo.database import Database

from bench.figures import Figure, Goal
from bench.population import FREE
from bench.processes import Server, service_process
from service.domain.operators.invitations import make_bootstrap
from service.services import build_services
from service.settings import Settings
from service.storage.operator_records import OperatorDatabase

PROJECT, FEW, MANY = "console", "few", "many"
FEW_DOCUMENTS, BATCH = 10_000, 10_000
SCHEMA = {"title": {"type": "string"}, "year": {"type": "integer", "index": True}, "kept": {"type": "boolean"}}
BEGINNING = datetime(2026, 1, 1)  # noqa: DTZ001 - as it is stored
OF_OPERATORS = ("operators", "operator_sessions", "operator_invitations")
ACCOUNT = {"name": "Olga", "email": "olga@example.com", "password": "a long pass phrase"}
HELD_ROWS, PAGE_ROWS = 10_000, 100
PIXELS_A_SECOND, SCROLL_SECONDS = 3_000, 10
PATIENCE_MS = 120_000
MEBIBYTE = 1_048_576
# The time at which the first cell has its text, by the page's own clock.
USABLE = """const look = () => {
  // The first cell of a row is its box to select it.
  if (document.querySelector('[role=gridcell].is-frozen')?.textContent) window.usable = performance.now();
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);"""
SCROLL = """([speed, seconds]) => new Promise((done) => {
  const grid = document.querySelector('[role=grid]');
  let longest = 0, nodes = 0, begun = 0;
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) longest = Math.max(longest, each.duration);
  }).observe({type: 'longtask'});
  const count = (all) => { for (const each of all) nodes += each.addedNodes.length + each.removedNodes.length; };
  new MutationObserver(count).observe(grid, {childList: true, subtree: true});
  grid.scrollTop = 0;
  const step = (now) => {
    begun ||= now;
    grid.scrollTop = ((now - begun) / 1000) * speed;
    if (now - begun < seconds * 1000) requestAnimationFrame(step);
    else setTimeout(() => done({longest, nodes}), 500);
  };
  requestAnimationFrame(step);
})"""


def measure_console(settings: Settings, *, documents: int, rounds: int) -> list[Figure]:
    """`rounds` first views of each collection, in turns, with the console's files in the browser's cache."""
    with MongoClient[dict[str, Any]](settings.database_uri) as client:
        system = client[f"{settings.database_prefix}system"]
        for name in OF_OPERATORS:
            system[name].delete_many({})
        key, token = asyncio.run(_prepare(settings))
        database = client[f"{settings.database_prefix}p_{PROJECT}"]
        try:
            with service_process(settings) as server, _browser() as browser:
                for name, number in ((FEW, FEW_DOCUMENTS), (MANY, documents)):
                    _fill(server, key, database, name, number)
                return list(_figures(Views(server, browser, _sign_in(server, token)), documents, rounds))
        finally:
            client.drop_database(database.name)
            system["projects"].delete_one({"_id": PROJECT})
            for name in OF_OPERATORS:
                system[name].delete_many({})


async def _prepare(settings: Settings) -> tuple[str, str]:
    """A project's secret key, and the token of a link for the first owner."""
    services = build_services(settings)
    try:
        _, keys = await services.base.admin.create("Console", PROJECT, FREE)
        invitation = await make_bootstrap(OperatorDatabase(services.base.databases), "http://x/")
    finally:
        await services.close()
    if invitation is None:
        raise RuntimeError("there is an operator")
    return keys.secret, (invitation.link or "").rpartition("/")[2]


def _sign_in(server: Server, token: str) -> list[Any]:
    """The cookies of the owner, who accepts the link."""
    headers = {"origin": server.url, "sec-fetch-site": "same-origin"}
    answer = httpx2.post(
        f"{server.url}/admin/v1/invitations/accept", json={"token": token, **ACCOUNT}, headers=headers, timeout=60
    )
    answer.raise_for_status()
    return [{"name": name, "value": value, "url": server.url} for name, value in answer.cookies.items()]


def _fill(server: Server, key: str, database: Database[dict[str, Any]], name: str, number: int) -> None:
    body = {"name": name, "schema": SCHEMA}
    httpx2.post(f"{server.url}/api/collections", json=body, headers={"x-api-key": key}, timeout=60).raise_for_status()
    rows = (_row(each) for each in range(number))
    while some := list(islice(rows, BATCH)):
        database[f"c_{name}"].insert_many(some, ordered=False, bypass_document_validation=True)


def _row(number: int) -> dict[str, Any]:
    moment = BEGINNING + timedelta(milliseconds=number)
    data = {"title": f"Tome {number}", "year": 1800 + number % 200, "kept": number % 2 == 0}
    return {"_id": f"{number:024x}", "data": data, "created_at": moment, "updated_at": moment, "version": 1}


@contextmanager
def _browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


class Views:
    """First views of a grid, in one window."""

    def __init__(self, server: Server, browser: Browser, cookies: list[Any]) -> None:
        self._server = server
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.add_cookies(cookies)
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.add_init_script(USABLE)
        self.answers = list[Response]()
        self.page.on("response", self._note)

    def _note(self, answer: Response) -> None:
        self.answers.append(answer)

    def open(self, name: str) -> float:
        """The milliseconds from the navigation to the first cell with its text."""
        self.page.goto("about:blank")
        self.answers.clear()
        self.page.goto(f"{self._server.url}/console/#/projects/{PROJECT}/data/{name}")
        self.page.wait_for_selector("[role=gridcell]:not(:empty)")
        while (usable := self.page.evaluate("window.usable")) is None:
            self.page.wait_for_timeout(10)
        return float(usable)

    def asked(self) -> list[Response]:
        """The answers of the project's rows."""
        return [each for each in self.answers if f"/projects/{PROJECT}/" in each.url]


def _figures(views: Views, documents: int, rounds: int) -> Iterator[Figure]:
    views.open(MANY)
    sizes = "performance.getEntriesByType('resource').filter(e => e.name.includes('/console/a/')).map(e => e.encodedBodySize)"
    loaded = sum(views.page.evaluate(sizes))
    views.page.wait_for_load_state("networkidle")
    asked = views.asked()
    sent = [each.request.sizes()["responseBodySize"] for each in asked]
    limits = [json.loads(each.request.post_data or "{}").get("limit", 0) for each in asked]
    times: dict[str, list[float]] = {FEW: [], MANY: []}
    for _ in range(rounds):
        for name, found in times.items():
            found.append(views.open(name))
    few, many = median(times[FEW]), median(times[MANY])
    note = f"{documents:,} documents, files in the cache, {rounds} views in turns with {FEW_DOCUMENTS:,} documents"
    yield Figure("console: to a usable grid", many, "ms", Goal("<=", 400), note)
    yield Figure("console: the same beside few documents", many / few, "x", Goal("<=", 1.2), f"{few:.0f} ms with few")
    yield Figure("console: requests of the project until then", len(asked), "", Goal("<=", 3))
    yield Figure(
        "console: documents that they ask for", sum(limits), "", Goal("<=", PAGE_ROWS + 1), "one for the count"
    )
    yield Figure("console: bytes of the first page", sum(sent), "B", note="their JSON, as it is sent")
    yield Figure("console: files of the grid's page", loaded, "B", Goal("<=", 150_000), "gzipped, with an empty cache")
    elements = views.page.evaluate("document.querySelectorAll('*').length")
    yield Figure("console: elements of the page", elements, "", Goal("<=", 1_500))
    yield from _scroll(views.page)


def _scroll(page: Page) -> Iterator[Figure]:
    page.locator("[role=grid]").focus()
    for number in range(2, HELD_ROWS // PAGE_ROWS + 1):
        page.keyboard.press("Control+End")
        page.wait_for_selector(f"text={number * PAGE_ROWS:,} loaded")
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / MEBIBYTE
    yield Figure("console: heap with 10,000 rows", heap, "MiB", Goal("<=", 40))
    found = page.evaluate(SCROLL, [PIXELS_A_SECOND, SCROLL_SECONDS])
    note = f"{PIXELS_A_SECOND:,} px/s for {SCROLL_SECONDS} s; none is seen below 50 ms"
    yield Figure("console: longest task while it scrolls", found["longest"], "ms", Goal("<=", 50), note)
    yield Figure("console: nodes that come and go meanwhile", found["nodes"], "", Goal("<=", 0))

"""Threat rows K of the clients, in both colours: faults of the network, foreign answers, shared transports."""

import asyncio
import logging
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from auth_collections_client import (
    AsyncClient,
    Client,
    ConfigurationError,
    File,
    RateLimitError,
    ServiceError,
    TransportError,
    UnavailableError,
    memory,
)
from auth_collections_client.retries import Tries
from faults.samples import PNG
from tests.served.clients.python.conftest import Make, Project
from tests.served.clients.python.wire import Chunks, Wire, answer, streamed

PASSWORD = "correct horse"
BUSY = answer(503, b'{"detail": "Busy", "code": "busy"}', retry_after="0")
HTML = answer(502, b"<html>secret page</html>", "text/html")


class OddlyLost(Wire):
    """Loses the answer to the first request of each `Idempotency-Key`."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        super().__init__(losing=self._is_first)

    def _is_first(self, request: httpx2.Request) -> bool:
        key = request.headers.get("idempotency-key")
        is_first = key is not None and key not in self.seen
        self.seen.add(key or "")
        return is_first


async def test_k9_lost_answers_are_written_once(make: Make, name: str) -> None:
    """K9: `create`, `update`, `signup` and a batch, each with its answer lost."""
    wire = OddlyLost()
    server, guest = make(wire=wire), make("user", wire=wire)
    books = server.collection("books")
    counter = await books.create({"title": f"{name}-counter"})

    async def write(number: int) -> None:
        await books.create({"title": f"{name}-{number}"})
        await books.update(counter.id, increment={"stock": 1})

    for start in range(0, 18, 6):
        await asyncio.gather(*(write(number) for number in range(start, start + 6)))
    for number in range(2):
        await guest.auth.signup(f"{name}-{number}@example.com", PASSWORD)
        async with server.batch() as batch:
            batch.collection("books").create({"title": f"{name}-batch-{number}"})
        assert batch.results[0]["status"] == 201
    keyed = [each.headers["idempotency-key"] for each in wire.requests if "idempotency-key" in each.headers]
    assert (len(keyed), len(set(keyed))) == (2 * 41, 41)
    assert await books.count(where={"title_startswith": name}) == 1 + 18 + 2
    assert (await books.get(counter.id)).data["stock"] == 18
    assert await server.users.count(where={"email_startswith": f"{name}-"}) == 2


async def test_k10_what_may_not_be_repeated_is_sent_once(make: Make, name: str) -> None:
    """K10: `replace` with `if_match`, a form, and a guest's `create`."""
    wire = Wire()
    server, guest = make(wire=wire), make("guest", wire=wire)
    books = server.collection("books")
    made = await books.create({"title": name})
    calls: tuple[Callable[[], Any], ...] = (
        lambda: books.replace(made.id, {"title": name}, if_match=made.version),
        lambda: books.update(made.id, {"cover": File("a.png", PNG)}),
        lambda: guest.collection("books").create({"title": f"{name}-guest"}),
        lambda: server.collection("books").create({"title": f"{name}-plain"}, idempotent=False),
    )
    for call in calls:
        wire.requests.clear()
        wire.faults = ["lost"]
        with pytest.raises(TransportError) as lost:
            await call()
        assert (lost.value.code, lost.value.outcome, len(wire.requests)) == ("network", "unknown", 1)
    assert await books.count(where={"title_startswith": name}) == 3


async def test_a_delete_that_is_found_done_is_done(make: Make, name: str) -> None:
    wire = Wire()
    books = make(wire=wire).collection("books")
    made = await books.create({"title": name})
    wire.faults = ["lost"]
    assert await books.delete(made.id) is None
    assert await books.count(where={"title_eq": name}) == 0


async def test_busy_is_asked_again_whatever_the_call(make: Make, name: str) -> None:
    wire = Wire(BUSY, BUSY)
    made = await make("guest", wire=wire).collection("books").create({"title": name})
    assert (made.data["title"], len(wire.requests)) == (name, 3)


async def test_k11_a_long_retry_after_is_thrown_at_once(make: Make) -> None:
    """K11, the first half."""
    wire = Wire(answer(429, b'{"detail": "Slow down", "code": "rate_limit_exceeded"}', retry_after="3600"))
    with pytest.raises(RateLimitError) as limited:
        await make(wire=wire).collection("books").list()
    assert (limited.value.retry_after, limited.value.outcome, len(wire.requests)) == (3600, "refused", 1)


def test_k11_clients_that_lost_the_service_come_back_spread() -> None:
    """K11, the second half: of 1,000 clients that were refused together, no tenth of the time has a third."""
    for error, span in ((UnavailableError("away", status=503, code="unavailable"), 0.25), (busy_for(4.0), 2.0)):
        waits = [Tries("safe", False, 3, 10.0).wait_after(error) for _ in range(1000)]
        starts = sorted(wait - (error.retry_after or 0.0) for wait in waits if wait is not None)
        assert len(starts) == 1000
        assert 0 <= starts[0] < starts[-1] <= span
        tenths = [sum(1 for each in starts if part <= each * 10 / span < part + 1) for part in range(10)]
        assert max(tenths) < 334


def busy_for(seconds: float) -> ServiceError:
    return UnavailableError("busy", status=503, code="busy", retry_after=seconds)


async def test_k13_users_of_one_server_process_never_mix(make: Make, name: str) -> None:
    """K13: many requests of two users over one client; each carries its own token, and no cookie is kept."""
    wire = Wire(answer(200, b"{}", set_cookie="a=b; Path=/"))
    shared = make(wire=wire)
    await shared.request("GET", "/api/collections")
    people = {}
    for who in ("ann", "ben"):
        user = make("user")
        await user.auth.signup(f"{name}-{who}@example.com", PASSWORD)
        people[f"{name}-{who}@example.com"] = (await user.auth.session())["access_token"]

    async def ask(email: str, token: str) -> bool:
        return bool((await shared.with_token(token).auth.user()).email == email)

    assert all(await asyncio.gather(*(ask(*each) for each in [*people.items()] * 20)))
    acting = shared.with_token(next(iter(people.values())))
    for call in (acting.collection("books").distinct("title"), anext(acting.collection("books").export_rows())):
        with pytest.raises(ServiceError) as refused:
            await call
        assert refused.value.status in {401, 403}
    with pytest.raises(ConfigurationError):
        _ = acting.admin
    later = wire.requests[1:]
    assert {each.headers["authorization"].removeprefix("Bearer ") for each in later} == set(people.values())
    # A secret key beside a token would decide instead of the token.
    assert all("x-api-key" not in each.headers for each in later)


async def test_k13_an_own_http_client_keeps_no_cookies(project: Project) -> None:
    """K13: a cookie that one user's answer sets is not sent with another user's request."""
    with foreign_server() as (url, seen):
        with Client(url, project.secret) as client:
            assert [client.request("GET", "/a") for _ in range(2)] == [{}, {}]
        async with AsyncClient(url, project.secret) as other:
            assert [await other.request("GET", "/a") for _ in range(2)] == [{}, {}]
    assert seen == [None] * 4


@contextmanager
def foreign_server() -> Iterator[tuple[str, list[str | None]]]:
    """A server on loopback that sets a cookie with each answer, and the cookies that requests brought."""
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["cookie"])
            self.send_response(200)
            for name, value in {"set-cookie": "a=b", "content-type": "application/json", "content-length": "2"}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()
        serving.join()


async def test_k16_a_redirect_is_not_followed(make: Make) -> None:
    """K16: key and token reach no other place, also where the given HTTP client follows redirects."""
    elsewhere = answer(307, location="http://127.0.0.1:9/stolen")
    wire = Wire(elsewhere, elsewhere)
    for kind in ("server", "guest"):
        with pytest.raises(TransportError) as moved:
            await make(kind, wire=wire).collection("books").list()
        assert (moved.value.code, moved.value.status, moved.value.outcome) == ("bad_answer", 307, "refused")
    assert len(wire.requests) == 2


async def test_k17_foreign_answers_are_bad_answers(make: Make) -> None:
    """K17: HTML, HTML with 200, cut JSON; nothing of a foreign page is in the error."""
    foreign = {
        502: HTML,
        200: answer(200, b"<html>secret page</html>", "text/html"),
        201: answer(201, b'{"id": "secret'),
        500: answer(500, b'["secret"]'),
    }
    for status, fault in foreign.items():
        wire = Wire(*[fault] * 4)
        with pytest.raises(TransportError) as bad:
            await make(wire=wire).collection("books").list(retries=1)
        assert (bad.value.code, bad.value.status, len(wire.requests)) == ("bad_answer", status, 2)
        assert "secret" not in "".join(traceback.format_exception(bad.value))


async def test_k17_a_huge_error_is_not_read(make: Make) -> None:
    """K17: of 1 GB of an error 64 KiB are read, and of a foreign page nothing."""
    huge, page = Chunks(b"[" * 65_536, 16_384), Chunks(b"x" * 65_536, 16_384)
    for body, status, kind in ((huge, 500, "application/json"), (page, 200, "text/html")):
        with pytest.raises(TransportError, match="bad_answer"):
            await make(wire=Wire(streamed(status, body, kind))).collection("books").list(retries=0)
        assert body.read <= 2


class Cut(Chunks):
    """A body that ends before its last chunk, as a connection does."""

    def __iter__(self) -> Iterator[bytes]:
        yield from Chunks.__iter__(self)
        raise httpx2.RemoteProtocolError("peer closed connection")


async def test_k17_a_cut_export_raises(make: Make) -> None:
    """K17: it never looks like a shorter one."""
    wire = Wire(streamed(200, Cut(b'{"id": 1}\n', 3), "application/x-ndjson"))
    lines = []

    async def export() -> None:
        async for chunk in make(wire=wire).collection("books").export_rows():
            lines.append(chunk)  # noqa: PERF401 - the chunks before the error count

    with pytest.raises(TransportError, match="network"):
        await export()
    assert len(lines) == 3


async def test_k23_nothing_secret_is_logged_or_raised(make: Make, name: str, caplog: pytest.LogCaptureFixture) -> None:
    """K23: no key, token, password, query value or body, in records and in tracebacks."""
    caplog.set_level(logging.DEBUG)
    records: list[Any] = []
    store = memory()
    user = make("user", session=store, log=records.append, wire=Wire())
    await user.auth.signup(f"{name}@example.com", PASSWORD, hobby="hush")
    errors = []
    for call in (
        user.auth.login(f"{name}@example.com", "wrong secret"),
        user.collection("books").list(where={"title_eq": "hush", "nope_eq": 1}),
        user.request("GET", "/api/nothing?q=hush", query={"other": "hush"}),
    ):
        with pytest.raises(ServiceError) as raised:
            await call
        errors.append(raised.value)
    printed = "".join("".join(traceback.format_exception(each)) + repr(each.__dict__) for each in errors)
    shown = printed + repr(records) + repr(user) + " ".join(each for each in caplog.text.split() if "client" in each)
    session = store.get()
    assert session is not None
    for secret in (session["access_token"], session["refresh_token"], "acp_", PASSWORD, "wrong secret", "hush"):
        assert str(secret) not in shown
    assert {"type", "method", "path", "attempt", "status", "ms", "wait", "code", "request_id"} == records[0].keys()


def test_k23_a_key_that_no_header_takes_is_refused_without_being_shown(make: Make) -> None:
    """K23: the HTTP library would show it in its own error."""
    for key in ("", "ac_secret\r\nx: y", "ac_sécret"):
        with pytest.raises(ConfigurationError) as refused:
            make("guest").with_token(key)
        assert "cret" not in str(refused.value)


async def test_a_timeout_is_of_one_attempt(make: Make) -> None:
    def slow(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("slow", request=request)

    wire = Wire(slow)
    found = await make(wire=wire).collection("books").list(limit=1, timeout=5)
    assert (found.limit, len(wire.requests), wire.requests[0].extensions["timeout"]["read"]) == (1, 2, 5)


async def test_a_closed_client_sends_nothing(project: Project) -> None:
    """K21: a call after the end is `aborted`."""
    with Client(project.url, project.secret) as client:
        books = client.collection("books")
    async with AsyncClient(project.url, project.secret) as other:
        other_books = other.collection("books")
    for call in (asyncio.to_thread(books.list), other_books.list()):
        with pytest.raises(TransportError) as aborted:
            await call
        assert (aborted.value.code, aborted.value.outcome) == ("aborted", "refused")


async def test_k21_a_cancelled_task_sends_nothing_more(project: Project, name: str) -> None:
    """K21: during a wait, an upload and a stream, and no connection stays taken."""
    was_refused = asyncio.Event()
    later = answer(429, b'{"detail": "Later", "code": "rate_limit_exceeded"}', retry_after="9")
    wire = Wire(later)
    async with httpx2.AsyncClient(transport=wire) as http:
        client = AsyncClient(project.url, project.secret, http=http, log=lambda _: was_refused.set())
        books = client.collection("books")
        waiting = asyncio.create_task(books.list())
        await was_refused.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        taken = asyncio.Event()

        async def rows() -> AsyncIterator[dict[str, Any]]:
            yield {"title": name, "tags": ["x" * 70_000]}
            taken.set()
            await asyncio.sleep(3600)

        importing = asyncio.create_task(books.import_rows(rows()))
        await taken.wait()
        importing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await importing
        # An export without a row ends at once.
        await books.create({"title": f"{name} kept"})
        count = len(wire.requests)
        exported = books.export_rows()
        await anext(exported)
        await exported.aclose()  # type: ignore[attr-defined]
        assert (count, len(wire.requests)) == (3, 4)
        assert await books.count(where={"title_eq": name}) == 0

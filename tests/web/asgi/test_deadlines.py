"""The time of a request: whoever is late is answered all the same, and nothing else is touched."""

import asyncio
import time
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import Unavailable
from service.web.asgi.deadlines import Deadlines
from service.web.asgi.request_context import DeadlineWatch, extend_deadline

SOON = 0.2
# By when the answer of a request that is late after SOON must be there, on a busy machine.
LIMITS = Deadlines(answer=SOON, body=SOON)
LATE = SOON + LIMITS.look + 30.0


async def asked(app: ASGIApp, receive: Receive | None = None, limits: Deadlines = LIMITS) -> list[Message]:
    """The messages that `app` sends, behind admission. Raises the errors of `app`."""
    sent: list[Message] = []

    async def whole_body() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "headers": [], "state": {}}
    await DeadlineWatch(app, limits)(scope, receive or whole_body, send)
    return sent


async def test_a_request_that_takes_too_long_is_unavailable() -> None:
    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await asyncio.sleep(60)

    started = time.monotonic()
    with pytest.raises(Unavailable):
        await asked(app)
    assert SOON <= time.monotonic() - started < LATE
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


async def test_cleaning_up_may_not_take_for_ever_either() -> None:
    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(60)

    started = time.monotonic()
    with pytest.raises(Unavailable):
        await asked(app)
    assert time.monotonic() - started < LATE + LIMITS.clean_up + LIMITS.look


async def test_an_answer_that_has_begun_is_not_cut_off() -> None:
    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()
        await asyncio.sleep(SOON + 2 * LIMITS.look)
        await send({"type": "http.response.body", "body": b"whole"})

    assert [message["type"] for message in await asked(app)] == ["http.response.start", "http.response.body"]


async def test_the_time_begins_anew_with_what_is_read() -> None:
    # A busy machine must not use up half of it by being late.
    pieces, seconds = iter([b"a", b"b", b"c", b""]), 1.0

    async def receive() -> Message:
        await asyncio.sleep(seconds / 10)
        piece = next(pieces)
        return {"type": "http.request", "body": piece, "more_body": bool(piece)}

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(4):
            await receive()
            await asyncio.sleep(seconds / 2)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    # All of it takes more than twice as long as any one step may.
    assert len(await asked(app, receive, Deadlines(answer=seconds, body=seconds))) == 1


async def test_a_client_that_sends_no_body_is_told_so() -> None:
    async def receive() -> Message:
        await asyncio.sleep(60)
        raise AssertionError

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        await receive()

    with pytest.raises(HTTPException) as told:
        await asked(app, receive)
    assert told.value.status_code == 408


async def test_an_endpoint_may_ask_for_more_time() -> None:
    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        extend_deadline(Request(scope), 60)
        await asyncio.sleep(SOON + 2 * LIMITS.look)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    assert len(await asked(app)) == 1


async def test_a_server_that_stops_says_so() -> None:
    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await asyncio.sleep(60)

    request = asyncio.create_task(asked(app))
    await asyncio.sleep(0)
    request.cancel()
    with pytest.raises(Unavailable, match="stopping"):
        await request

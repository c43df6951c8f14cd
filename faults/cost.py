"""The cost of counting: the CPU of one request to a project under limits, against one under none, in turns."""

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx2
from pydantic import SecretStr
from starlette.applications import Starlette

from faults.commands import KEY
from faults.processes import headers, make_key
from faults.restarts import UNLIMITED
from service.app import create_app
from service.observe.logging import configure_logging
from service.settings import Settings

PREFIX = "f_cost_"
ROUNDS, BATCH = 40, 100
# All that the default limits allow in an hour, at one go.
WHOLE_ROUNDS, WHOLE = 8, 1_000
LIMITED = {"AUTH_LIMIT": "1000000", "TIER": "pro"}
Side = Callable[[], Awaitable[str]]
DEFAULT = {"AUTH_LIMIT": "1000", "TIER": "free"}


@dataclass(frozen=True)
class Cost:
    """Microseconds of CPU a request, medians; and the medians of what limits added in each round, as ratios."""

    without: float
    steady: float
    whole: float

    def __str__(self) -> str:
        steady, whole = (100 * (ratio - 1) for ratio in (self.steady, self.whole))
        return (
            f"{self.without:.0f} us without limits; large ones add {steady:+.1f} %; "
            f"the defaults, from their first request to their last, {whole:+.1f} %"
        )


async def cost(uri: str) -> Cost:
    """Lists one user over ASGI, without a socket: against a real request it flatters nothing but the limits' rivals."""
    configure_logging("error", "json")
    settings = Settings(mongodb_uri=SecretStr(uri), database_prefix=PREFIX, secret_key=SecretStr(KEY), bcrypt_cost=4)
    keys = [(await make_key(uri, PREFIX, **wanted))[1] for wanted in (UNLIMITED, LIMITED)]
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        without, steady = await _compared(app, [partial(_same, key) for key in keys], BATCH, ROUNDS)
        _, whole = await _compared(app, [partial(_same, keys[0]), partial(_fresh, uri)], WHOLE, WHOLE_ROUNDS)
    return Cost(without, steady, whole)


async def _same(key: str) -> str:
    return key


async def _fresh(uri: str) -> str:
    """The key of a project that has asked for nothing yet."""
    return (await make_key(uri, PREFIX, **DEFAULT))[1]


async def _compared(app: Starlette, sides: Sequence[Side], requests: int, rounds: int) -> tuple[float, float]:
    """Two sides in turns: the median of the first, and of the second ÷ the first."""
    first, ratios = [], []
    for _ in range(rounds):
        one, other = [await _batch(app, await side(), requests) for side in sides]
        first.append(one)
        ratios.append(other / one)
    return statistics.median(first), statistics.median(ratios)


async def _batch(app: Starlette, key: str, requests: int) -> float:
    """Microseconds of this process's CPU for one of so many requests."""
    started = time.process_time()
    for _ in range(requests):
        await _list(app, key)
    return (time.process_time() - started) / requests * 1e6


async def _list(app: Starlette, key: str) -> None:
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/auth-collections/users",
        "raw_path": b"/auth-collections/users",
        "query_string": b"limit=1&count=false",
        "root_path": "",
        "headers": [(b"host", b"x"), *((name.encode(), value.encode()) for name, value in headers(key).items())],
        "client": ("192.0.2.1", 1),
        "server": ("127.0.0.1", 80),
    }
    statuses = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    await app(scope, receive, send)
    assert statuses == [httpx2.codes.OK], statuses

"""What counting costs: the CPU of one request to a project under limits, against one under none, in turns."""

import statistics
import time
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import SecretStr
from starlette.applications import Starlette

from service.app import create_app
from service.logs import configure_logging
from service.settings import Settings
from tests.faults.processes import headers, make_key
from tests.faults.restarts import UNLIMITED
from tests.processes import KEY

PREFIX = "f_cost_"
ROUNDS = 40
BATCH = 100
LIMITED = {"AUTH_LIMIT": "1000000", "TIER": "pro"}
DEFAULT = {"AUTH_LIMIT": "1000", "TIER": "free"}


@dataclass(frozen=True)
class Cost:
    """Microseconds of CPU a request: the lower quartile of all rounds, for whatever else runs only adds."""

    without: float
    steady: float
    first_thousand: float

    def __str__(self) -> str:
        steady, first = (100 * (value / self.without - 1) for value in (self.steady, self.first_thousand))
        return (
            f"{self.without:.0f} us without limits; with large ones {self.steady:.0f} us ({steady:+.1f} %); "
            f"with the defaults, from their first request to their last, {self.first_thousand:.0f} us ({first:+.1f} %)"
        )


async def cost(uri: str) -> Cost:
    """Lists one user over ASGI, without a socket: against a real request it flatters nothing but the limits' rivals."""
    configure_logging("error", "json")
    settings = Settings(mongodb_uri=SecretStr(uri), database_prefix=PREFIX, secret_key=SecretStr(KEY), bcrypt_cost=4)
    keys = [(await make_key(uri, PREFIX, **wanted))[1] for wanted in (UNLIMITED, LIMITED)]
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        times: dict[str, list[float]] = {key: [] for key in keys}
        first_thousand = []
        for _ in range(ROUNDS):
            for key in keys:
                times[key].append(await _batch(app, key, BATCH))
        for _ in range(3):
            _, fresh = await make_key(uri, PREFIX, **DEFAULT)
            first_thousand.append(await _batch(app, fresh, 1000))
    without, steady = (statistics.quantiles(times[key])[0] for key in keys)
    return Cost(without, steady, min(first_thousand))


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
    assert statuses == [httpx.codes.OK], statuses

"""THREATS rows L1 to L4: ways around the limits."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from faults import limits
from faults.freeze import DEADLINE_SECONDS, halt
from faults.processes import Service, headers, make_key, running_service
from faults.restarts import UNLIMITED
from service.domain.limits.policies import HOUR
from service.embedded.mongod import embedded_mongodb
from tests.conftest import Api, MakeApi

# The end of a window within a test would let more through than its limit.
MARGIN_SECONDS = 15
LOGIN = {"email": "nobody@example.com", "password": "x"}
PREFIX = "f_attacks_"


@pytest.fixture(autouse=True)
def _within_one_hour() -> None:
    if (left := HOUR - time.time() % HOUR) < MARGIN_SECONDS:
        time.sleep(left)


@pytest.fixture(scope="module")
def behind_a_proxy(mongodb_uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that trusts proxies of 10.0.0.0/8 and of this machine."""
    folder = tmp_path_factory.mktemp("proxied")
    with running_service(
        mongodb_uri, folder, DATABASE_PREFIX=PREFIX, TRUSTED_PROXIES="127.0.0.0/8, 10.0.0.0/8"
    ) as service:
        yield service


async def _login_from(api: Api, **header: str) -> int:
    sent = {name.replace("_", "-"): value for name, value in header.items()}
    return (await api.request("POST", "/auth-collections/login", json=LOGIN, headers=sent)).status_code


async def test_l1_forwarding_headers_of_a_stranger_change_nothing(make_api: MakeApi) -> None:
    api = await make_api(LOGIN_LIMIT="3")
    statuses = [
        await _login_from(api, x_forwarded_for="203.0.113.1"),
        await _login_from(api, forwarded="for=203.0.113.2"),
        await _login_from(api, x_real_ip="203.0.113.3"),
        await _login_from(api, x_forwarded_for="203.0.113.4, 127.0.0.1"),
        await _login_from(api, cf_connecting_ip="203.0.113.5", true_client_ip="203.0.113.5"),
    ]
    assert statuses == [404, 404, 404, 429, 429]


async def test_l1_a_trusted_proxy_is_believed_from_the_right(behind_a_proxy: Service, mongodb_uri: str) -> None:
    _, key = await make_key(mongodb_uri, PREFIX, LOGIN_LIMIT="2")
    sent = [
        "203.0.113.1",
        "1.1.1.1, 203.0.113.1",
        "2.2.2.2, 203.0.113.1, 10.0.0.7",
        "203.0.113.1, 203.0.113.2",
    ]
    async with httpx2.AsyncClient(base_url=behind_a_proxy.url) as client:
        statuses = [
            (
                await client.post(
                    "/auth-collections/login", json=LOGIN, headers=headers(key, **{"x-forwarded-for": value})
                )
            ).status_code
            for value in sent
        ]
    assert statuses == [404, 404, 429, 404]


async def test_l2_of_a_hundred_parallel_logins_at_two_workers_exactly_20_pass(mongodb_uri: str) -> None:
    found = await limits.logins(mongodb_uri)
    assert found.statuses == {404: 20, 429: 80}


async def test_l2_a_worker_killed_in_between_lets_no_request_more_through(mongodb_uri: str) -> None:
    found = await limits.auth(mongodb_uri, requests=700, limit=200, kills=1)
    assert found.passed <= 200
    # A killed worker takes at most one slice with it, a tenth of the limit, and the answers it still owed.
    assert found.passed + found.statuses[0] >= 180
    assert found.statuses.keys() <= {0, 200, 429}


@pytest.mark.parametrize("path", ["/auth-collections/login/", "//auth-collections/login", "/AUTH-COLLECTIONS/LOGIN"])
async def test_l3_another_spelling_of_a_path_is_not_found(make_api: MakeApi, path: str) -> None:
    api = await make_api(LOGIN_LIMIT="1")
    url = f"{api.http.base_url.join('/')}".rstrip("/") + path
    assert (await api.request("POST", url, json=LOGIN)).status_code == 404


async def test_l3_a_query_string_has_no_counter_of_its_own(make_api: MakeApi) -> None:
    api = await make_api(LOGIN_LIMIT="2")
    paths = [f"/auth-collections/login{query}" for query in ("?x=1", "", "?x=2")]
    statuses = [(await api.request("POST", path, json=LOGIN)).status_code for path in paths]
    assert statuses == [422, 404, 429]


async def test_l4_while_mongodb_is_away_nothing_passes_uncounted(tmp_path: Path) -> None:
    with embedded_mongodb(tmp_path) as uri, running_service(uri, tmp_path, DATABASE_PREFIX=PREFIX) as service:
        _, key = await make_key(uri, PREFIX, **UNLIMITED | {"LOGIN_LIMIT": "20", "AUTH_LIMIT": "1000"})
        async with httpx2.AsyncClient(
            base_url=service.url, timeout=DEADLINE_SECONDS + 30, headers=headers(key)
        ) as client:
            assert (await client.post("/auth-collections/login", json=LOGIN)).status_code == 404
            pid = json.loads((tmp_path / "mongodb" / "mongod.json").read_text())["pid"]
            halt(pid)
            try:
                refused = await client.post("/auth-collections/login", json=LOGIN)
            finally:
                os.kill(pid, signal.SIGCONT)
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 1

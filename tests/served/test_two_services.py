"""Two service processes on one MongoDB, as behind a proxy that sends each request to either: nothing is kept in one alone."""

import itertools
import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from faults.commands import Shell, await_ready, free_port, serving
from faults.samples import PNG
from service.cli.running import run_on
from service.domain.limits.policies import HOUR
from service.settings import Settings
from tests.served.conftest import PROJECT_ID, Served

LIMIT = 60
MARGIN_SECONDS = 15
Pair = tuple[httpx2.Client, httpx2.Client]


@pytest.fixture(scope="module")
def both(served: Served, served_settings: dict[str, str]) -> Iterator[Pair]:
    """A client of each; what they share is the database, SECRET_KEY and BASE_URL."""
    port = free_port()
    shared = {**os.environ, **served_settings, "BASE_URL": served.base_url}
    with serving(Shell(shared), "--port", str(port)):
        await_ready(f"http://127.0.0.1:{port}")
        with (
            httpx2.Client(base_url=served.base_url) as one,
            httpx2.Client(base_url=f"http://127.0.0.1:{port}") as other,
        ):
            yield one, other


def test_a_token_of_one_is_good_at_the_other(both: Pair, served: Served) -> None:
    one, other = both
    body = {"email": "two@example.com", "password": "correct horse"}
    token = one.post("/auth-collections/signup", json=body, headers={"x-api-key": served.api_key}).json()[
        "access_token"
    ]
    signed_in = {"authorization": f"Bearer {token}"}
    assert other.put("/auth-collections/user", json={"city": "Paris"}, headers=signed_in).status_code == 200
    assert one.get("/auth-collections/user", headers=signed_in).json()["data"] == {"city": "Paris"}


def test_a_file_sent_to_one_is_read_from_the_other(both: Pair, served: Served) -> None:
    one, other = both
    form = {"picture": ("me.png", PNG)}
    stored = other.put("/auth-collections/user", files=form, headers={"authorization": f"Bearer {served.token}"})
    url = urlsplit(stored.json()["data"]["picture"])
    assert f"{url.scheme}://{url.netloc}" == served.base_url
    assert one.get(url.path).content == other.get(url.path).content == PNG


def test_a_sign_in_begun_at_one_ends_once_at_either(both: Pair) -> None:
    one, other = both
    url = one.get("/auth-collections/login-idp", params={"project_id": PROJECT_ID}).json()["url"]
    answer = {"code": "a-code", "state": parse_qs(urlsplit(url).query)["state"][0]}
    errors = [_error_of(client, answer) for client in (other, one)]
    # The provider cannot be asked, so the exchange fails; afterwards the state is used up.
    assert errors == ["invalid_authorization_code", "authentication_failed"]


def _error_of(client: httpx2.Client, answer: dict[str, str]) -> str:
    redirect = client.get(f"/auth-collections/auth-idp-redirect/{PROJECT_ID}", params=answer)
    return parse_qs(urlsplit(redirect.headers["location"]).query)["svc-error"][0]


def test_a_limit_is_one_limit(both: Pair, served_settings: dict[str, str]) -> None:
    if (left := HOUR - time.time() % HOUR) < MARGIN_SECONDS:
        time.sleep(left)
    settings = Settings(**{name.lower(): value for name, value in served_settings.items()})  # type: ignore[arg-type]
    limits: dict[str, Any] = {"AUTH_LIMIT": str(LIMIT)}
    _, keys = run_on(settings, lambda services: services.base.admin.create("Limited", "limited", limits))
    key = keys.secret
    turns = itertools.islice(itertools.cycle(both), LIMIT * 2)
    statuses = [client.get("/auth-collections/users", headers={"x-api-key": key}).status_code for client in turns]
    assert statuses.count(200) == LIMIT
    assert statuses.count(429) == LIMIT

"""`/metrics`: who may read it, that it adds up over workers, and that neither it nor the log tells a secret."""

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from faults.commands import Shell, await_ready, free_port, serving
from tests.conftest import Api

TOKEN = "token-of-the-metrics"
CREDENTIALS = {"authorization": f"Bearer {TOKEN}"}
ANSWERED = re.compile(r'http_request_duration_seconds_count\{method="(\w+)",route="([^"]+)",status="(\d+)"\} (\S+)')


@contextmanager
def service(shell: Shell, *arguments: str) -> Iterator[tuple[httpx2.Client, list[str]]]:
    """A served project with its key in every request; when it has stopped, the lines it logged."""
    key = shell.json("project", "create", "P", "--id", "p")["api_key"]
    port, lines = free_port(), list[str]()
    with serving(shell, "--port", str(port), *arguments, METRICS_TOKEN=TOKEN) as process:
        await_ready(f"http://127.0.0.1:{port}")
        # A connection for each request, so that every worker gets some.
        headers = {"x-api-key": key, "connection": "close"}
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=headers) as http:
            yield http, lines
        process.send_signal(signal.SIGTERM)
        lines += process.communicate(timeout=30)[1].splitlines()


def answered(http: httpx2.Client) -> dict[tuple[str, str, str], int]:
    """The number of answered requests, by method, route and status."""
    text = http.get("/metrics", headers=CREDENTIALS).raise_for_status().text
    return {(method, route, status): int(float(count)) for method, route, status, count in ANSWERED.findall(text)}


@pytest.mark.parametrize("workers", [1, 2])
def test_requests_are_counted_by_route_and_status_over_all_workers(shell: Shell, workers: int) -> None:
    with service(shell, "--workers", str(workers)) as (http, _):
        for number in range(40):
            assert http.get("/auth-collections/users", params={"limit": 1}).status_code == 200
            assert http.get(f"/nothing/{number}").status_code == 404
        assert http.request("PROPFIND", "/auth-collections/users").status_code == 405
        for _ in range(5):
            found = answered(http)
            assert found["GET", "/auth-collections/users", "200"] == 40
            assert found["GET", "unmatched", "404"] == 40
            assert found["other", "/auth-collections/users", "405"] == 1
        text = http.get("/metrics", headers=CREDENTIALS).text
    assert 'service_errors_total{code="not_found"} 40.0' in text
    assert re.search(r'mongodb_operation_duration_seconds_count\{outcome="ok"\} \d\d', text)
    assert re.search(r"^mongodb_connections [1-9]", text, re.MULTILINE)
    assert re.search(r"^password_hashes_in_progress 0", text, re.MULTILINE)


def test_metrics_are_for_who_has_the_token(shell: Shell) -> None:
    with service(shell) as (http, _):
        assert http.get("/metrics").status_code == 401
        assert http.get("/metrics", headers={"authorization": f"Bearer {TOKEN}x"}).status_code == 401
        answer = http.get("/metrics", headers=CREDENTIALS)
        assert answer.headers["content-type"].startswith("text/plain")


async def test_without_a_token_there_are_no_metrics(api: Api) -> None:
    response = await api.request("GET", "/metrics", headers=CREDENTIALS)
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_the_log_has_a_line_for_each_request_and_no_secret(shell: Shell) -> None:
    with service(shell) as (http, lines):
        form = {"email": "ann@example.com", "password": "correct horse", "note": "private words"}
        token = http.post("/auth-collections/signup", json=form).json()["access_token"]
        http.get("/auth-collections/user", headers={"authorization": f"Bearer {token}"})
        http.get("/auth-collections/user", headers={"authorization": f"Bearer {token}tampered"})
        http.get("/auth-collections/users", params={"email_eq": "ann@example.com"})
        http.get("/auth-collections/users", params={"private_words": "1"}, headers={"x-request-id": "my-own-request"})
        http.post("/auth-collections/login", content=b'{"private words')
        http.get("/metrics", headers=CREDENTIALS)
        key = http.headers["x-api-key"]
    requests = [line for line in map(json.loads, lines) if line["event"] == "request"]
    mine = [line for line in requests if line["route"].startswith("/auth-collections")]
    assert [line["status"] for line in mine] == [201, 200, 401, 200, 422, 422]
    assert all(line.keys() >= {"method", "ms", "request_id", "timestamp", "level"} for line in mine)
    assert {line.get("project") for line in mine} == {"p", None}
    assert mine[4]["request_id"] == "my-own-request"
    for secret in (key, token, TOKEN, "correct horse", "ann@example.com", "email_eq", "private"):
        assert secret not in "\n".join(lines)

"""Broken rules are listed up to a bound, and counted beyond it."""

import json
import time

import pytest

from service.bounds import MAX_REFUSAL_BYTES, MAX_VIOLATIONS
from service.errors import Invalid, Violation
from service.web.http.violations import list_violations
from tests.conftest import Api
from tests.declared import declare

BODY = {"email": "ann@example.com", "password": "correct horse"}


@pytest.mark.parametrize("count", [1, MAX_VIOLATIONS])
def test_what_fits_is_listed_whole(count: int) -> None:
    violations = [Violation(("body", "data", place), "Must be true", "bool") for place in range(count)]
    assert list_violations(Invalid(violations)) == Invalid(violations).body()


@pytest.mark.parametrize("name", ["a", "x" * 1_000_000, "\x00" * 128, "é" * 5_000], ids=["short", "long", "NUL", "é"])
async def test_n7_a_refusal_is_bounded_whatever_the_names_are(api: Api, name: str) -> None:
    count = 40_000 if len(name) == 1 else max(1, 900_000 // len(json.dumps(name)))
    started = time.process_time()
    answer = await api.request(
        "POST", "/auth-collections/login", json=BODY | {f"{place}{name}": 1 for place in range(count)}
    )
    assert time.process_time() - started < 5
    body = answer.json()
    assert (answer.status_code, body["code"]) == (422, "validation_error")
    assert 1 <= len(body["detail"]) <= MAX_VIOLATIONS
    assert len(body["detail"]) + body.get("omitted", 0) == count
    assert len(answer.content) <= MAX_REFUSAL_BYTES


async def test_n7_a_refusal_of_a_few_omits_nothing(api: Api) -> None:
    answer = await api.request("POST", "/auth-collections/login", json={"email": "ann"})
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", "email"], ["body", "password"]]
    assert "omitted" not in answer.json()


async def test_n7_the_refusals_of_a_batch_share_their_bounds(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.domain.batches.batches.BATCH_SECONDS", 60.0)
    await declare(api, {"n": {"type": "integer"}})
    names = {f"{place:03}{'x' * 100}": 1 for place in range(80)}
    create = {"op": "create", "collection": "things", "data": names}
    answer = await api.request("POST", "/api/batch", json={"atomic": False, "operations": [create] * 100})
    errors = [result["error"] for result in answer.json()["results"]]
    assert len(errors) == 100
    assert all(error["detail"] for error in errors)
    assert all(len(error["detail"]) + error.get("omitted", 0) == 80 for error in errors)
    assert sum(len(error["detail"]) for error in errors) <= 2 * MAX_VIOLATIONS
    assert len(answer.content) <= 2 * MAX_REFUSAL_BYTES
    together = await api.request("POST", "/api/batch", json={"operations": [create] * 100})
    assert (together.status_code, together.json()["operation"]) == (422, 0)
    assert len(together.content) <= MAX_REFUSAL_BYTES


async def test_n7_the_refused_lines_of_an_import_share_their_bounds(api: Api) -> None:
    await declare(api, {"n": {"type": "integer"}})
    line = json.dumps({"data": {f"{place:03}{'x' * 100}": 1 for place in range(200)}})
    headers = {"content-type": "application/x-ndjson"}
    path = "/api/collections/things/import"
    answer = await api.request("POST", path, content=f"{line}\n" * 150, headers=headers)
    report = answer.json()
    assert (answer.status_code, report["refused"], len(report["errors"])) == (200, 150, 100)
    assert all(each["errors"] for each in report["errors"])
    assert len(answer.content) <= 2 * MAX_REFUSAL_BYTES

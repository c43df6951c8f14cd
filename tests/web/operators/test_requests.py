"""The log of a project's requests: what an entry has, what it never has, filters, pages and bounds."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pymongo import MongoClient

from faults.commands import Shell
from service.bounds import MAX_REQUESTS_WRITTEN
from service.domain.projects.keys import key_id
from service.domain.projects.lookup import hash_api_key
from service.domain.traffic.request_log import RequestLog
from service.domain.traffic.tally import Ring
from service.services import Services
from service.storage.request_log import RequestFilter, RequestLogStore
from tests.conftest import Api
from tests.web.operators.conftest import Console, Join

Json = dict[str, Any]


@pytest.fixture
async def log(services: Services, api: Api) -> RequestLog:
    """The log without what other tests left."""
    await services.traffic.log.keep_size()
    assert services.traffic.log.ring is not None
    services.traffic.log.ring.take()
    return services.traffic.log


async def entries(owner: Console, api: Api, query: str = "") -> list[Json]:
    answer = await owner.get(f"/admin/v1/projects/{api.project.id}/requests{query}")
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()["requests"]
    return found


async def test_an_entry_says_who_asked_what_and_how_it_ended(owner: Console, api: Api, log: RequestLog) -> None:
    token = (await api.signup()).json()["access_token"]
    await api.as_user(token, "GET", "/auth-collections/user", headers={"x-request-id": "request-of-a-test"})
    await api.request("GET", "/api/collections/none")
    await owner.get(f"/admin/v1/projects/{api.project.id}/api/collections")
    await log.write()
    operator, absent, profile, signup = (await entries(owner, api))[:4]
    assert (profile["route"], profile["status"], profile["request_id"]) == (
        *("/auth-collections/user", 200),
        "request-of-a-test",
    )
    assert profile["user_id"] is not None
    assert (absent["code"], absent["status"], absent["key_id"]) == (
        *("collection_not_found", 404),
        key_id(hash_api_key(api.key)),
    )
    assert operator["route"] == "/admin/v1/projects/{project_id}/api/collections"
    assert operator["operator_id"] is not None
    assert signup["bytes"] > 100
    assert list(absent) == [
        *("id", "at", "method", "route", "status", "ms", "bytes", "key_id", "user_id", "operator_id", "code", "rule"),
        "request_id",
    ]


async def test_no_entry_has_a_value_of_the_request(
    owner: Console, api: Api, log: RequestLog, mongo: MongoClient[Any], database_prefix: str
) -> None:
    await api.request(
        "GET", "/api/collections/hunter2?q=hunter2", headers={"user-agent": "hunter2", "x-other": "hunter2"}
    )
    body = {"email": "hunter2@example.com", "password": "hunter2hunter2"}
    await api.request("POST", "/auth-collections/login", json=body)
    await log.write()
    stored = list(mongo[f"{database_prefix}system"]["requests"].find({"project_id": api.project.id}))
    assert len(stored) == 2
    assert "hunter2" not in str(stored)
    assert api.key not in str(stored)


async def test_the_rule_that_refused_is_named(owner: Console, api: Api, log: RequestLog) -> None:
    await api.request("POST", "/api/collections", json={"name": "notes", "schema": {"text": {"type": "string"}}})
    await api.request("PUT", "/api/rules", json={"collections": {"notes": {"read": "anyone"}}})
    headers = {"x-api-key": api.publishable_key}
    await api.http.post("/api/collections/notes/documents", json={"data": {"text": "x"}}, headers=headers)
    await log.write()
    assert (await entries(owner, api, "?status=4xx"))[0]["rule"] == "collections.notes.create"


async def test_filters_and_pages(owner: Console, api: Api, log: RequestLog) -> None:
    for number in range(5):
        await api.request("GET", f"/api/collections/c{number}")
    await api.request("GET", "/api/collections")
    await log.write()
    # The job of the application writes the requests of this test's own operator as well.
    by_key = f"?key_id={key_id(hash_api_key(api.key))}"
    for query, number in (
        ("status=404", 5),
        ("status=4xx&method=GET&code=collection_not_found", 5),
        ("status=2xx", 1),
        ("status=5xx", 0),
        ("min_ms=86400000", 0),
        ("route=/api/collections", 1),
        ("since=2999-01-01", 0),
        ("since=0001-01-01", 6),
        ("since=2020-01-01&until=2999-01-01", 6),
    ):
        assert len(await entries(owner, api, f"{by_key}&{query}")) == number, query
    seen, cursor = list[str](), ""
    for _ in range(3):
        answer = await owner.get(f"/admin/v1/projects/{api.project.id}/requests{by_key}&status=4xx&limit=2{cursor}")
        seen += [each["id"] for each in answer.json()["requests"]]
        cursor = f"&cursor={answer.json()['next']}"
    assert (len(seen), len(set(seen)), answer.json()["next"]) == (5, 5, None)
    for query in ("limit=201", "status=600", "status=abc", "cursor=x", "none=1", "min_ms=-1", "route="):
        refused = await owner.get(f"/admin/v1/projects/{api.project.id}/requests?{query}")
        assert refused.status_code == 422, query


async def test_c17_a_flood_writes_so_many_a_second_and_counts_the_rest(
    owner: Console, api: Api, log: RequestLog
) -> None:
    assert log.ring is not None
    # No other task takes them meanwhile.
    for number in range(MAX_REQUESTS_WRITTEN + 20):
        log.ring.note(
            (float(number), "GET", "/x", 404, 0.1, 9, api.project.id, None, None, "not_found", None, f"r{number}")
        )
    await log.write()
    answer = (await owner.get(f"/admin/v1/projects/{api.project.id}/requests?route=/x&limit=200")).json()
    assert len(answer["requests"]) >= MAX_REQUESTS_WRITTEN - 5
    assert answer["skipped"] >= 20
    assert answer["oldest"] is not None


async def test_health_is_not_noted(api: Api, log: RequestLog, mongo: MongoClient[Any], database_prefix: str) -> None:
    await api.http.get("/health/live")
    await api.request("GET", "/api/collections")
    await log.write()
    requests = mongo[f"{database_prefix}system"]["requests"]
    assert requests.count_documents({"route": "/api/collections"})
    assert not requests.count_documents({"route": "/health/live"})


async def test_a_project_sees_its_own_requests_only(join: Join, owner: Console, api: Api, log: RequestLog) -> None:
    await owner.post("/admin/v1/projects", {"name": "Other", "id": "other"})
    await api.request("GET", "/api/collections")
    await log.write()
    assert (await owner.get("/admin/v1/projects/other/requests")).json()["requests"] == []
    viewer = await join("viewer@example.com", other="viewer")
    assert (await viewer.get("/admin/v1/projects/other/requests")).status_code == 200
    refused = await viewer.get(f"/admin/v1/projects/{api.project.id}/requests")
    assert refused.json()["code"] == "project_not_found"


async def test_the_collection_is_capped_and_takes_another_size(
    services: Services, mongo: MongoClient[Any], database_prefix: str
) -> None:
    system = mongo[f"{database_prefix}system"]
    for megabytes in (1, 2):
        log = RequestLog(Ring(), RequestLogStore(services.base.databases, megabytes * 1_048_576))
        await log.keep_size()
        await log.keep_size()
        options = system["requests"].options()
        assert (options["capped"], options["size"]) == (True, megabytes * 1_048_576)
    assert {"project_id", "failed"} <= system["requests"].index_information().keys()


async def test_a_collection_that_is_missing_or_not_capped_is_made(
    services: Services, mongo: MongoClient[Any], database_prefix: str
) -> None:
    system = mongo[f"{database_prefix}system"]
    system.drop_collection("requests")
    system["requests"].insert_one({"_id": "0" * 24})
    await services.traffic.log.keep_size()
    assert system["requests"].options()["capped"]
    assert "failed" in system["requests"].index_information()


async def test_a_follower_gets_what_another_worker_writes_late(
    services: Services, api: Api, log: RequestLog, mongo: MongoClient[Any], database_prefix: str
) -> None:
    """Two workers write in one second, the one with the lesser ids after the other."""
    follower = services.traffic.live.follow(RequestFilter(api.project.id, statuses=(400, 600)))
    assert await follower.look() == ([], 0)
    at, requests = datetime.now(UTC), mongo[f"{database_prefix}system"]["requests"]
    found = list[str]()
    for digit, status in (("f", 404), ("e", 200), ("0", 500)):
        id_ = f"{int(at.timestamp()):08x}".ljust(24, digit)
        failed = {"failed": True} if status >= 400 else {}
        requests.insert_one({"_id": id_, "at": at, "project_id": api.project.id, "status": status, **failed})
        found += [str(row["status"]) for row in (await follower.look())[0]]
    assert found == ["404", "500"]


def test_commands_list_the_requests(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    assert shell.json("requests", "list", "p") == {"requests": [], "skipped": 0}
    assert shell.run("requests", "list", "none").returncode == 1

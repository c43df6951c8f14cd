"""Slow queries: described in the log, commented in MongoDB's profile, and listed by `check --indexes`."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from faults.commands import NO_TLS, Shell
from faults.processes import headers, start_service, wait_live
from service.cli.indexes import describe_query
from service.schema.values import now
from service.services import Services
from service.storage.query_watch import QueryShape, SlowQuery
from tests.conftest import Api

NOTES = {"title": {"type": "string"}, "due": {"type": "integer"}}
SECRET = "a very private word"


@pytest.mark.parametrize(
    ("conditions", "sort", "plan", "good"),
    [
        (("data.title $regex",), (), "COUNT IXSCAN(index title)", False),
        (("data.title $regex", "data.due $eq"), (), "FETCH IXSCAN(index due)", True),
        (("data.due $gt",), ("data.due 1",), "FETCH IXSCAN(index due)", True),
        ((), ("data.due 1",), "FETCH IXSCAN(index due)", True),
        (("data.due $eq",), (), "COLLSCAN", False),
    ],
)
def test_f21_a_query_without_an_operator_that_indexes_serve_is_wrong(
    conditions: tuple[str, ...], sort: tuple[str, ...], plan: str, good: bool
) -> None:
    finding = describe_query(SlowQuery(QueryShape("c_notes", conditions, sort), plan, 0.5, now()))
    assert finding.good is good
    assert ("indexes serve it" in str(finding)) is good


def test_f21_a_slow_list_is_described_in_the_log_and_by_check(
    shell: Shell, mongo: MongoClient[Any], tmp_path: Path
) -> None:
    key = shell.json("project", "create", "P", "--id", "p")["api_key"]
    # Every query is slow after one millisecond, on 20,000 documents.
    service = start_service(
        uri=shell.environment["MONGODB_URI"],
        folder=tmp_path,
        DATABASE_PREFIX=shell.environment["DATABASE_PREFIX"],
        SLOW_QUERY_MS="1",
    )
    try:
        wait_live(service)
        with httpx2.Client(base_url=service.url, headers=headers(key), verify=NO_TLS, timeout=60) as client:
            created = client.post("/api/collections", json={"name": "notes", "schema": NOTES})
            assert created.status_code == 201
            notes = mongo[f"{shell.environment['DATABASE_PREFIX']}p_p"]["c_notes"]
            first = client.post("/api/collections/notes/documents", json={"data": {"title": "t", "due": 1}}).json()
            stored = notes.find_one({"_id": first["id"]}) or {}
            notes.insert_many(
                {**stored, "_id": f"{n:024x}", "data": {"title": f"t{n}", "due": n}} for n in range(20_000)
            )
            path = "/api/collections/notes/documents"
            query = {"title_icontains": SECRET, "sort_by": "due", "count": "false"}
            found = client.get(path, params=query, headers={"x-request-id": "slow-request"})
            assert found.status_code == 200
    finally:
        service.terminate()
    log = service.log.read_text()
    (line,) = [json.loads(each) for each in log.splitlines() if '"slow-request"' in each]
    (slow,) = line["slow"]
    assert slow["collection"] == "c_notes"
    assert slow["filter"] == ["data.title $regex"]
    assert slow["sort"] == ["data.due 1", "_id 1"]
    assert slow["plan"]
    assert slow["ms"] >= 1
    assert SECRET not in log
    checked = shell.run("check", "--indexes", "p")
    assert "notes: filter data.title $regex; sort data.due 1, _id 1" in checked.stdout
    assert SECRET not in checked.stdout
    assert 'declare "index": true on due' in checked.stdout
    assert checked.returncode == 1
    shell.run("project", "delete", "p", "--yes")
    assert mongo[f"{shell.environment['DATABASE_PREFIX']}system"]["slow_queries"].count_documents({}) == 0


def test_f21_check_of_indexes_refuses_an_unknown_project(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    unknown, known = shell.run("check", "--indexes", "q"), shell.run("check", "--indexes", "p")
    assert (unknown.returncode, known.returncode) == (1, 0)
    assert "no slow queries" in known.stdout


async def test_f21_commands_carry_the_requests_id_where_the_profiler_is_on(api: Api, services: Services) -> None:
    async def comments(request_id: str) -> list[str]:
        await api.request("GET", "/auth-collections/users?name_eq=x", headers={"x-request-id": request_id})
        await api.request("POST", "/api/collections", json={"name": "notes", "schema": NOTES})
        create = {"json": {"data": {"title": "t"}}, "headers": {"x-request-id": request_id}}
        await api.request("POST", "/api/collections/notes/documents", **create)
        found = api.database["system.profile"].find({"command.comment": request_id})
        return sorted(each["command"].get("find") or each["command"].get("insert") for each in found)

    assert await comments("before-profiling") == []
    api.database.command("profile", 2)
    try:
        services.base.projects.forget_all()
        assert await comments("still-unknown") == []
        await services.base.databases.watch.refresh()
        services.base.projects.forget_all()
        assert await comments("profiled-now") == ["c_notes", "users"]
        # A project that is asked less often than the worker looks keeps its comments.
        for _ in range(2):
            await services.base.databases.watch.refresh()
        services.base.projects.forget_all()
        assert await comments("after-a-rest") == ["c_notes", "users"]
    finally:
        api.database.command("profile", 0)
        await services.base.databases.watch.refresh()

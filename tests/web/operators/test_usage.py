"""Usage: hours and days of a project and of the deployment, sizes, the limits of the day, and figures of projects."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from faults.commands import Shell
from service.domain.traffic.tally import DEPLOYMENT
from service.domain.traffic.usage import SIZES_AGE, Usage, begin_step
from service.errors import Unavailable
from service.schema.values import now, write_time
from service.services import Services
from service.storage.usage import HOUR, HourCounts, UsageStore
from tests.conftest import Api, MakeApi
from tests.web.operators.conftest import Console, Join

Json = dict[str, Any]


@pytest.fixture
def system(mongo: MongoClient[Any], database_prefix: str) -> Database[Any]:
    return mongo[f"{database_prefix}system"]


@pytest.fixture
async def usage(services: Services, api: Api, system: Database[Any]) -> Usage:
    """The counts without those of other tests, whose project may have had the same id."""
    await services.traffic.usage.write()
    system["usage"].delete_many({})
    return services.traffic.usage


@pytest.fixture
async def unmeasured(usage: Usage) -> AsyncIterator[Usage]:
    """The counts, while the application's own job measures nothing."""
    async with usage.measuring:
        yield usage


def _count(found: Json) -> int:
    return sum(step["requests"] for step in found["steps"])


async def report(console: Console, project: str, query: str = "") -> Json:
    answer = await console.get(f"/admin/v1/projects/{project}/usage{query}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def test_a_report_has_every_hour_with_what_was_counted(owner: Console, api: Api, unmeasured: Usage) -> None:
    await api.request("GET", "/api/collections")
    await api.request("GET", "/api/collections/none")
    await owner.get(f"/admin/v1/projects/{api.project.id}/api/collections")
    await unmeasured.write()
    found = await report(owner, api.project.id)
    assert len(found["steps"]) == 24
    assert found["steps"][0]["requests"] == 0
    assert found["steps"][0]["p95_ms"] is None
    # The clock may strike between two of these lines.
    shown = [step for step in found["steps"] if step["requests"]]
    assert sum(step["requests"] for step in shown) == 2
    assert sum(step["errors_4xx"] for step in shown) == 1
    assert sum(step["by"]["data"] for step in shown) == 2
    assert shown[-1]["p95_ms"] is not None
    assert found["sizes"] is None
    # Limits of 0 are none.
    assert found["limits"] == []


async def test_a_report_has_the_limits_of_the_day(owner: Console, make_api: MakeApi) -> None:
    api = await make_api(DAILY_LIMIT="50", MAIL_LIMIT="5")
    for _ in range(3):
        await api.request("GET", "/api/collections")
    limits = {each["name"]: each for each in (await report(owner, api.project.id))["limits"]}
    assert (limits["daily"]["limit"], limits["mails"]["remaining"]) == (50, 5)
    # Slices that the worker holds count as used.
    assert 0 < limits["daily"]["remaining"] <= 47
    assert 0 < limits["daily"]["reset"] <= 86_400


async def test_hours_of_all_workers_add_up_to_days(owner: Console, api: Api, usage: Usage, services: Services) -> None:
    store, hour = UsageStore(services.base.databases), begin_step(now(), "day") - 22 * HOUR
    for _ in range(2):
        counted = HourCounts(api.project.id, hour, {"requests": 3, "ms.4": 3, "by.auth": 3, "bytes": 50}, hour)
        await store.add(
            [counted, HourCounts(api.project.id, hour + HOUR, {"requests": 1, "ms.0": 1, "errors_5xx": 1}, hour)]
        )
    until = write_time(begin_step(now(), "day"))
    found = (await report(owner, api.project.id, f"?step=day&until={until}"))["steps"]
    assert (len(found), found[-1]["at"]) == (30, write_time(begin_step(hour, "day")))
    assert found[-1] == {
        "at": found[-1]["at"],
        "requests": 8,
        "errors_4xx": 0,
        "errors_5xx": 2,
        "bytes": 100,
        "p50_ms": 20,
        "p95_ms": 20,
        "by": {"auth": 6, "data": 0, "files": 0, "aggregate": 0, "realtime": 0},
    }
    assert sum(step["requests"] for step in found) == 8


@pytest.mark.parametrize(
    "query",
    [
        "step=week",
        "since=2026-01-01&until=2026-01-01",
        "since=2000-01-01",
        "since=2000-01-01&step=day",
        "until=9999-12-31T23:30:00Z",
        "until=0001-01-01",
        "since=x",
        "limit=3",
        "step=day&step=hour",
    ],
)
async def test_a_span_that_is_no_span_is_refused(owner: Console, api: Api, query: str) -> None:
    for path in (f"/admin/v1/projects/{api.project.id}/usage", "/admin/v1/usage"):
        assert (await owner.get(f"{path}?{query}")).status_code == 422, path


async def test_the_deployment_has_all_requests_and_the_busiest_projects(
    owner: Console, join: Join, api: Api, usage: Usage, services: Services
) -> None:
    before = (await owner.get("/admin/v1/usage")).json()
    await api.request("GET", "/api/collections")
    await api.http.get("/nowhere")
    await usage.write()
    store, hour = UsageStore(services.base.databases), begin_step(now(), "hour")
    busy = [HourCounts(f"busy-{number}", hour, {"requests": 100 + number}, hour) for number in range(25)]
    await store.add(busy)
    found = (await owner.get("/admin/v1/usage")).json()
    assert _count(found) - _count(before) == 2
    assert [each["id"] for each in found["projects"]] == [f"busy-{number}" for number in range(24, 4, -1)]
    assert DEPLOYMENT not in {each["id"] for each in found["projects"]}
    admin = await join("admin@example.com", every="admin")
    assert (await admin.get("/admin/v1/usage")).status_code == 403


async def test_counts_that_cannot_be_written_are_added_later(
    owner: Console, api: Api, usage: Usage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api.request("GET", "/api/collections")

    async def fail(store: UsageStore, rows: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patched:
        patched.setattr(UsageStore, "add", fail)
        with pytest.raises(Unavailable):
            await usage.write()
    await usage.write()
    assert sum(step["requests"] for step in (await report(owner, api.project.id))["steps"]) == 1


async def test_figures_are_measured_and_age(
    owner: Console, api: Api, usage: Usage, services: Services, system: Database[Any]
) -> None:
    path, ids = f"/admin/v1/projects/{api.project.id}", services.base.store.ids
    await api.signup()
    await api.request("POST", "/api/collections", json={"name": "notes", "schema": {"text": {"type": "string"}}})
    await api.request("POST", "/api/collections/notes/documents", json={"data": {"text": "x"}})
    await api.request("GET", "/api/collections/none")
    await usage.write()
    await usage.measure_all(ids)
    figures = (await owner.get(path)).json()["figures"]
    assert figures["storage_bytes"] > 0
    assert {name: figures[name] for name in ("users", "documents", "requests_24h", "errors_24h")} == {
        "users": 1,
        "documents": 1,
        "requests_24h": 4,
        "errors_24h": 1,
    }
    assert (await report(owner, api.project.id))["sizes"]["documents"] == 1

    # Sizes of less than five minutes stay; older ones are measured again if there was a request since.
    await api.request("POST", "/api/collections/notes/documents", json={"data": {"text": "y"}})
    await usage.write()
    await usage.measure_all(ids)
    figures = (await owner.get(path)).json()["figures"]
    assert (figures["documents"], figures["requests_24h"]) == (1, 5)
    system["usage"].update_one({"_id": f"{api.project.id}/sizes"}, {"$set": {"measured_at": now() - SIZES_AGE}})
    await usage.measure_all(ids)
    assert (await owner.get(path)).json()["figures"]["documents"] == 2

    # After a day without requests nothing is left of them but the time of the last one.
    system["usage"].update_many({"hour": {"$ne": None}}, {"$set": {"hour": now() - timedelta(days=2)}})
    await usage.measure_all(ids)
    later = (await owner.get(path)).json()["figures"]
    assert (later["requests_24h"], later["last_request_at"]) == (0, figures["last_request_at"])


async def test_projects_are_listed_by_their_figures(owner: Console, unmeasured: Usage, services: Services) -> None:
    store = UsageStore(services.base.databases)
    for number, name in enumerate(("one", "two", "three", "four")):
        await owner.post("/admin/v1/projects", {"name": name, "id": name})
        sizes = {"users": 1, "documents": 2, "files": 0, "storage_bytes": 10 - number, "measured_at": now()}
        counts = {"requests_24h": number % 2, "errors_24h": 0, "last_request_at": None, "as_of": now()}
        if name != "four":
            await store.put_sizes(name, {**sizes, **counts})
    for sort, expected in (
        ("storage_bytes", ["four", "three", "two", "one"]),
        ("-requests_24h", ["two", "three", "one", "four"]),
        ("name", ["four", "one", "three", "two"]),
    ):
        page = (await owner.get(f"/admin/v1/projects?sort_by={sort}&limit=1")).json()
        seen = [each["id"] for each in page["projects"]]
        while page["next"] is not None:
            page = (await owner.get(f"/admin/v1/projects?sort_by={sort}&limit=1&cursor={page['next']}")).json()
            seen += [each["id"] for each in page["projects"]]
        assert [each for each in seen if each in expected] == expected, sort
    page = (await owner.get("/admin/v1/projects?sort_by=-storage_bytes")).json()["projects"]
    assert page[0]["figures"]["storage_bytes"] == 10
    assert (await owner.get("/admin/v1/projects/four")).json()["figures"] is None
    # A number that MongoDB does not take, as a cursor: [2**64 - 1, "a"].
    for cursor in ("WzE4NDQ2NzQ0MDczNzA5NTUxNjE1LCJhIl0", "WyJhIiwiYSJd"):
        assert (await owner.get(f"/admin/v1/projects?sort_by=errors_24h&cursor={cursor}")).status_code == 422


async def test_sockets_of_workers_are_counted_while_they_are_noted(
    services: Services, api: Api, system: Database[Any]
) -> None:
    store = UsageStore(services.base.databases)
    await store.note_sockets("a", {api.project.id: 3})
    await store.note_sockets("b", {api.project.id: 4, "other": 9})
    assert await store.count_sockets(api.project.id) == 7
    system["usage"].update_one({"_id": f"{api.project.id}/sockets/a"}, {"$set": {"expires_at": now()}})
    assert await store.count_sockets(api.project.id) == 4


async def test_a_deleted_project_leaves_no_usage(
    services: Services, api: Api, system: Database[Any], usage: Usage
) -> None:
    await api.request("GET", "/api/collections")
    await usage.write()
    await usage.measure_all(services.base.store.ids)
    assert system["usage"].count_documents({"project_id": api.project.id}) == 2
    await services.base.store.remove_rest(api.project.id)
    assert not system["usage"].count_documents({"project_id": api.project.id})


def test_the_command_shows_usage(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    found = shell.json("usage", "p", "--step", "day")
    assert (len(found["steps"]), found["sizes"]) == (30, None)
    assert shell.run("usage", "p").returncode == 0
    assert shell.run("usage", "none").returncode == 1

"""Live streams of a project for operators: entries and rates, one poll for all who watch, bounds, and the end."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from faults.waiting import until
from service.bounds import MAX_LIVE_STREAMS, MAX_OPERATOR_LIVE_STREAMS
from service.domain.traffic import live
from service.domain.traffic.live import LivePolls
from service.errors import Busy, TooManySockets
from service.services import Services
from service.storage.usage import UsageStore
from tests.conftest import Api
from tests.web.operators.conftest import Console, Join


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL_SECONDS", "USAGE_SECONDS", "CHECK_SECONDS"):
        monkeypatch.setattr(live, name, 0.05)


class Watcher:
    """A watcher that keeps what it gets."""

    def __init__(self, *topics: str, holder: str = "olga") -> None:
        self.topics, self.holder = topics, holder
        self.events: list[tuple[str, Any]] = []
        self.comments = 0

    def write(self, topic: str, data: bytes) -> None:
        self.events.append((topic, json.loads(data)))

    def comment(self) -> None:
        self.comments += 1

    async def check(self) -> None:
        """It may always watch."""

    def entries(self) -> list[dict[str, Any]]:
        return [entry for topic, value in self.events if topic == "requests" for entry in value["entries"]]


async def test_all_who_watch_a_project_share_one_poll(
    services: Services, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await services.traffic.log.keep_size()
    # Requests of an earlier project under this id are no new ones then.
    await services.traffic.log.write()
    polls, watchers = services.traffic.live, [Watcher("requests"), Watcher("requests", "usage")]
    reads, asked = 0, UsageStore.count_sockets

    async def count(store: UsageStore, project_id: str) -> int:
        nonlocal reads
        reads += 1
        return await asked(store, project_id)

    monkeypatch.setattr(UsageStore, "count_sockets", count)
    for watcher in watchers:
        polls.join(api.project.id, watcher)
    await until(lambda: len([topic for topic, _ in watchers[1].events if topic == "usage"]) > 1)
    await api.request("GET", "/api/collections/none")
    await services.traffic.log.write()
    missing = "collection_not_found"
    await until(lambda: all(missing in [each["code"] for each in watcher.entries()] for watcher in watchers))
    assert [each["code"] for each in watchers[0].entries()].count(missing) == 1
    assert watchers[0].events == [each for each in watchers[1].events if each[0] == "requests"]
    usage = [value for topic, value in watchers[1].events if topic == "usage"]
    assert set(usage[0]) == {"requests_per_s", "errors_per_s", "p95_ms", "sockets"}
    # Both got each event of one read.
    assert reads <= len(usage) + 1
    assert all(watcher.comments == 1 for watcher in watchers)
    for watcher in watchers:
        polls.leave(api.project.id, watcher)
    await until(lambda: not polls.polls)


async def test_a_worker_has_so_many_streams_and_an_operator_fewer(services: Services) -> None:
    polls = LivePolls(None, None)  # type: ignore[arg-type]
    for number in range(MAX_OPERATOR_LIVE_STREAMS):
        polls.join(f"p{number}", Watcher("usage"))
    with pytest.raises(TooManySockets):
        polls.join("other", Watcher("usage"))
    for number in range(MAX_LIVE_STREAMS - MAX_OPERATOR_LIVE_STREAMS):
        polls.join("p0", Watcher("usage", holder=f"operator {number}"))
    with pytest.raises(Busy):
        polls.join("p0", Watcher("usage", holder="one more"))
    await polls.close()


async def watch(console: Console, api: Api, services: Services, topics: str) -> "asyncio.Task[httpx2.Response]":
    """Opens a stream, whose answer comes when it ends."""
    path = f"/admin/v1/projects/{api.project.id}/live?topics={topics}"
    streaming = asyncio.create_task(console.get(path))
    await until(lambda: api.project.id in services.traffic.live.polls)
    return streaming


async def test_a_stream_has_the_requests_and_ends_with_its_session(
    owner: Console, api: Api, services: Services
) -> None:
    await services.traffic.log.keep_size()
    streaming = await watch(owner, api, services, "requests,usage")
    written = services.traffic.live.polls[api.project.id]
    fresh = written.fresh
    await until(lambda: fresh.seen is not None)
    await api.request("GET", "/api/collections/none")
    await services.traffic.log.write()
    await until(lambda: fresh.seen)
    await owner.delete("/admin/v1/session")
    answer = await asyncio.wait_for(streaming, 60)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")
    events = [block for block in answer.text.split("\n\n") if block.startswith("event: requests")]
    entries = [entry for block in events for entry in json.loads(block.partition("data: ")[2])["entries"]]
    assert [each["route"] for each in entries if each["code"]] == ["/api/collections/{name}"]
    await until(lambda: not services.traffic.live.polls)


async def test_a_stream_ends_with_the_role_and_with_the_project(
    owner: Console, join: Join, api: Api, services: Services
) -> None:
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    streaming = await watch(viewer, api, services, "usage")
    found = (await owner.get("/admin/v1/operators")).json()["operators"]
    viewer_id = next(each["id"] for each in found if each["email"] == "viewer@example.com")
    changed = await owner.request("PATCH", f"/admin/v1/operators/{viewer_id}", json={"roles": {}})
    assert changed.status_code == 200, changed.text
    assert (await asyncio.wait_for(streaming, 60)).status_code == 200
    await until(lambda: not services.traffic.live.polls)
    streaming = await watch(owner, api, services, "usage")
    await services.base.admin.begin_deletion(api.project.id)
    assert (await asyncio.wait_for(streaming, 60)).status_code == 200


async def test_an_open_stream_is_no_use_of_the_session(
    owner: Console, api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = list[str]()
    streaming = await watch(owner, api, services, "usage")
    uses = services.operators.uses
    monkeypatch.setattr(type(uses), "note_session", lambda _, hash_, *__: noted.append(hash_))
    poll = services.traffic.live.polls[api.project.id]
    checked = 0
    (watcher,) = poll.watchers
    check = type(watcher).check

    async def count(self: Any) -> None:
        nonlocal checked
        await check(self)
        checked += 1

    monkeypatch.setattr(type(watcher), "check", count)
    await until(lambda: checked > 1)
    assert noted == []
    await owner.delete("/admin/v1/session")
    await asyncio.wait_for(streaming, 60)


@pytest.mark.parametrize("query", ["", "?topics=", "?topics=all", "?topics=usage&topics=usage", "?topics=usage&x=1"])
async def test_topics_are_named(owner: Console, api: Api, query: str) -> None:
    assert (await owner.get(f"/admin/v1/projects/{api.project.id}/live{query}")).status_code == 422

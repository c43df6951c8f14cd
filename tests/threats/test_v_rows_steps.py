"""Threat rows V2, V4 and V5: values times conditions, judged in steps, in which no project holds the worker.

A step is the time of the loop's thread between two turns of a task that always waits.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog

from faults.waiting import until
from service.domain import steps
from service.domain.realtime.binding import Binder
from service.storage.rules import put_rules
from tests.conftest import Api, MakeApi
from tests.declared import added, declare
from tests.loop_watch import LoopWatch
from tests.threats.conftest import assert_refused
from tests.web.realtime.conftest import Open, address, messages, open_socket
from tests.web.rules.conftest import Person, save, sign_up

__all__ = ["address", "messages", "open_socket"]

LONGEST_STEP = 0.05
DOCUMENTS = "/api/collections/wide/documents"
FIELDS, CONDITIONS, ROWS = 60, 29, 400
VALUES = 45_000


async def fill_wide(api: Api, *, rows: int = ROWS, fields: int = FIELDS, conditions: int = CONDITIONS) -> Person:
    """A live collection whose rules of fields are those of a version without a bound on them; and a user."""
    names = [f"f{number}" for number in range(fields)]
    body = {"name": "wide", "schema": {name: {"type": "integer"} for name in names}, "realtime": True}
    assert (await api.request("POST", "/api/collections", json=body)).status_code == 201
    made = {"data": dict.fromkeys(names, 1)}
    for start in range(0, rows, 100):
        operations = [{"op": "create", "collection": "wide", **made} for _ in range(start, min(start + 100, rows))]
        answer = await api.request("POST", "/api/batch", json={"operations": operations})
        assert answer.status_code == 200, answer.text
    # All but the last do not hold, and that does.
    shown = {"or": [*({f"{names[number % fields]}_eq": number + 2} for number in range(conditions - 1)), {"f0_gte": 0}]}
    rules = {"wide": {"read": "users", "fields": {name: {"read": shown} for name in names}}}
    await put_rules(api.project.database, json.dumps({"collections": rules}))
    return await sign_up(api, "ann")


async def begun() -> None:
    """Waits until long work has its turn, or waits for one."""
    await until(lambda: steps._turns._queues or not steps._turns._free, pause=0)  # noqa: SLF001 - nothing else tells


async def test_v5_a_neighbours_list_does_not_wait_for_long_lists(make_api: MakeApi) -> None:
    hostile, neighbour = await make_api(), await make_api()
    ann, bob = await fill_wide(hostile), await fill_wide(neighbour, rows=300, fields=10, conditions=1)
    query = f"{DOCUMENTS}?limit=1000&count=false"
    assert len((await bob.ask("GET", query)).json()["documents"]) == 300
    long = [asyncio.create_task(ann.ask("GET", query)) for _ in range(2)]
    await begun()
    assert len((await bob.ask("GET", query)).json()["documents"]) == 300
    assert not any(task.done() for task in long)
    assert [(await task).status_code for task in long] == [200] * 2


async def test_v2_a_snapshot_is_shown_in_steps(api: Api, open_socket: Open) -> None:
    ann = await fill_wide(api)
    live = await open_socket()
    await live.hello(token=ann.headers["authorization"].removeprefix("Bearer "))
    await live.send(type="subscribe", id="s", collection="wide", limit=ROWS)
    async with LoopWatch() as watch:
        frame = await live.expect("snapshot", "s")
    assert len(frame["documents"]) == ROWS
    assert frame["documents"][0]["data"].keys() == {f"f{number}" for number in range(FIELDS)}
    assert watch.longest < LONGEST_STEP, watch.longest


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, {"tags": {"type": "array"}, "text": {"type": "string"}, "n": {"type": "integer"}})
    rules = {"things": {"read": "users", "create": "users", "update": "users"}}
    assert (await api.request("PUT", "/api/rules", json={"collections": rules})).status_code == 200
    return api


GUARDS: dict[str, list[dict[str, Any]]] = {
    "eq": [{"tags_eq": -number} for number in range(1, 50)],
    "gt": [{"tags_gt": VALUES + number} for number in range(49)],
    "icontains": [{"text_icontains": f"ab{number}"} for number in range(49)],
    "icontains, letter by letter": [{"text_icontains": "a" * 250 + "b"}],
}
TEXTS = {"icontains": "aB" * 250_000, "icontains, letter by letter": "a" * 400_000 + "é"}


@pytest.mark.parametrize("kind", GUARDS)
async def test_v4_a_guard_that_does_not_hold_is_judged_in_steps(things: Api, kind: str) -> None:
    ann = await sign_up(things, "ann")
    data = {"text": TEXTS[kind], "n": 1} if kind in TEXTS else {"tags": list(range(VALUES)), "n": 1}
    id_ = await added(things, data)
    change = {"increment": {"n": 1}, "where": {"or": GUARDS[kind]}}
    async with LoopWatch() as watch:
        refused = await ann.ask("PATCH", f"/api/collections/things/documents/{id_}", json=change)
    assert_refused(refused, 409)
    assert refused.json()["code"] == "condition_failed"
    assert watch.longest < LONGEST_STEP, watch.longest
    assert things.database.c_things.find_one({"_id": id_}, {"data.n": 1}) == {"_id": id_, "data": {"n": 1}}


async def test_v4_a_batch_of_guards_on_oneself_is_judged_in_steps(api: Api) -> None:
    ann = await sign_up(api, "ann", tags=list(range(VALUES)), n=1)
    guarded = {"op": "update", "collection": "users", "id": ann.id, "data": {"n": 2}, "where": {"or": GUARDS["eq"]}}
    async with LoopWatch() as watch:
        answer = await ann.ask("POST", "/api/batch", json={"atomic": False, "operations": [guarded] * 20})
    assert answer.status_code == 200, answer.text
    assert [each["error"]["code"] for each in answer.json()["results"]] == ["condition_failed"] * 20
    assert watch.longest < LONGEST_STEP, watch.longest
    assert api.database.users.count_documents({"_id": ann.id, "data.n": 1}) == 1


async def test_v5_a_list_whose_client_has_left_is_not_finished(api: Api, address: str) -> None:
    ann = await fill_wide(api)
    host, port = address.split(":")
    head = f"GET {DOCUMENTS}?limit=1000 HTTP/1.1\r\nhost: x\r\nauthorization: {ann.headers['authorization']}\r\n\r\n"
    with structlog.testing.capture_logs() as logs:
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(head.encode())
        await begun()
        writer.transport.abort()
        await until(lambda: any(each["event"] == "request" for each in logs), pause=0)
    assert [each["cause"] for each in logs if each["event"] == "unavailable"] == ["the client has left"]
    assert (await api.http.get("/health/live")).status_code == 200


async def test_v26_rules_within_every_bound_are_read_in_steps(api: Api) -> None:
    """The conditions are those of many collections, of which each has few."""
    names = [f"c{number}" for number in range(60)]
    for name in names:
        await declare(api, {"a": {"type": "integer"}, "b": {"type": "integer"}}, name)
    rule = {"or": [{"a_eq": number} for number in range(28)]}
    rules = {"read": rule, "create": rule, "delete": rule, "update": [{"before": rule, "after": rule}] * 4}
    # The client writes its body before: that is no work of the service.
    body = json.dumps({"collections": dict.fromkeys(names, rules)})
    async with LoopWatch() as watch:
        saved = await api.request("PUT", "/api/rules", content=body, headers={"content-type": "application/json"})
    assert saved.status_code == 200, saved.text
    assert watch.longest < LONGEST_STEP, watch.longest


async def test_v26_many_stored_transitions_do_not_hold_the_loop(things: Api) -> None:
    """As a version without a bound has saved them: they are read once, and each refused change is judged by all."""
    never = {"before": {"n_eq": -1}, "after": {"n_eq": 5}}
    rules = {"things": {"read": "users", "update": [never] * 5_000}}
    await put_rules(things.project.database, json.dumps({"collections": rules}))
    await asyncio.sleep(5.1)
    ann, id_ = await sign_up(things, "ann"), await added(things, {"n": 1})
    for _ in range(2):
        async with LoopWatch() as watch:
            refused = await ann.merge("things", id_, n=5)
        assert_refused(refused, 403)
        assert watch.longest < LONGEST_STEP, watch.longest
    assert things.database.c_things.count_documents({"_id": id_, "data.n": 1}) == 1


@contextmanager
def counted_rounds() -> Iterator[Callable[[], int]]:
    """Counts the rounds of the event loop."""
    rounds = 0

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    try:
        yield lambda: rounds
    finally:
        counting.cancel()


async def test_v2_subscriptions_sent_at_once_begin_in_different_rounds_of_the_loop(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is cached at the second subscription, so that none of them waits for MongoDB."""
    live = await open_socket()
    await live.hello(key=messages.key)
    await live.subscribe("messages", "first")
    begun_in, are_sent, find_sources = list[int](), asyncio.Event(), Binder.find_sources

    async def noting(self: Binder, *arguments: Any) -> Any:
        await are_sent.wait()
        begun_in.append(rounds())
        return await find_sources(self, *arguments)

    monkeypatch.setattr(Binder, "find_sources", noting)
    with counted_rounds() as rounds:
        for number in range(20):
            await live.send(type="subscribe", id=str(number), collection="messages")
        # The socket has them all in its queue by now; it waits for the first.
        for _ in range(100):
            await asyncio.sleep(0)
        are_sent.set()
        await until(lambda: len(begun_in) == 20)
    assert len(set(begun_in)) == 20


async def test_v2_a_socket_is_bound_again_in_different_rounds_of_the_loop(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of the user has all subscriptions of the user's sockets looked at."""
    assert (await save(messages, {"collections": {"messages": {"read": "users"}}})).status_code == 200
    ann, live = await sign_up(messages, "ann"), await open_socket()
    await live.hello(token=ann.headers["authorization"].removeprefix("Bearer "))
    for number in range(20):
        await live.subscribe("messages", str(number))
    bound_in, bind = list[int](), Binder.bind

    async def noting(self: Binder, *arguments: Any) -> Any:
        bound_in.append(rounds())
        return await bind(self, *arguments)

    monkeypatch.setattr(Binder, "bind", noting)
    with counted_rounds() as rounds:
        path = f"/auth-collections/users/{ann.id}"
        assert (await messages.request("PATCH", path, json={"data": {"n": 1}})).status_code == 200
        await until(lambda: len(bound_in) == 20)
    assert len(set(bound_in)) == 20

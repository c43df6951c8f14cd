"""Lists that cost more than they should: what they attach, how many searches they make, how long they may take."""

import asyncio
import tracemalloc
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from pymongo import MongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ExecutionTimeout

from faults.waiting import until
from service.bounds import MAX_LISTS, MAX_LISTS_WAITING, MAX_POPULATED, MAX_RELATIONS, MAX_SLOW_LISTS
from service.domain.lists import LIST_SECONDS, SLOW_SECONDS
from service.domain.paces import Paces, Presence
from service.schema.values import now
from service.services import Services
from service.storage.ids import new_id
from tests.conftest import Api, MakeApi
from tests.declared import add, declare
from tests.threats.conftest import Victim, assert_refused

MEBIBYTE = 1024 * 1024
USER = "/auth-collections/user"


def assert_page_too_large(response: httpx2.Response) -> None:
    assert_refused(response, 422)
    assert [each["type"] for each in response.json()["detail"]] == ["page_too_large"]


@pytest.mark.parametrize("populate", ["friends", "friends.friends", "friends.friends.friends", "*"])
async def test_n18_a_profile_that_names_itself_thousands_of_times_is_refused(
    fresh_victim: Victim, populate: str
) -> None:
    """38,000 ids are what a body of 1 MiB holds, and more than a record may; older ones may have them."""
    own = fresh_victim.user["id"]
    planted = {"$set": {"data.friends_id": [own] * 38_000}}
    fresh_victim.api.database["users"].update_one({"_id": own}, planted)
    tracemalloc.start()
    try:
        response = await fresh_victim.api.users(f"populate={populate}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert_page_too_large(response)
    assert peak < 64 * MEBIBYTE


@pytest.mark.parametrize("populate", ["friends.friends.friends", "friends.friends"])
async def test_n18_what_is_attached_counts_each_time_that_it_is_shown(fresh_victim: Victim, populate: str) -> None:
    own = fresh_victim.user["id"]
    await fresh_victim.as_user("PUT", json={"friends_id": [own] * 120})
    assert_page_too_large(await fresh_victim.api.users(f"populate={populate}"))
    assert (await fresh_victim.api.users("populate=friends")).status_code == 200


@pytest.mark.parametrize("populate", ["friends", "*"])
@pytest.mark.parametrize(
    ("text", "times", "status"),
    [("", MAX_POPULATED, 200), ("", MAX_POPULATED + 1, 422), ("x" * 20_000, 800, 200), ("x" * 20_000, 850, 422)],
    ids=["records within", "records beyond", "bytes within", "bytes beyond"],
)
async def test_n18_the_bounds_are_of_records_and_of_bytes(
    fresh_victim: Victim, populate: str, text: str, times: int, status: int
) -> None:
    friend = (await fresh_victim.api.signup("friend@example.com", text=text)).json()["user"]["id"]
    await fresh_victim.as_user("PUT", json={"friends_id": [friend] * times})
    response = await fresh_victim.api.users(f"populate={populate}&email_eq={fresh_victim.user['email']}")
    assert response.status_code == status
    if status == 422:
        assert_page_too_large(response)
    else:
        friends = response.json()["users"][0]["data"]["friends"]
        assert [each["id"] for each in friends] == [friend] * times


async def test_n18_ids_that_name_nobody_cost_a_null_each(fresh_victim: Victim) -> None:
    await fresh_victim.as_user("PUT", json={"friends_id": [new_id() for _ in range(25_000)]})
    (user,) = (await fresh_victim.api.users("populate=friends")).json()["users"]
    assert user["data"]["friends"] == [None] * 25_000


async def test_n18_a_page_and_what_it_populates_share_one_reply(fresh_victim: Victim) -> None:
    """Nothing more than 16 MB comes from MongoDB, whether in the rows or beside them."""
    users = fresh_victim.api.database["users"]
    ids = [new_id() for _ in range(18)]
    users.insert_many({"_id": id_, "email": id_, "data": {"text": "x" * MEBIBYTE}} for id_ in ids)
    users.update_one({"_id": fresh_victim.user["id"]}, {"$set": {"data.friends_id": ids}})
    one = f"email_eq={fresh_victim.user['email']}"
    assert_page_too_large(await fresh_victim.api.users(f"populate=friends&{one}"))
    assert_page_too_large(await fresh_victim.api.users("populate=nobody"))
    assert_page_too_large(await fresh_victim.api.users(""))
    assert (await fresh_victim.api.users(one)).status_code == 200


async def test_n35_every_relation_of_sixty_thousand_fields_is_one_pass(fresh_victim: Victim) -> None:
    """An answer that is no `query_too_slow` took MongoDB less than two seconds."""
    users, own = fresh_victim.api.database["users"], fresh_victim.user["id"]
    users.update_one({"_id": own}, {"$set": {"data": {f"f{number}_id": new_id() for number in range(60_000)}}})
    response = await fresh_victim.api.users("populate=*")
    assert response.status_code == 200
    assert len(response.json()["users"][0]["data"]) == 60_000


async def test_n35_mongodb_does_not_work_on_after_the_answer(fresh_victim: Victim, mongo: MongoClient[Any]) -> None:
    """As many names as a profile may have, on hundreds of rows."""
    data = {f"f{number}_id": "nobody" for number in range(1_000)}
    users = fresh_victim.api.database["users"]
    users.insert_many({"_id": new_id(), "email": new_id(), "data": data, "created_at": now()} for _ in range(300))
    response = await fresh_victim.api.users("populate=*&limit=300&count=false")
    assert response.status_code in {200, 503}
    assert response.status_code == 200 or response.json()["code"] == "query_too_slow"
    working: list[dict[str, Any]] = [{"$currentOp": {}}, {"$match": {"ns": users.full_name, "active": True}}]
    assert list(mongo.admin.aggregate(working)) == []


class Gate:
    """Holds the reads of one project's lists where the driver is called, and counts those that are under way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, database: str) -> None:
        self.under_way = self.most = 0
        self.open, self.full = asyncio.Event(), asyncio.Event()
        original = AsyncDatabase.command

        async def command(self_: Any, sent: Any, *arguments: Any, **named: Any) -> Any:
            if self_.name != database or not isinstance(sent, dict) or sent.get(next(iter(sent))) != "users":
                return await original(self_, sent, *arguments, **named)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            if self.under_way == MAX_LISTS:
                self.full.set()
            try:
                await self.open.wait()
                return await original(self_, sent, *arguments, **named)
            finally:
                self.under_way -= 1

        monkeypatch.setattr(AsyncDatabase, "command", command)


async def test_n22_conditions_follow_a_few_relations(victim: Victim) -> None:
    def query(count: int) -> str:
        return "&".join(f"r{number}.name_eq=x" for number in range(count))

    assert (await victim.api.users(query(MAX_RELATIONS))).status_code == 200
    assert_refused(await victim.api.users(query(MAX_RELATIONS + 1)), 422)
    assert_refused(await victim.api.users(query(50)), 422)
    assert (await victim.api.users("a.b.c.x_eq=1&a.b.x_eq=1&d.e.x_eq=1")).status_code == 200
    assert_refused(await victim.api.users("a.b.c.x_eq=1&d.e.f.x_eq=1"), 422)


async def test_n22_a_list_makes_its_searches_one_after_the_other(
    victim: Victim, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, victim.api.database.name)
    gate.open.set()
    relations = "&".join(f"r{number}.name_ne=x" for number in range(MAX_RELATIONS))
    assert (await victim.api.users(f"{relations}&populate=a,b&limit=1")).status_code == 200
    assert gate.most == 1


def _wait_for_ever(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a list that waits for a place nor one behind a gate is refused for the time that the test takes."""
    monkeypatch.setattr(services.accounts.lists._shares, "seconds", 3_600.0)  # noqa: SLF001
    monkeypatch.setattr("service.domain.lists.LIST_SECONDS", 3_600.0)


async def test_n22_a_project_at_its_bound_of_lists_is_refused_and_others_are_not(
    make_api: MakeApi, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long the first list takes on a machine that does much else.
    monkeypatch.setattr(services.accounts.lists._shares, "_paces", None)  # noqa: SLF001
    _wait_for_ever(services, monkeypatch)
    busy, other = await make_api(), await make_api()
    # Remembered before the gate shuts.
    assert {(await api.users()).status_code for api in (busy, other)} == {200}
    gate = Gate(monkeypatch, busy.database.name)
    lists = [asyncio.create_task(busy.users("count=false")) for _ in range(MAX_LISTS + MAX_LISTS_WAITING)]
    await gate.full.wait()
    refused = await busy.users()
    assert_refused(refused, 503)
    assert (refused.json()["code"], refused.headers["retry-after"]) == ("busy", "1")
    assert (await other.users()).status_code == 200
    gate.open.set()
    assert {(await each).status_code for each in lists} == {200}
    assert gate.most == MAX_LISTS


@pytest.mark.parametrize("beside_others", [False, True])
async def test_n22_a_project_whose_lists_are_slow_has_fewer_at_once(
    make_api: MakeApi, services: Services, monkeypatch: pytest.MonkeyPatch, beside_others: bool
) -> None:
    """It has two at once, and one while others ask."""
    _wait_for_ever(services, monkeypatch)
    monkeypatch.setattr(Presence, "has_others", lambda *_: beside_others)
    monkeypatch.setattr(Paces, "find_delay", lambda *_: 0.0)
    most = 1 if beside_others else MAX_SLOW_LISTS
    slow, other = await make_api(), await make_api()
    assert {(await api.users()).status_code for api in (slow, other)} == {200}
    gate = Gate(monkeypatch, slow.database.name)
    first = asyncio.create_task(slow.users("count=false"))
    await asyncio.sleep(10 * SLOW_SECONDS)
    gate.open.set()
    assert (await first).status_code == 200
    gate.open.clear()
    lists = [asyncio.create_task(slow.users("count=false")) for _ in range(MAX_LISTS)]
    queues = services.accounts.lists._shares._queues  # noqa: SLF001 - no answer tells that a list waits
    await until(lambda: gate.under_way + len(queues.get(slow.database.name, ())) == MAX_LISTS)
    assert gate.under_way == most
    assert (await other.users()).status_code == 200
    gate.open.set()
    assert {(await each).status_code for each in lists} == {200}


async def test_n22_a_project_that_asks_for_anything_is_present(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name under which its lists are counted."""
    present = list[str]()
    monkeypatch.setattr(Presence, "note", lambda _, name: present.append(name))
    assert (await api.signup()).status_code == 201
    assert (await api.users()).status_code == 200
    assert present == [api.database.name] * 2


async def test_n22_all_of_a_list_shares_two_seconds(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a search is missing from that of the page. Here all have 19 seconds, which no machine needs."""
    assert LIST_SECONDS == 2
    monkeypatch.setattr("service.domain.lists.LIST_SECONDS", 19.0)
    limits: list[int] = []
    original = AsyncDatabase.command

    async def command(self: Any, sent: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(sent, dict) and "maxTimeMS" in sent:
            limits.append(sent["maxTimeMS"])
            await asyncio.sleep(0.1)
        return await original(self, sent, *arguments, **named)

    monkeypatch.setattr(AsyncDatabase, "command", command)
    await api.signup()
    assert (await api.users("a.name_ne=x&b.name_ne=x&limit=1")).status_code == 200
    assert len(limits) == 3
    assert all(later <= earlier - 100 for earlier, later in pairwise(limits))
    assert limits[0] <= 19_000


async def test_n40_a_list_past_its_time_always_says_so(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.domain.lists.LIST_SECONDS", 0.01)
    text = "ab" * 5_000
    api.database["users"].insert_many({"_id": new_id(), "email": new_id(), "data": {"t": text}} for _ in range(2_000))
    for _ in range(10):
        response = await api.users("t_icontains=aa&count=false")
        assert (response.status_code, response.json()["code"]) == (503, "query_too_slow")


async def test_n40_a_slow_insert_does_not_speak_of_a_list(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await declare(api, {"n": {"type": "integer"}})

    plain = AsyncDatabase.command

    async def command(database: Any, asked: Any, **named: Any) -> Any:
        if "insert" in asked:
            raise ExecutionTimeout("operation exceeded time limit", 50, {"code": 50})
        return await plain(database, asked, **named)

    monkeypatch.setattr(AsyncDatabase, "command", command)
    for response in (await add(api, {"n": 1}), await api.signup()):
        assert (response.status_code, response.json()["code"]) == (503, "unavailable")
        assert response.json()["detail"] == "MongoDB took too long to store a record; try again"

"""The feed of a project: events, their order and their parts."""

import asyncio
import json
from contextlib import ExitStack
from typing import Any

import pytest

from service.domain.feed.reader import ChangesQuery
from service.domain.projects.keys import key_id
from service.domain.projects.lookup import hash_api_key
from service.services import Services
from service.web.changes import lines
from tests.conftest import Api, MakeApi
from tests.web.changes.conftest import Read, make_orders


async def create(api: Api, path: str, **data: Any) -> dict[str, Any]:
    answer = await api.request("POST", path, json={"data": data})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_document_s_life_is_three_events_in_order(make_api: MakeApi, read: Read) -> None:
    api = await make_api(FEED="documents.*", FEED_INCLUDE="previous")
    path = await make_orders(api)
    first = await create(api, path, status="new", total=1)
    answer = await api.request("PATCH", f"{path}/{first['id']}", json={"data": {"status": "paid"}})
    second = answer.json()
    assert (await api.request("DELETE", f"{path}/{first['id']}")).status_code == 204
    created, updated, deleted = await read(api, 3)
    assert [each["type"] for each in (created, updated, deleted)] == [
        f"documents.orders.{verb}" for verb in ("created", "updated", "deleted")
    ]
    assert created["data"]["document"] == first
    assert created["data"]["previous"] is None
    assert updated["data"]["document"] == second
    assert updated["data"]["previous"] == first
    assert updated["data"]["changed"] == ["status"]
    assert (deleted["data"]["document"], deleted["data"]["previous"]) == (None, second)
    assert [each["data"]["version"] for each in (created, updated, deleted)] == [1, 2, 2]
    assert created["id"] < updated["id"] < deleted["id"]
    assert created["id"] == f"evt_{created['cursor']}"
    assert created["project_id"] == api.project.id
    assert "omitted" not in str([created, updated, deleted])


@pytest.mark.parametrize(
    ("include", "expected"),
    [("ids", set()), ("document", {"document"}), ("previous", {"document", "previous"})],
)
async def test_the_setting_says_what_is_kept_of_a_record(
    make_api: MakeApi, read: Read, include: str, expected: set[str]
) -> None:
    api = await make_api(FEED="documents.orders.updated", FEED_INCLUDE=include)
    path = await make_orders(api)
    document = await create(api, path, status="new")
    await api.request("PUT", f"{path}/{document['id']}", json={"data": {"total": 3}})
    (updated,) = await read(api, 1)
    assert updated["data"].keys() & {"document", "previous", "omitted"} == expected
    assert {"status", "total"} >= set(updated["data"]["changed"]) >= {"total"}


async def test_each_write_names_its_author(make_api: MakeApi, read: Read) -> None:
    api = await make_api(FEED="documents.*,users.*")
    path = await make_orders(api)
    rules = {"collections": {"orders": {"create": "users"}}}
    assert (await api.request("PUT", "/api/rules", json=rules)).status_code == 200
    user = (await api.signup()).json()
    by_user = await api.as_user(user["access_token"], "POST", path, json={"data": {"status": "new"}})
    assert by_user.status_code == 201, by_user.text
    await create(api, path, status="new")
    await api.as_user(user["access_token"], "PUT", "/auth-collections/user", json={"name": "Ann"})
    await api.request("PATCH", f"/auth-collections/users/{user['user']['id']}", json={"disabled": True})
    api.database["c_orders"].update_many({}, {"$set": {"data.status": "x"}, "$inc": {"version": 1}})
    signed_up, *rest = await read(api, 7)
    actors = [each["data"]["actor"] for each in rest]
    own, server = {"kind": "user", "id": user["user"]["id"]}, signed_up["data"]["actor"]
    assert server == {"kind": "key", "id": key_id(hash_api_key(api.key))}
    assert actors == [own, server, own, server, *[{"kind": "unknown", "id": None}] * 2]


async def test_an_event_of_a_user_has_no_byte_of_what_is_hidden(make_api: MakeApi, read: Read, mongo: Any) -> None:
    api = await make_api(FEED="*", FEED_INCLUDE="previous")
    user = (await api.signup(name="Ann")).json()
    hidden = {name: f"hidden-{name}" for name in ("oauth_id", "ended", "totp", "recovery", "identities", "passkeys")}
    api.database["users"].update_one({}, {"$set": {**hidden, "password": "hidden-password", "data.name": "Bob"}})
    api.database["users"].delete_one({"_id": user["user"]["id"]})
    found = await read(api, 4)
    users = [each for each in found if each["type"].startswith("users.")]
    assert [each["type"] for each in users] == ["users.created", "users.updated", "users.deleted"]
    assert users[1]["data"]["changed"] == ["name"]
    assert "version" not in users[1]["data"]
    shown = await api.request("GET", "/api/changes?after=first")
    log = mongo[api.database.name.partition("p_")[0] + "system"]["feed_log"]
    stored = str(list(log.find({"project_id": api.project.id})))
    assert "hidden-" not in shown.text + stored
    assert users[0]["data"]["document"]["email"] == "ann@example.com"
    assert users[2]["data"]["previous"]["data"] == {"name": "Bob"}


async def test_sign_ins_and_sessions_are_events_of_accounts_not_of_users(make_api: MakeApi, read: Read) -> None:
    api = await make_api(FEED="users.*,auth.signed_in")
    await api.signup()
    await api.login()
    found = await read(api, 3)
    assert [each["type"] for each in found] == ["users.created", "auth.signed_in", "auth.signed_in"]
    assert found[1]["data"]["user_id"] == found[0]["data"]["id"]


async def test_definitions_are_events(make_api: MakeApi, read: Read) -> None:
    api = await make_api(FEED="collections.*,rules.updated")
    await make_orders(api)
    schema = {"status": {"type": "string"}, "total": {"type": "integer"}, "note": {"type": "string"}}
    assert (await api.request("PATCH", "/api/collections/orders", json={"schema": schema})).status_code == 200
    assert (await api.request("PUT", "/api/rules", json={})).status_code == 200
    assert (await api.request("DELETE", "/api/collections/orders")).status_code == 204
    found = await read(api, 4)
    assert [(each["type"], each["data"]["name"]) for each in found] == [
        ("collections.created", "orders"),
        ("collections.updated", "orders"),
        ("rules.updated", "rules"),
        ("collections.deleted", "orders"),
    ]


async def test_pages_and_patterns_pass_no_event_by(make_api: MakeApi, read: Read) -> None:
    api = await make_api(FEED="documents.*,users.*", FEED_INCLUDE="ids")
    path = await make_orders(api)
    for number in range(5):
        await create(api, path, total=number)
        await api.signup(f"user{number}@example.com")
    everything = await read(api, 10)
    after, got, answers = "first", [], 0
    while True:
        answer = (await api.request("GET", f"/api/changes?after={after}&events=users.*&limit=2")).json()
        got += answer["events"]
        after, answers = answer["next"], answers + 1
        if answer["caught_up"]:
            break
    assert got == [each for each in everything if each["type"] == "users.created"]
    assert answers >= 3
    later = (await api.request("GET", f"/api/changes?after={everything[6]['id']}")).json()
    assert later["events"] == everything[7:]
    assert (await api.request("GET", f"/api/changes?after={later['next']}")).json()["events"] == []
    assert (await api.request("GET", "/api/changes?after=now")).json()["events"] == []


async def test_a_waiting_reader_is_answered_at_the_first_event(make_api: MakeApi) -> None:
    api = await make_api(FEED="documents.*")
    path = await make_orders(api)
    begin = (await api.request("GET", "/api/changes?after=now")).json()["next"]
    waiting = asyncio.create_task(api.request("GET", f"/api/changes?after={begin}&wait=25"))
    document = await create(api, path, status="new")
    answer = (await waiting).json()
    assert [each["data"]["id"] for each in answer["events"]] == [document["id"]]


async def test_the_ninth_waiting_reader_is_refused(make_api: MakeApi, services: Services) -> None:
    api = await make_api(FEED="documents.*")
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(services.feed.count(api.project))
        answer = await api.request("GET", "/api/changes?after=now&wait=1")
        assert (answer.status_code, answer.json()["code"]) == (429, "too_many_readers")
        assert answer.headers["retry-after"] == "1"
        assert (await api.request("GET", "/api/changes?after=now")).status_code == 200
    assert (await api.request("GET", "/api/changes?after=now&wait=0")).status_code == 200


async def test_lines_come_as_events_happen_and_end_when_the_key_is_revoked(
    make_api: MakeApi, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "HEARTBEAT_SECONDS", 0.05)
    api = await make_api(FEED="documents.*", FEED_INCLUDE="ids")
    path = await make_orders(api)
    await create(api, path, status="new")
    project = await services.base.projects.by_id(api.project.id)
    reader = await services.feed.open(project, ChangesQuery())
    found: list[dict[str, Any]] = []

    async def may_follow() -> bool:
        return len({each["type"] for each in found}) < 2 or found[-1]["type"] != "feed.heartbeat"

    pieces = lines.ChangeLines(services.feed, project, reader, may_follow)
    async for line in pieces:
        found += [json.loads(line)]
    await pieces.aclose()
    events = [each for each in found if each["type"] != "feed.heartbeat"]
    assert [each["type"] for each in events] == ["documents.orders.created"]
    assert found[-1]["cursor"] >= events[0]["cursor"]
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(services.feed.count(project))


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("after=garbage", 422, "validation_error"),
        ("after=6B03BB8000000005000000", 422, "validation_error"),
        ("after=" + "0" * 22, 410, "cursor_expired"),
        ("events=documents.orders.created", 422, "not_in_feed"),
        ("events=nonsense", 422, "validation_error"),
        ("limit=1001", 422, "validation_error"),
        ("wait=26", 422, "validation_error"),
        ("after=first", 200, None),
    ],
)
async def test_what_a_reader_may_not_ask(make_api: MakeApi, query: str, status: int, code: str | None) -> None:
    api = await make_api(FEED="users.*")
    answer = await api.request("GET", f"/api/changes?{query}")
    assert (answer.status_code, answer.json().get("code")) == (status, code)
    if status == 410:
        good = await api.request("GET", f"/api/changes?after={answer.json()['first']}")
        assert good.status_code == 200


async def test_a_project_reads_its_own_events_alone(make_api: MakeApi, read: Read) -> None:
    one, other, without = await make_api(FEED="users.*"), await make_api(FEED="users.*"), await make_api()
    for api in (one, other, without):
        assert (await api.signup()).status_code == 201
    for api in (one, other):
        (event,) = await read(api, 1)
        assert event["project_id"] == api.project.id
    assert (await without.request("GET", "/api/changes")).json()["events"] == []
    publishable = await one.http.get("/api/changes", headers={"x-api-key": one.publishable_key})
    assert publishable.status_code == 403


async def test_a_bulk_write_and_a_batch_are_events_each(make_api: MakeApi, read: Read) -> None:
    api = await make_api(FEED="documents.*", FEED_INCLUDE="previous")
    path = await make_orders(api)
    rows = b"".join(b'{"data": {"total": %d}}\n' % number for number in range(20))
    imported = await api.request(
        "POST", "/api/collections/orders/import", content=rows, headers={"content-type": "application/x-ndjson"}
    )
    assert imported.status_code == 200, imported.text
    body = {"where": {"total_lt": 10}, "data": {"status": "x"}, "expect": 10}
    assert (await api.request("POST", "/api/collections/orders/update", json=body)).status_code == 200
    gone = {"where": {"total_gte": 10}, "expect": 10}
    assert (await api.request("POST", "/api/collections/orders/delete", json=gone)).status_code == 200
    found = await read(api, 40)
    kinds = [each["type"].rpartition(".")[2] for each in found]
    assert kinds == ["created"] * 20 + ["updated"] * 10 + ["deleted"] * 10
    assert len({each["id"] for each in found}) == 40
    assert [each["id"] for each in found] == sorted(each["id"] for each in found)
    assert {each["data"]["actor"]["kind"] for each in found[:30]} == {"key"}
    assert all(each["data"]["previous"]["data"]["total"] >= 10 for each in found[30:])
    assert path


async def test_a_large_record_is_named_as_omitted(make_api: MakeApi, read: Read) -> None:
    api = await make_api(FEED="documents.*", FEED_INCLUDE="previous")
    path = await make_orders(api)
    document = await create(api, path, status="x" * 200_000)
    await api.request("PATCH", f"{path}/{document['id']}", json={"data": {"status": "y" * 150_000}})
    await api.request("PATCH", f"{path}/{document['id']}", json={"data": {"status": "z" * 300_000}})
    created, less, nothing = await read(api, 3)
    assert "omitted" not in created["data"]
    assert less["data"]["omitted"] == ["previous"]
    assert len(less["data"]["document"]["data"]["status"]) == 150_000
    assert set(nothing["data"]["omitted"]) == {"document"} | ({"previous"} & set(nothing["data"]["omitted"]))

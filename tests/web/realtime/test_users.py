"""Users who are followed, in projects that say so."""

from typing import Any

import pytest

from service.domain.projects.admin import ProjectAdmin
from service.domain.sessions.sightings import Sightings
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.realtime.conftest import Open, put_rules, sign_up
from tests.web.realtime.live import Live
from tests.web.realtime.test_event_streams import following

USERS = "/auth-collections/users"
RULES: dict[str, Any] = {"users": {"read": "users", "fields": {"data.name": {"read": "users"}}}}


@pytest.fixture
def without_sign_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sign-in is noted, so that no frame about one comes at any moment within a second."""
    monkeypatch.setattr(Sightings, "note_sign_in", lambda *_: None)


def has_images(api: Api) -> bool:
    (options,) = [each["options"] for each in api.database.list_collections(filter={"name": "users"})]
    return bool(options.get("changeStreamPreAndPostImages", {}).get("enabled", False))


@pytest.mark.usefixtures("without_sign_ins")
async def test_users_are_followed_as_the_list_shows_them(
    make_api: MakeApi, admin: ProjectAdmin, open_socket: Open, address: str, services: Services
) -> None:
    api = await make_api(REALTIME_USERS="true")
    assert has_images(api)
    await put_rules(api, RULES)
    ann, token = await sign_up(api, "ann@example.com", name="Ann", phone="1")
    server, live = await open_socket(), await open_socket()
    await server.hello(key=api.key)
    await live.hello(token=token)
    for each in (server, live):
        assert len((await each.subscribe("users"))["documents"]) == 1
    seen = await live.subscribe("users", "named", where={"name_startswith": "A"}, sort_by="-name")
    assert seen["documents"] == (await api.as_user(token, "GET", f"{USERS}?name_startswith=A")).json()["users"]
    assert seen["documents"][0]["data"] == {"name": "Ann", "phone": "1"}

    # Fields that others keep to themselves are in no event of theirs, and a change of them is none.
    bob, others = await sign_up(api, "bob@example.com", name="Bob", phone="2")
    listed = {each["id"]: each for each in (await api.users()).json()["users"]}
    assert await server.change() == {"op": "enter", "document": listed[bob]}
    entered = await live.change()
    shown = {name: value for name, value in listed[bob].items() if name in {"id", "created_at"}}
    assert entered == {"op": "enter", "document": {**shown, "data": {"name": "Bob"}}}
    await update(api, others, phone="3")
    assert (await server.change())["document"]["data"] == {"name": "Bob", "phone": "3"}
    await live.nothing()
    await update(api, others, name="Al", phone="4")
    told = {frame["id"]: frame["changes"][0] for frame in (await live.next(), await live.next())}
    assert {id_: each["op"] for id_, each in told.items()} == {"m": "change", "named": "enter"}
    assert told["m"]["document"] == told["named"]["document"]
    assert told["m"]["document"]["data"] == {"name": "Al"}
    assert (await server.change())["op"] == "change"

    # W11: a write that changes no more than secrets is no event, for any client.
    stored = api.database["users"].find_one({"_id": bob}) or {}
    api.database["users"].update_one({"_id": bob}, {"$set": {"password": stored["password"] + "x", "oauth_id": "x"}})
    assert (await api.request("DELETE", f"{USERS}/{bob}")).status_code in {200, 204}
    assert await server.change() == {"op": "leave", "document_id": bob}
    assert {(await live.expect("changes"))["changes"][0]["op"] for _ in range(2)} == {"leave"}

    async with following(address, path=USERS, authorization=f"Bearer {token}") as events:
        (document,) = (await events.next())["data"]["documents"]
        assert document["id"] == ann
        # No longer live: what is followed ends when the settings are read again.
        await admin.change(api.project.id, {"REALTIME_USERS": ""})
        services.base.projects.forget_all()
        assert not has_images(api)
        assert (await events.next())["data"]["code"] == "not_live"
    assert (await server.expect("closed", "m"))["code"] == "not_live"
    assert {(await live.expect("closed"))["code"] for _ in range(2)} == {"not_live"}


async def update(api: Api, token: str, **data: Any) -> None:
    answer = await api.as_user(token, "PUT", "/auth-collections/user", json=data)
    assert answer.status_code == 200, answer.text


async def test_users_are_not_live_unless_it_is_set(api: Api, admin: ProjectAdmin, open_socket: Open) -> None:
    assert not has_images(api)
    live: Live = await open_socket()
    await live.hello(key=api.publishable_key)
    assert (await live.refused("users"))["code"] == "invalid_api_key"
    live = await open_socket()
    await live.hello(key=api.key)
    assert (await live.refused("users"))["code"] == "not_live"
    assert (await live.refused("users", where={"nothing_what": 1}))["code"] in {"validation_error", "not_live"}
    answer = await api.request("GET", USERS, headers={"accept": "text/event-stream"})
    assert (answer.status_code, answer.json()["code"]) == (422, "not_live")
    await admin.change(api.project.id, {"REALTIME_USERS": "true"})
    assert has_images(api)


@pytest.mark.usefixtures("without_sign_ins")
async def test_v38_servers_follow_users_by_their_accounts_and_to_users_there_are_none(
    make_api: MakeApi, open_socket: Open
) -> None:
    api = await make_api(REALTIME_USERS="true")
    await put_rules(api, {"users": {"read": "users", "fields": {"data.roles": {"read": "users"}}}})
    ann, token = await sign_up(api, "ann@example.com", roles=["admin"])
    server, live = await open_socket(), await open_socket()
    await server.hello(key=api.key)
    await live.hello(token=token)
    for where in ({"roles_eq": "admin"}, {"claims.plan_eq": "pro"}, {"disabled_eq": False}):
        assert (await live.subscribe("users", next(iter(where)), where=where))["documents"] == []
    assert (await server.subscribe("users", where={"roles_eq": "admin", "claims.plan_eq": "pro"}))["documents"] == []
    await api.request("PATCH", f"{USERS}/{ann}", json={"claims": {"plan": "pro"}})
    await api.request("PUT", f"{USERS}/{ann}/roles", json={"roles": ["admin", "staff"]})
    (listed,) = (await api.users()).json()["users"]
    assert await server.change() == {"op": "enter", "document": listed}
    assert listed["roles"] == ["admin", "staff"]
    await api.request("PUT", f"{USERS}/{ann}/roles", json={"roles": ["admin"]})
    assert (await server.change())["document"]["roles"] == ["admin"]
    await api.request("PUT", f"{USERS}/{ann}/roles", json={"roles": []})
    assert await server.change() == {"op": "leave", "document_id": ann}
    await live.nothing()


async def test_f8_a_sign_in_is_a_change_to_servers_and_none_to_users(
    make_api: MakeApi, open_socket: Open, services: Services
) -> None:
    api = await make_api(REALTIME_USERS="true")
    await put_rules(api, RULES)
    _, token = await sign_up(api, "ann@example.com", name="Ann")
    await services.sessions.sightings.write()
    server, live = await open_socket(), await open_socket()
    await server.hello(key=api.key)
    await live.hello(token=token)
    (told,) = (await server.subscribe("users", where={"last_sign_in_at_isnull": False}))["documents"]
    await live.subscribe("users")
    (own,) = [each for each in services.realtime.connections if each.user_id is not None]
    looked = own.changes
    assert (await api.login()).status_code == 200
    await services.sessions.sightings.write()
    change = await server.change()
    (listed,) = (await api.users()).json()["users"]
    assert change == {"op": "change", "document": listed}
    assert listed["last_sign_in_at"] > told["last_sign_in_at"]
    await live.nothing()
    # A sign-in has no rights looked at again; any other change of the record does.
    assert own.changes == looked
    await update(api, token, phone="5")
    assert (await server.change())["document"]["data"] == {"name": "Ann", "phone": "5"}
    assert own.changes == looked + 1

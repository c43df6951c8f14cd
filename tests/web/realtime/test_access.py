"""Deliveries follow the rules of the project for each reader, also while they change."""

import json
from typing import Any

import pytest
from pymongo import MongoClient

from service.domain.projects.admin import ProjectAdmin
from service.domain.realtime.feed import ChangeFeed
from service.storage.changes import decode_image
from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, delete, merge, put_rules, sign_up
from tests.web.realtime.live import Live

OWN: dict[str, Any] = {"collections": {"messages": {"read": {"author_id_eq": "$user.id"}}}}
SETS: dict[str, Any] = {
    "sets": {"rooms": {"from": "members", "where": {"user_eq": "$user.id"}, "take": "room"}},
    "collections": {"messages": {"read": {"room_id_in": "$sets.rooms"}}},
}
HIDDEN: dict[str, Any] = {
    "collections": {"messages": {"read": "users", "fields": {"note": {"read": {"author_id_eq": "$user.id"}}}}}
}


async def follow(api: Api, open_socket: Open, email: str = "ann@example.com", **options: Any) -> tuple[str, Live]:
    user, token = await sign_up(api, email)
    live: Live = await open_socket()
    await live.hello(token=token)
    return user, live


async def test_w1_a_record_that_becomes_unreadable_is_left_by_its_id_alone(messages: Api, open_socket: Open) -> None:
    await put_rules(messages, OWN)
    user, live = await follow(messages, open_socket)
    mine = await create(messages, author_id=user, text="mine")
    assert (await live.subscribe("messages"))["documents"] == [mine]
    await merge(messages, mine, author_id="somebody", text="secret")
    assert await live.change() == {"op": "leave", "document_id": mine["id"]}


async def test_w2_a_deletion_is_told_to_whom_the_record_could_be_read_by(messages: Api, open_socket: Open) -> None:
    await put_rules(messages, OWN)
    user, live = await follow(messages, open_socket)
    _, other = await follow(messages, open_socket, "bob@example.com")
    mine = await create(messages, author_id=user)
    await live.subscribe("messages")
    await other.subscribe("messages")
    await delete(messages, mine)
    assert await live.change() == {"op": "leave", "document_id": mine["id"]}
    await other.nothing()
    # Also where no value says by itself whom a record concerns.
    await put_rules(messages, {"collections": {"messages": {"read": {"text_ne": "secret"}}}})
    for each in (live, other):
        await each.expect("resync")
        await each.expect("snapshot")
    await delete(messages, await create(messages, text="secret"))
    shown = await create(messages, text="open")
    await delete(messages, shown)
    for each in (live, other):
        assert await each.change() == {"op": "enter", "document": shown}
        assert await each.change() == {"op": "leave", "document_id": shown["id"]}


async def test_w3_a_hidden_field_has_no_events_and_no_name(messages: Api, open_socket: Open) -> None:
    await put_rules(messages, HIDDEN)
    user, live = await follow(messages, open_socket)
    theirs = await create(messages, author_id="somebody", text="x", note="secret")
    snapshot = await live.subscribe("messages")
    assert "note" not in snapshot["documents"][0]["data"]
    await merge(messages, theirs, note="another secret")
    await merge(messages, theirs, text="y", note="a third")
    change = await live.change()
    assert change["document"]["data"] == {"author_id": "somebody", "text": "y"}
    assert change["document"]["version"] == 3
    # A condition on it finds only what may be seen of it.
    assert (await live.subscribe("messages", "n", where={"note_contains": "third"}))["documents"] == []
    mine = await create(messages, author_id=user, note="my third")
    told = [await live.next(), await live.next()]
    assert {frame["id"] for frame in told} == {"m", "n"}
    assert all(frame["changes"][0]["document"] == mine for frame in told)
    for id_ in ("m", "n"):
        await live.send(type="unsubscribe", id=id_)
        await live.expect("closed", id_)
    rules = {"collections": {"messages": {"read": "users", "fields": {"note": {"read": False}}}}}
    await put_rules(messages, rules)
    assert (await live.refused("messages", "o", where={"note_eq": "x"}))["code"] == "validation_error"
    assert (await live.refused("messages", "p", sort_by="note"))["code"] == "validation_error"


async def test_w4_each_of_many_has_a_view_of_their_own(messages: Api, open_socket: Open) -> None:
    await put_rules(messages, HIDDEN)
    followers = [await follow(messages, open_socket, f"u{number}@example.com") for number in range(6)]
    servers = [await open_socket() for _ in range(6)]
    for live in servers:
        await live.hello(key=messages.key)
    for live in [*(live for _, live in followers), *servers]:
        await live.subscribe("messages")
    made = await create(messages, author_id=followers[0][0], text="x", note="for the author")
    seen = [(await live.change())["document"]["data"] for _, live in followers]
    assert seen[0] == made["data"]
    hidden = {name: value for name, value in made["data"].items() if name != "note"}
    assert seen[1:] == [hidden] * 5
    assert [(await live.change())["document"] for live in servers] == [made] * 6


async def test_w5_a_role_that_is_taken_ends_what_it_gave(messages: Api, open_socket: Open) -> None:
    await put_rules(messages, {"collections": {"messages": {"read": {"$user.roles_eq": "editor"}}}})
    user, live = await follow(messages, open_socket)
    path = f"/auth-collections/users/{user}/roles"
    assert (await messages.request("PUT", path, json={"roles": ["editor"]})).status_code == 200
    await live.subscribe("messages")
    assert (await messages.request("PUT", path, json={"roles": []})).status_code == 200
    assert (await live.expect("closed", "m"))["code"] == "forbidden"
    await create(messages, text="secret")
    await live.nothing()


async def test_w5_a_membership_that_ends_takes_its_room_along(messages: Api, open_socket: Open) -> None:
    members = {"name": "members", "schema": {"user": {"type": "string"}, "room": {"type": "string"}}}
    assert (await messages.request("POST", "/api/collections", json=members)).status_code == 201
    await put_rules(messages, SETS)
    user, live = await follow(messages, open_socket)
    first = await create(messages, room_id="r1", text="one")
    member = await create(messages, "members", user=user, room="r1")
    assert (await live.subscribe("messages"))["documents"] == [first]
    await create(messages, "members", user=user, room="r2")
    assert await live.expect("resync", "m") == {"type": "resync", "id": "m", "reason": "access"}
    assert (await live.expect("snapshot", "m"))["documents"] == [first]
    second = await create(messages, room_id="r2", text="two")
    assert await live.change() == {"op": "enter", "document": second}
    await delete(messages, member, "members")
    assert (await live.expect("resync", "m"))["reason"] == "access"
    assert (await live.expect("snapshot", "m"))["documents"] == [second]
    await create(messages, room_id="r1", text="secret")
    await create(messages, "members", user="somebody", room="r3")
    await live.nothing()


async def test_w5_rules_that_change_are_followed_and_those_that_mean_the_same_are_not_noticed(
    messages: Api, open_socket: Open
) -> None:
    await put_rules(messages, {"collections": {"messages": {"read": "users"}}})
    user, live = await follow(messages, open_socket)
    server: Live = await open_socket()
    await server.hello(key=messages.key)
    made = await create(messages, author_id="somebody", text="x")
    for each in (live, server):
        assert (await each.subscribe("messages"))["documents"] == [made]
    await put_rules(messages, {"collections": {"messages": {"read": "users", "create": "users"}}})
    await put_rules(messages, OWN)
    assert (await live.expect("resync", "m"))["reason"] == "access"
    assert (await live.expect("snapshot", "m"))["documents"] == []
    mine = await create(messages, author_id=user)
    assert await live.change() == {"op": "enter", "document": mine}
    await put_rules(messages, {"collections": {"messages": {"create": "users"}}})
    assert (await live.expect("closed", "m"))["code"] == "forbidden"
    assert (await server.change())["document"] == mine
    await server.nothing()


async def test_w5_what_is_no_longer_live_or_there_is_closed(messages: Api, open_socket: Open) -> None:
    live: Live = await open_socket()
    await live.hello(key=messages.key)
    path = "/api/collections/messages"
    await live.subscribe("messages", "plain")
    await live.subscribe("messages", "by note", where={"note_eq": "x"})
    assert (await messages.request("PATCH", path, json={"schema": {"note": None}})).status_code == 200
    assert (await live.expect("closed", "by note"))["code"] == "validation_error"
    answer = await messages.request("PATCH", path, json={"realtime": False})
    assert (answer.status_code, answer.json()["realtime"]) == (200, False)
    assert (await live.expect("closed", "plain"))["code"] == "not_live"
    assert (await messages.request("PATCH", path, json={"realtime": True})).status_code == 200
    await live.subscribe("messages", "again")
    assert (await messages.request("DELETE", path)).status_code == 204
    assert (await live.expect("closed", "again"))["code"] == "collection_not_found"


async def test_w5_a_user_who_is_gone_and_a_project_too_end_their_sockets(
    messages: Api, admin: ProjectAdmin, open_socket: Open, mongo: MongoClient[Any]
) -> None:
    await put_rules(messages, {"collections": {"messages": {"read": "users"}}})
    user, live = await follow(messages, open_socket)
    await live.subscribe("messages")
    _, other = await follow(messages, open_socket, "bob@example.com")
    messages.database["users"].delete_one({"_id": user})
    assert (await live.closed())[0] == 4401
    await other.subscribe("messages")
    await admin.delete(messages.project.id)
    assert (await other.closed())[0] == 4401


async def test_rules_that_look_at_the_hour_or_elsewhere_are_not_live_but_for_servers(
    messages: Api, open_socket: Open
) -> None:
    related = {"room_id": {"type": "string"}, "owner_id": {"type": "reference", "collection": "users"}}
    body = {"name": "owned", "schema": related, "realtime": True}
    assert (await messages.request("POST", "/api/collections", json=body)).status_code == 201
    rules = {
        "users": {"read": "users"},
        "collections": {"messages": {"read": {"created_at_gt": "$now-1h"}}, "owned": {"read": {"owner.$can": "read"}}},
    }
    await put_rules(messages, rules)
    _, live = await follow(messages, open_socket)
    server: Live = await open_socket()
    await server.hello(key=messages.key)
    for name in ("messages", "owned"):
        assert (await live.refused(name))["code"] == "not_live"
        assert (await server.subscribe(name, name))["documents"] == []


async def test_w11_no_event_holds_a_secret(messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes of users come to the worker, for the rights of those who follow something."""
    told: list[Any] = []
    monkeypatch.setattr(ChangeFeed, "_tell", _noting(ChangeFeed._tell, told))  # noqa: SLF001
    database = messages.database
    database.command({"collMod": "users", "changeStreamPreAndPostImages": {"enabled": True}})
    await put_rules(messages, {"users": {"read": "users"}, "collections": {"messages": {"read": "users"}}})
    user, live = await follow(messages, open_socket)
    await live.subscribe("messages")
    stored = database["users"].find_one({"_id": user})
    assert stored is not None
    assert stored["password"]
    database["users"].update_one({"_id": user}, {"$set": {"oauth_id": "the subject", "data.name": "Ann"}})
    database["users"].update_one({"_id": user}, {"$set": {"data.name": "Anna", "password": stored["password"] + "x"}})
    made = await create(messages, text="x")
    assert await live.change() == {"op": "enter", "document": made}
    text = json.dumps(told, default=str)
    assert "Anna" in text
    assert stored["password"] not in text
    assert "the subject" not in text
    closed = await live.refused("users", "u")
    assert closed["code"] == "not_live"


def _noting(tell: Any, told: list[Any]) -> Any:
    async def noting(self: Any, moments: Any, generation: int) -> Any:
        changes = [change for moment in moments for change in moment.changes]
        told.extend(decode_image(image) for change in changes for image in (change.before, change.after))
        return await tell(self, moments, generation)

    return noting

"""A change in a source of the rules' sets concerns the right callers."""

from collections import Counter
from typing import Any

import pytest

from service.domain.access.caller import ProjectCaller, UserCaller
from service.domain.realtime.binding import Binder, BoundSubscription, Parse
from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, delete, put_rules, sign_up

SETS: dict[str, Any] = {
    "sets": {"rooms": {"from": "members", "where": {"user_eq": "$user.id"}, "take": "room"}},
    "collections": {"messages": {"read": {"room_id_in": "$sets.rooms"}}},
}
MEMBERS = {"name": "members", "schema": {"user": {"type": "string"}, "room": {"type": "string"}}}
MEMBERS_PATH = "/api/collections/members"


def has_images(api: Api, name: str = "c_members") -> bool:
    (options,) = [each["options"] for each in api.database.list_collections(filter={"name": name})]
    return bool(options.get("changeStreamPreAndPostImages", {}).get("enabled", False))


async def test_w5_a_membership_that_ends_concerns_its_user_alone(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound: Counter[str] = Counter()
    bind = Binder.bind

    async def counting(self: Binder, caller: ProjectCaller, name: str, parse: Parse) -> BoundSubscription:
        bound[caller.user_id if isinstance(caller, UserCaller) else ""] += 1
        return await bind(self, caller, name, parse)

    await messages.request("POST", "/api/collections", json=MEMBERS)
    await put_rules(messages, SETS)
    users, sockets, members = [], [], []
    for email in ("ann@example.com", "bob@example.com"):
        user, token = await sign_up(messages, email)
        live = await open_socket()
        await live.hello(token=token)
        members.append(await create(messages, "members", user=user, room="r1"))
        await live.subscribe("messages")
        # The feed tells of the first one, too; when it has come to the second, nothing is left of that.
        await create(messages, "members", user=user, room="r2")
        await live.expect("resync")
        await live.expect("snapshot")
        users.append(user)
        sockets.append(live)
    monkeypatch.setattr(Binder, "bind", counting)
    await delete(messages, members[0], "members")
    assert (await sockets[0].expect("resync"))["reason"] == "access"
    await sockets[0].expect("snapshot")
    assert set(bound) == {users[0]}
    # Without an image its owner is unknown: all callers that use the set are bound again.
    messages.database.command({"collMod": "c_members", "changeStreamPreAndPostImages": {"enabled": False}})
    bound.clear()
    await delete(messages, members[1], "members")
    assert (await sockets[1].expect("resync"))["reason"] == "access"
    await sockets[1].expect("snapshot")
    assert set(bound) == set(users)
    await create(messages, room_id="r2", text="both")
    for live in sockets:
        assert (await live.change())["op"] == "enter"


async def test_rules_turn_images_on_where_sets_are_taken_from_and_off_again(messages: Api) -> None:
    await messages.request("POST", "/api/collections", json=MEMBERS)
    assert not has_images(messages)
    await put_rules(messages, SETS)
    assert has_images(messages)
    assert not has_images(messages, "users")
    # A change of its schema leaves them on, and so does the end of its being live.
    answer = await messages.request("PATCH", MEMBERS_PATH, json={"schema": {"more": {"type": "string"}}})
    assert (answer.status_code, answer.json()["realtime"]) == (200, False)
    assert has_images(messages)
    for wanted in (True, False):
        assert (await messages.request("PATCH", MEMBERS_PATH, json={"realtime": wanted})).status_code == 200
        assert has_images(messages)
    # A dry run changes nothing.
    assert (await messages.request("PUT", "/api/rules?dry_run=true", json={})).status_code == 200
    assert has_images(messages)
    await put_rules(messages, {"collections": {"messages": {"read": "users"}}})
    assert not has_images(messages)
    assert has_images(messages, "c_messages")
    await put_rules(
        messages, {"sets": {"rooms": {"from": "messages", "where": {"author_id_eq": "$user.id"}, "take": "room_id"}}}
    )
    await put_rules(messages, {})
    assert has_images(messages, "c_messages")

"""The frames of a client that follows a query."""

import asyncio

from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, delete, merge
from tests.web.realtime.live import Frame

State = dict[str, str]
ROOM = {"room_id_eq": "r1"}


async def test_a_snapshot_and_then_what_enters_changes_and_leaves(messages: Api, open_socket: Open) -> None:
    first = await create(messages, room_id="r1", text="one")
    await create(messages, room_id="r2", text="elsewhere")
    live = await open_socket()
    ready = await live.hello(key=messages.key)
    assert ready["user_id"] is ready["expires_at"] is None
    snapshot = await live.subscribe("messages", where=ROOM)
    assert snapshot["complete"] is True
    listed = await messages.request("GET", "/api/collections/messages/documents?room_id_eq=r1")
    assert snapshot["documents"] == listed.json()["documents"]
    second = await create(messages, room_id="r1", text="two")
    assert await live.change() == {"op": "enter", "document": second}
    await merge(messages, first, text="changed")
    told = await live.change()
    assert (told["op"], told["document"]["data"]["text"], told["document"]["version"]) == ("change", "changed", 2)
    await merge(messages, first, room_id="r2")
    assert await live.change() == {"op": "leave", "document_id": first["id"]}
    await delete(messages, second)
    assert await live.change() == {"op": "leave", "document_id": second["id"]}
    await merge(messages, first, room_id="r1")
    assert (await live.change())["op"] == "enter"


async def test_a_snapshot_is_sorted_and_says_if_there_is_more(messages: Api, open_socket: Open) -> None:
    for text in ("b", "c", "a"):
        await create(messages, room_id="r1", text=text)
    live = await open_socket()
    await live.hello(key=messages.key)
    snapshot = await live.subscribe("messages", sort_by="text", sort_order="desc", limit=2)
    assert [each["data"]["text"] for each in snapshot["documents"]] == ["c", "b"]
    assert snapshot["complete"] is False
    assert (await live.subscribe("messages", "n", limit=3))["complete"] is True


async def test_one_frame_holds_a_whole_transaction_in_its_order(messages: Api, open_socket: Open) -> None:
    live = await open_socket()
    await live.hello(key=messages.key)
    await live.subscribe("messages", where=ROOM)
    data = {"room_id": "r1", "text": "x"}
    operations = [{"op": "create", "collection": "messages", "data": {**data, "text": str(n)}} for n in range(20)]
    answer = await messages.request("POST", "/api/batch", json={"atomic": True, "operations": operations})
    assert answer.status_code == 200, answer.text
    frame = await live.expect("changes")
    assert [each["document"]["data"]["text"] for each in frame["changes"]] == [str(n) for n in range(20)]


def apply(states: dict[str, State], frame: Frame) -> None:
    """Applies a frame as a client does: each subscription has the texts of its documents, by id."""
    if frame["type"] == "snapshot":
        states[frame["id"]] = {each["id"]: each["data"]["text"] for each in frame["documents"]}
        return
    assert frame["type"] == "changes", frame
    state = states[frame["id"]]
    for change in frame["changes"]:
        if change["op"] == "leave":
            assert state.pop(change["document_id"], None) is not None
        else:
            assert (change["document"]["id"] in state) is (change["op"] == "change")
            state[change["document"]["id"]] = change["document"]["data"]["text"]


async def test_subscriptions_opened_while_others_write_end_with_what_is_there(messages: Api, open_socket: Open) -> None:
    live = await open_socket()
    await live.hello(key=messages.key)
    states: dict[str, State] = {}

    async def write() -> None:
        for number in range(40):
            made = await create(messages, room_id="r1", text=str(number))
            if number % 3 == 0:
                await merge(messages, made, text="changed")
            if number % 5 == 0:
                await delete(messages, made)

    writer = asyncio.create_task(write())
    for number in range(8):
        await live.send(type="subscribe", id=str(number), collection="messages", where=ROOM, limit=1000)
        await asyncio.sleep(0.02)
    await writer
    await create(messages, room_id="r1", text="last")
    listed = (await messages.request("GET", "/api/collections/messages/documents?limit=1000")).json()["documents"]
    wanted = {each["id"]: each["data"]["text"] for each in listed}
    while len(states) < 8 or any("last" not in state.values() for state in states.values()):
        apply(states, await live.next())
    assert all(state == wanted for state in states.values())


async def test_what_is_unsubscribed_is_told_no_more(messages: Api, open_socket: Open) -> None:
    live = await open_socket()
    await live.hello(key=messages.key)
    await live.subscribe("messages")
    await live.subscribe("messages", "other")
    await live.send(type="unsubscribe", id="m")
    assert (await live.expect("closed", "m"))["code"] == "unsubscribed"
    made = await create(messages, text="x")
    assert await live.change("other") == {"op": "enter", "document": made}
    await live.send(type="unsubscribe", id="never")
    assert (await live.expect("closed", "never"))["code"] == "unsubscribed"
    assert (await live.subscribe("messages"))["documents"] == [made]

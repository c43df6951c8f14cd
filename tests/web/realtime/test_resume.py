"""Going on where another socket ended."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from service.services import Services
from service.storage import change_feed
from service.storage.change_feed import FeedHistoryLost, RecordChange
from tests.conftest import Api
from tests.web.realtime.conftest import Open, create, delete, merge, put_rules, sign_up
from tests.web.realtime.live import SECONDS, Live

ROOM = {"room_id_eq": "r1"}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to read what was missed than a list may."""
    monkeypatch.setattr("service.domain.realtime.snapshots.LIST_SECONDS", SECONDS)


async def greeted(api: Api, open_socket: Open, **credential: str) -> Live:
    live: Live = await open_socket()
    await live.hello(**(credential or {"key": api.key}))
    return live


async def resume(live: Live, cursor: str, **options: Any) -> dict[str, Any]:
    await live.send(type="subscribe", id="m", collection="messages", after=cursor, **options)
    return await live.next()


async def test_w10_what_was_missed_is_told_in_one_frame(messages: Api, open_socket: Open) -> None:
    first = await create(messages, room_id="r1", text="one")
    gone = await create(messages, room_id="r1", text="gone")
    live = await greeted(messages, open_socket)
    cursor = (await live.subscribe("messages", where=ROOM))["cursor"]
    await live.connection.close()
    await merge(messages, first, text="changed")
    await create(messages, room_id="r2", text="elsewhere")
    second = await create(messages, room_id="r1", text="two")
    await delete(messages, gone)
    # Another order and another limit are the same filter.
    live = await greeted(messages, open_socket)
    frame = await resume(live, cursor, where=ROOM, limit=1, sort_by="-text")
    assert [each["op"] for each in frame["changes"]] == ["change", "enter", "leave"]
    assert frame["changes"][1:] == [{"op": "enter", "document": second}, {"op": "leave", "document_id": gone["id"]}]
    third = await create(messages, room_id="r1", text="three")
    told = await live.expect("changes")
    assert told["changes"] == [{"op": "enter", "document": third}]
    live = await greeted(messages, open_socket)
    frame = await resume(live, told["cursor"], where=ROOM)
    assert (frame["type"], frame["changes"]) == ("changes", [])
    assert (await live.subscribe("messages", "n", where=ROOM))["complete"] is True


async def test_w10_each_of_many_reconnects_ends_with_what_is_there(messages: Api, open_socket: Open) -> None:
    """Every change is delivered once, over one socket or the next."""
    live = await greeted(messages, open_socket)
    cursor = (await live.subscribe("messages"))["cursor"]
    texts: list[str] = []
    for number in range(8):
        await create(messages, text=f"{number} before")
        if number % 2:
            frame = await live.expect("changes")
            texts += [each["document"]["data"]["text"] for each in frame["changes"]]
            cursor = frame["cursor"]
        await live.connection.close()
        await create(messages, text=f"{number} between")
        live = await greeted(messages, open_socket)
        frame = await resume(live, cursor)
        texts += [each["document"]["data"]["text"] for each in frame["changes"]]
        cursor = frame["cursor"]
    assert texts == [f"{number} {when}" for number in range(8) for when in ("before", "between")]


async def test_w10_many_who_come_back_at_once_are_told_once(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some wait until others were read; changes delivered meanwhile are no part of the gap."""
    live = await greeted(messages, open_socket)
    cursor = (await live.subscribe("messages"))["cursor"]
    await create(messages, text="missed")
    await live.expect("changes")
    read_between, has_read = change_feed.read_between, asyncio.Event()

    async def reading(*arguments: Any, **options: Any) -> AsyncGenerator[RecordChange, None]:
        async for change in read_between(*arguments, **options):
            yield change
        await has_read.wait()

    monkeypatch.setattr("service.domain.realtime.feed.read_between", reading)
    again, count = await greeted(messages, open_socket), 5
    for number in range(count):
        await again.send(type="subscribe", id=str(number), collection="messages", after=cursor)
    await again.send(type="ping")
    await again.expect("pong")
    await create(messages, text="told meanwhile")
    await live.expect("changes")
    has_read.set()
    texts: defaultdict[str, list[str]] = defaultdict(list)
    while any(len(texts[str(number)]) < 2 for number in range(count)):
        frame = await again.expect("changes")
        texts[frame["id"]] += [each["document"]["data"]["text"] for each in frame["changes"]]
    await again.nothing()
    assert list(texts.values()) == [["missed", "told meanwhile"]] * count


@pytest.mark.parametrize("kind", ["of another user", "edited", "of another filter", "no cursor", "of another key"])
async def test_w6_a_cursor_that_does_not_hold_is_a_snapshot(messages: Api, open_socket: Open, kind: str) -> None:
    await put_rules(messages, {"collections": {"messages": {"read": "anyone"}}})
    _, token = await sign_up(messages, "ann@example.com")
    _, other = await sign_up(messages, "bob@example.com")
    live = await greeted(messages, open_socket, token=token)
    cursor = (await live.subscribe("messages", where=ROOM))["cursor"]
    made = await create(messages, room_id="r1")
    credential, where = {"token": token}, dict[str, Any](ROOM)
    match kind:
        case "of another user":
            credential = {"token": other}
        case "of another key":
            credential = {"key": messages.publishable_key}
        case "edited":
            moment, _, signature = cursor.partition(".")
            cursor = f"{int(moment, 16) - 1:x}.{signature}"
        case "of another filter":
            where = {"room_id_in": ["r1"]}
        case "no cursor":
            cursor = "é"
    again = await greeted(messages, open_socket, **credential)
    frame = await resume(again, cursor, where=where)
    assert (frame["type"], frame["documents"]) == ("snapshot", [made])


async def test_w6_a_cursor_of_rules_that_found_something_else_is_a_snapshot(messages: Api, open_socket: Open) -> None:
    await put_rules(messages, {"collections": {"messages": {"read": "users"}}})
    _, token = await sign_up(messages, "ann@example.com")
    live = await greeted(messages, open_socket, token=token)
    cursor = (await live.subscribe("messages"))["cursor"]
    await live.connection.close()
    await put_rules(messages, {"collections": {"messages": {"read": {"text_eq": "open"}}}})
    await create(messages, text="secret")
    frame = await resume(await greeted(messages, open_socket, token=token), cursor)
    assert (frame["type"], frame["documents"]) == ("snapshot", [])


async def test_w10_more_than_may_be_missed_is_a_snapshot(
    messages: Api, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.domain.realtime.snapshots.MAX_MISSED", 2)
    live = await greeted(messages, open_socket)
    cursor = (await live.subscribe("messages"))["cursor"]
    await live.connection.close()
    for number in range(3):
        await create(messages, text=str(number))
    frame = await resume(await greeted(messages, open_socket), cursor)
    assert (frame["type"], len(frame["documents"])) == ("snapshot", 3)


async def test_w6_a_cursor_of_last_week_is_a_snapshot(
    messages: Api, open_socket: Open, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MongoDB has forgotten what was written since."""
    live = await greeted(messages, open_socket)
    await live.subscribe("messages")
    (connection,) = [each for each in services.realtime.connections if "m" in each.subscriptions]
    cursor = connection.subscriptions["m"].sign(services.realtime.feed.position - (7 * 86_400 << 32))

    async def forgotten(*_: object, **__: object) -> AsyncGenerator[RecordChange, None]:
        for change in list[RecordChange]():
            yield change
        raise FeedHistoryLost

    monkeypatch.setattr("service.domain.realtime.feed.read_between", forgotten)
    made = await create(messages, text="x")
    frame = await resume(await greeted(messages, open_socket), cursor)
    assert (frame["type"], frame["documents"]) == ("snapshot", [made])


CONDITIONS: dict[str, dict[str, Any]] = {
    "all": {},
    "eq": {"text_eq": "a"},
    "ne": {"text_ne": "a"},
    "gt": {"extra_gt": 1},
    "lte": {"extra_lte": 1},
    "in": {"text_in": ["a", "b"]},
    "hasall": {"extra_hasall": [1, 2]},
    "contains": {"text_contains": "a"},
    "startswith": {"text_startswith": "a.*"},
    "isnull": {"note_isnull": True},
    "not": {"not": {"text_eq": "a"}},
    "or": {"or": [{"text_eq": "a"}, {"data.extra.deep_eq": 1}]},
    "and": {"and": [{"text_ne": "c"}, {"or": [{"extra_gt": 1}, {"note_isnull": False}]}]},
    "id": {"id_ne": "0" * 24},
}
STEPS: list[dict[str, Any]] = [
    {"text": "a", "extra": 1},
    {"text": "b", "extra": [1, 2, 3]},
    {"text": "a.*c", "extra": {"deep": 1}},
    {"text": "c", "note": "n", "extra": None},
    {"text": "a", "extra": [{"deep": 1}, 2]},
]


@pytest.mark.parametrize("where", CONDITIONS.values(), ids=CONDITIONS)
async def test_v25_a_resume_tells_what_was_delivered_live(
    messages: Api, open_socket: Open, where: dict[str, Any]
) -> None:
    """MongoDB filters what a client missed; the worker judges what it delivers. Both find the same changes."""
    live, watching = await greeted(messages, open_socket), await greeted(messages, open_socket)
    await watching.subscribe("messages", where={"text_eq": "last"})
    cursor = (await live.subscribe("messages", where=where))["cursor"]
    made = await create(messages, **STEPS[0])
    for step in STEPS[1:]:
        await merge(messages, made, **step)
        await create(messages, **step)
    await merge(messages, made, **STEPS[0])
    await delete(messages, made)
    last = await create(messages, text="last", note="n", extra=7)
    assert await watching.change() == {"op": "enter", "document": last}
    delivered: list[dict[str, Any]] = []
    await live.send(type="ping")
    while (frame := await live.next())["type"] != "pong":
        delivered += frame["changes"]
    again = await greeted(messages, open_socket)
    frame = await resume(again, cursor, where=where)
    assert frame["type"] == "changes"
    assert frame["changes"] == delivered

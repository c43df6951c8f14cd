"""Live queries, in both colours, at a running service."""

import asyncio
import threading
from importlib import import_module
from typing import Any

import pytest

from auth_collections_client import (
    AsyncClient,
    Change,
    Client,
    ConfigurationError,
    RequestError,
    ServiceError,
    Snapshot,
    memory,
)
from auth_collections_client.feeds import FINAL, Feed, Lost, final, refusal
from faults.waiting import wait_until
from tests.served.clients.python.conftest import Make, Project

PATIENCE = 120.0


def started(name: str) -> dict[str, str]:
    return {"title_startswith": name}


async def taken(live: Any) -> Any:
    return await asyncio.wait_for(anext(live), PATIENCE)


async def until(live: Any, wanted: list[str]) -> None:
    """Consumes events until the window holds these titles, in this order."""
    while [each.data["title"] for each in live.documents] != wanted:
        await taken(live)


def line_of(client: Any) -> Any:
    """The socket's owner, behind the surface of both colours."""
    return vars(vars(client).get("_target", client))["_line"]


async def test_a_window_follows_its_query(make: Make, name: str) -> None:
    client = make()
    books = client.collection("books")
    rows = [await books.create({"title": f"{name}-{number}", "stock": number}) for number in range(5)]
    async with client.live("books", where=started(name), sort_by="stock", limit=3) as live:
        assert live.state == "connecting"
        first = await taken(live)
        assert isinstance(first, Snapshot)
        assert ([each.id for each in first.documents], live.state) == ([each.id for each in rows[:3]], "live")
        await books.update(rows[1].id, {"tags": ["x"]})
        changed = await taken(live)
        assert isinstance(changed, Change)
        assert (changed.op, changed.document and changed.document.data["tags"]) == ("change", ["x"])
        await books.create({"title": f"{name}-new", "stock": 1})
        await until(live, [f"{name}-0", f"{name}-1", f"{name}-new"])
        # The window forgot what fell out of it, so it is filled again by a new snapshot.
        await books.delete(rows[0].id)
        await until(live, [f"{name}-1", f"{name}-new", f"{name}-2"])
        await books.update(rows[1].id, {"stock": 9})
        await until(live, [f"{name}-new", f"{name}-2", f"{name}-3"])
    assert (live.state, live.problem) == ("closed", None)


async def test_one_socket_serves_all_queries_of_a_client(make: Make, name: str) -> None:
    client = make()
    lives = [client.live("books", where={"title_eq": f"{name}-{number}"}) for number in range(3)]
    reading = [asyncio.ensure_future(taken(each)) for each in lives]
    assert [await each for each in reading] == [Snapshot([])] * 3
    line = line_of(client)
    socket = line.socket
    made = await client.collection("books").create({"title": f"{name}-1"})
    assert (await taken(lives[1])).document_id == made.id
    with pytest.raises(RequestError, match="collection_not_found"):
        await taken(client.live("nothing"))
    for each in lives:
        assert line.socket is socket
        async with each:
            pass
    assert line.socket is None


def drop(client: Any) -> None:
    """Ends the socket as a network does."""
    line = line_of(client)
    if line.socket is not None:
        import_module(type(line).__module__.replace(".line", ".seam")).cut(line.socket)


async def test_k20_a_connection_that_ends_is_made_again_and_nothing_is_missed(make: Make, name: str) -> None:
    """K20: after each of several ends the window is that of a fresh list."""
    client = make()
    books = client.collection("books")
    async with client.live("books", where=started(name), sort_by="title") as live:
        await taken(live)
        for number in range(3):
            drop(client)
            await books.create({"title": f"{name}-{number}"})
            await until(live, [f"{name}-{each}" for each in range(number + 1)])
        page = await books.list(where=started(name), sort_by="title")
        assert live.documents == page.documents


async def test_k20_a_dead_token_is_refreshed_once_and_the_query_goes_on(make: Make, name: str) -> None:
    """K20: the token died while the program slept."""
    user = make("user")
    await user.auth.signup(f"{name}@example.com", "correct horse")
    session = await user.auth.session()
    head, _, rest = session["access_token"].partition(".")
    await user.auth.set_session({**session, "access_token": f"{head}.{rest[:-6]}AAAAAA"})
    async with user.live("books", where=started(name)) as live:
        assert isinstance(await taken(live), Snapshot)
    assert (await user.auth.session())["access_token"] != session["access_token"]


async def test_a_credential_that_stays_bad_ends_the_query(make: Make, name: str) -> None:
    guest = make("guest").with_token("e30.e30.c2ln")
    with pytest.raises(ServiceError) as refused:
        await taken(guest.live("books"))
    assert (refused.value.status, refused.value.code) == (401, "invalid_token")


async def test_k7_another_user_sees_nothing_of_the_one_before(make: Make, name: str) -> None:
    """K7: the subscription begins again as the user who is signed in now."""
    store = memory()
    user = make("user", session=store)
    await user.auth.signup(f"{name}-a@example.com", "correct horse")
    async with user.live("books", where=started(name)) as live:
        await taken(live)
        before = line_of(user).session["user_id"]
        await user.auth.signup(f"{name}-b@example.com", "correct horse")
        assert live.documents == []
        await make().collection("books").create({"title": f"{name}-1"})
        await until(live, [f"{name}-1"])
        session = store.get()
        assert session is not None
        assert line_of(user).session["user_id"] == session["user_id"] != before


def test_k21_the_end_of_a_client_ends_its_socket_and_its_readers(project: Project, name: str) -> None:
    """K21: no socket stays, and a reader in another thread returns."""
    threads = set(threading.enumerate())
    client = Client(project.url, project.secret)
    live = client.live("books", where=started(name))
    next(live)
    reader = threading.Thread(target=lambda: list(live))
    reader.start()
    client.close()
    reader.join(PATIENCE)
    assert (reader.is_alive(), live.state, live.problem) == (False, "closed", None)
    wait_until(lambda: set(threading.enumerate()) <= threads, PATIENCE)


async def test_k21_a_cancelled_reader_leaves_the_query_to_others(project: Project, name: str) -> None:
    """K21: the next reader goes on where it was."""
    async with AsyncClient(project.url, project.secret) as client:
        live = client.live("books", where=started(name))
        await taken(live)
        waiting = asyncio.ensure_future(anext(live))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        made = await client.collection("books").create({"title": name})
        assert (await taken(live)).document_id == made.id


def feed_of(**query: Any) -> Feed:
    return Feed({"collection": "books", **query}, lambda data: data)


def test_a_feed_that_is_not_consumed_holds_one_snapshot() -> None:
    feed = feed_of(limit=5)
    feed.accept({"type": "snapshot", "documents": [], "complete": True, "cursor": "c"})
    for number in range(3000):
        row = {"id": str(number), "data": {}, "created_at": f"{number:05}", "updated_at": "", "version": 1}
        feed.accept({"type": "changes", "changes": [{"op": "enter", "document": row}], "cursor": "c"})
    first = feed.take()
    assert isinstance(first, Snapshot)
    assert [each.id for each in first.documents] == ["0", "1", "2", "3", "4"]
    assert sum(1 for _ in iter(feed.take, None)) <= 1000


def test_a_resync_keeps_what_is_shown() -> None:
    feed = feed_of()
    row = {"id": "1", "data": {}, "created_at": "", "updated_at": "", "version": 1}
    feed.accept({"type": "snapshot", "documents": [row], "complete": True, "cursor": "c"})
    feed.accept({"type": "resync", "reason": "slow"})
    assert (feed.state, len(feed.documents)) == ("stale", 1)
    feed.accept({"type": "snapshot", "documents": [], "complete": True, "cursor": "d"})
    assert (feed.state, feed.documents, feed.message()["after"]) == ("live", [], "d")


def test_closes_and_refusals_have_their_classes() -> None:
    assert {code: final(Lost(code, "")) is not None for code in (*FINAL, 1006, 1012, 4408)} == {
        **dict.fromkeys(FINAL, True),
        1006: False,
        1012: False,
        4408: False,
    }
    assert str(refusal({"code": "not_live", "detail": [{"msg": "No"}]})) == "No (not_live)"
    assert refusal({"code": "brand_new", "detail": "?"}).code == "brand_new"


def test_live_queries_say_which_package_they_need(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "websockets.sync.client", None)
    with Client(project.url, project.secret) as client, pytest.raises(ConfigurationError, match="realtime"):
        next(client.live("books"))

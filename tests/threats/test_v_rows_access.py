"""Threat rows V3, V8, V28 and V36: what a worker remembers of sets and users, and of whom it may be sure."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from faults.commands import NO_TLS
from faults.server import serving
from service.app import create_app
from service.bounds import MAX_SET_READS, MAX_SET_VALUES
from service.checks import run_checks
from service.domain import cache
from service.domain.paces import Presence
from service.schema.values import now
from service.services import Services
from service.settings import Settings
from service.storage.migrations import verify_asserted_addresses
from tests.conftest import BASE_URL, PATIENT, Api, CommandRecorder, MakeApi
from tests.web.rules.conftest import Person, save, server_of, sign_up

MB = 1_000_000
TEXT = {"type": "string"}
USER = {"type": "reference", "collection": "users"}
BOARD = {"type": "reference", "collection": "boards"}
BOARDS: dict[str, Any] = {
    "sets": {"my_boards": {"from": "memberships", "where": {"user_id_eq": "$user.id"}, "take": "board_id"}},
    "collections": {
        "boards": {
            "read": {"or": [{"owner_id_eq": "$user.id"}, {"id_in": "$sets.my_boards"}]},
            "create": "users",
            "fields": {"owner_id": {"set": "$user.id", "write": "create"}},
        },
        "memberships": {
            "read": {"board_id_in": "$sets.my_boards"},
            "create": {"board.owner_id_eq": "$user.id"},
            "delete": {"user_id_eq": "$user.id"},
        },
        "cards": {
            "read": {"board_id_in": "$sets.my_boards"},
            "create": {"board_id_in": "$sets.my_boards"},
            "update": {"board_id_in": "$sets.my_boards"},
            "delete": {"board_id_in": "$sets.my_boards"},
        },
    },
}


async def make(api: Api, schemas: dict[str, Any], rules: dict[str, Any]) -> None:
    for name, schema in schemas.items():
        answer = await api.request("POST", "/api/collections", json={"name": name, "schema": schema})
        assert answer.status_code == 201, answer.text
    saved = await save(api, rules)
    assert saved.status_code == 200, saved.text


async def make_boards(api: Api) -> None:
    boards = {"title": TEXT, "owner_id": USER}
    await make(
        api,
        {
            "boards": boards,
            "memberships": {"board_id": BOARD, "user_id": USER},
            "cards": {"board_id": BOARD, "t": TEXT},
        },
        BOARDS,
    )


async def stored(api: Api, collection: str, **data: Any) -> str:
    made = await server_of(api).create(collection, **data)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def found(person: Person, collection: str, query: str = "") -> list[str]:
    answer = await person.list(collection, query)
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["documents"]]


@asynccontextmanager
async def another_worker(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """Requests to another worker of the same service, which remembers what it has read itself."""
    app: Starlette = create_app(settings, PATIENT)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx2.ASGITransport(app=app)
        yield await stack.enter_async_context(httpx2.AsyncClient(transport=transport, base_url=BASE_URL))


def at(person: Person, http: httpx2.AsyncClient) -> Person:
    """The same, at another worker."""
    return replace(person, api=replace(person.api, http=http))


class Clock:
    """The clock of caches, which moves by a microsecond whenever it is looked at, and else as a test says."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def __call__(self) -> float:
        self.now += 1e-6
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(cache, "monotonic", made)
    return made


@pytest.fixture
def counted(commands: CommandRecorder, clock: Clock) -> CommandRecorder:
    """Counts commands while the clock of caches moves."""
    return commands


def count_remembered(services: Services) -> int:
    return len(services.access._sets._known)  # noqa: SLF001 - nothing else tells


# V3


@pytest.mark.parametrize(
    ("values", "is_known"),
    [
        pytest.param(["x" * 100] * 2, True, id="the same twice"),
        pytest.param([f"{n:0100}" for n in range(655)], True, id="65,500 bytes"),
        pytest.param([f"{n:0100}" for n in range(656)], False, id="65,600 bytes"),
        pytest.param(["é" * 32_768], True, id="one text of 65,536 bytes"),
        pytest.param(["é" * 32_768 + "x"], False, id="one text of a byte more"),
        pytest.param(["é" * 32_768, "x"], False, id="a byte more in another record"),
        pytest.param([f"{n:012000}" for n in range(30)], False, id="texts of 12 KB"),
        pytest.param([f"{n:0900}" for n in range(100)], False, id="short texts"),
        pytest.param([f"{n}" for n in range(MAX_SET_VALUES)], True, id="1,000 values"),
        pytest.param([f"{n}" for n in range(MAX_SET_VALUES + 1)], False, id="1,001 values"),
    ],
)
async def test_v3_a_set_has_so_many_bytes_of_values(api: Api, values: list[str], is_known: bool) -> None:
    sets = {"big": {"from": "sources", "where": {"kind_eq": "a"}, "take": "value"}}
    rules = {"items": {"read": {"value_in": "$sets.big"}}, "others": {"read": {"not": {"value_in": "$sets.big"}}}}
    schema = {"kind": TEXT, "value": TEXT}
    await make(api, {"sources": schema, "items": schema, "others": schema}, {"sets": sets, "collections": rules})
    await _fill(api, [{"kind": "a", "value": each} for each in values])
    ann = await sign_up(api, "ann")
    for name in ("items", "others"):
        answer = await ann.list(name)
        assert answer.status_code == (200 if is_known else 403), answer.text
        assert is_known or answer.json()["code"] == "forbidden"
    question = {"as": {"user_id": ann.id}, "action": "read", "collection": "items"}
    explained = (await api.request("POST", "/api/rules/explain", json=question)).json()
    if is_known:
        assert sorted(explained["sets"]["big"]) == sorted(set(values))
    else:
        assert (explained["allowed"], explained["sets"]) == (False, {"big": {"unknown": "too_large"}})


async def test_v3_numbers_and_arrays_count_by_their_values(api: Api) -> None:
    sets = {"big": {"from": "sources", "where": {"kind_eq": "a"}, "take": "value"}}
    schema = {"kind": TEXT, "value": {"type": "array", "items": TEXT}, "n": {"type": "number"}}
    sets["numbers"] = {**sets["big"], "take": "n"}
    rules = {"sources": {"read": {"kind_in": "$sets.big"}}, "others": {"read": {"n_in": "$sets.numbers"}}}
    await make(api, {"sources": schema, "others": schema}, {"sets": sets, "collections": rules})
    ann = await sign_up(api, "ann")
    # MongoDB keeps this array in 75 KB.
    whole = [f"{n:065}" for n in range(1_000)]
    made = await stored(api, "sources", kind="a", value=whole, n=1)
    assert await found(ann, "sources") == []
    assert await found(ann, "others") == []
    merged = await server_of(api).merge("sources", made, value=[*whole[:-1], "y" * 602])
    assert merged.status_code == 200
    assert (await ann.list("sources")).status_code == 200


async def test_v3_a_set_that_is_too_large_is_read_once_for_many_refusals(
    api: Api, counted: CommandRecorder, clock: Clock
) -> None:
    sets = {"big": {"from": "sources", "where": {"kind_eq": "a"}, "take": "value"}}
    schema = {"kind": TEXT, "value": TEXT}
    rules = {"sources": {"create": "users"}, "items": {"read": {"value_in": "$sets.big"}}}
    await make(api, {"sources": schema, "items": schema}, {"sets": sets, "collections": rules})
    ann = await sign_up(api, "ann")
    made = await stored(api, "sources", kind="a", value="x" * 70_000)
    assert (await ann.list("items")).status_code == 403
    counted.commands.clear()
    for _ in range(5):
        assert (await ann.list("items")).status_code == 403
    assert "aggregate" not in counted.work
    assert (await server_of(api).merge("sources", made, value="y")).status_code == 200
    clock.now += 5.1
    assert (await ann.list("items")).status_code == 200


async def test_v6_a_project_that_owes_time_for_slow_sets_waits_for_them_beside_others(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_boards(api)
    ann, bob = await sign_up(api, "ann"), await sign_up(api, "bob")
    assert await found(ann, "cards") == []
    places = services.access._sets._places  # noqa: SLF001 - no request takes hours
    monkeypatch.setattr(Presence, "has_others", lambda *_: True)
    monkeypatch.setattr(places, "seconds", 0.0)
    name = api.database.name
    await places.acquire(name)
    places.release(name, 3_600.0)
    answer = await bob.list("cards")
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    # A remembered set needs no place.
    assert await found(ann, "cards") == []
    monkeypatch.setattr(Presence, "has_others", lambda *_: False)
    assert await found(bob, "cards") == []


async def _fill(api: Api, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), 100):
        operations = [{"op": "create", "collection": "sources", "data": row} for row in rows[start : start + 100]]
        answer = await api.request("POST", "/api/batch", json={"operations": operations})
        assert answer.status_code == 200, answer.text


def test_v3_two_hundred_users_of_a_large_set_cost_a_worker_little_memory(
    mongodb_uri: str, database_prefix: str
) -> None:
    sets = {"big": {"from": "ms", "where": {"kind_eq": "a"}, "take": "blob"}}
    own = {"fits": {"from": "own", "where": {"by_eq": "$user.id"}, "take": "blob"}}
    rules = {"docs": {"read": {"blob_in": "$sets.big"}}, "more": {"read": {"blob_in": "$sets.fits"}}}
    with serving(mongodb_uri, f"{database_prefix}v3_") as server:
        for name in ("ms", "own", "docs", "more"):
            schema = {"kind": TEXT, "by": TEXT, "blob": TEXT}
            ok(server.request("POST", "/api/collections", json={"name": name, "schema": schema}))
        ok(server.request("PUT", "/api/rules", json={"sets": sets | own, "collections": rules}))
        moment = now()
        times = {"created_at": moment, "updated_at": moment}
        rows = [{"kind": "a", "blob": f"{n:012000}"} for n in range(1_000)]
        server.database["c_ms"].insert_many({"_id": f"{n:024}", "data": row, **times} for n, row in enumerate(rows))
        tokens = []
        for number in range(200):
            body = {"email": f"u{number}@example.com", "password": "correct horse"}
            signed_in = ok(server.request("POST", "/auth-collections/signup", json=body)).json()
            tokens.append(signed_in["access_token"])
            # Each user has a set that is as large as one may be.
            row = {"by": signed_in["user"]["id"], "blob": f"{number:060000}"}
            server.database["c_own"].insert_one({"_id": f"{number:024}", "data": row, **times})
        with httpx2.Client(base_url=server.url, verify=NO_TLS, timeout=60) as client:
            ask_each(client, tokens[:1], "docs", 403)
            ask_each(client, tokens[:1], "more", 200)
            before = resident_memory(server.process.pid)
            ask_each(client, tokens, "docs", 403)
            after = resident_memory(server.process.pid)
            ask_each(client, tokens, "more", 200)
            with_own = resident_memory(server.process.pid)
    assert after - before <= 20 * MB
    # A small set is remembered: 16 MB of them at most, and the rules of each user with them.
    assert with_own - after <= 30 * MB


def ok(answer: httpx2.Response) -> httpx2.Response:
    assert answer.is_success, answer.text
    return answer


def ask_each(client: httpx2.Client, tokens: list[str], collection: str, status: int) -> None:
    for token in tokens:
        headers = {"authorization": f"Bearer {token}"}
        answer = client.get(f"/api/collections/{collection}/documents?limit=1", headers=headers)
        assert answer.status_code == status, answer.text


def resident_memory(pid: int) -> int:
    """Bytes that a process has in memory (proc(5), VmRSS)."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024


async def test_v3_sets_that_are_bound_to_the_same_are_one_entry(api: Api, services: Services) -> None:
    sets = {
        "open": {"from": "rooms", "where": {"is_open_eq": True}, "take": "name"},
        "also_open": {"from": "rooms", "where": {"is_open_eq": True}, "take": "name"},
        "staff": {"from": "rooms", "where": {"role_in": "$user.roles"}, "take": "name"},
        "own": {"from": "rooms", "where": {"by_eq": "$user.id"}, "take": "name"},
    }
    rules = {"items": {"read": {"or": [{"room_in": f"$sets.{name}"} for name in sets]}}}
    rooms = {"name": TEXT, "is_open": {"type": "boolean"}, "role": TEXT, "by": TEXT}
    await make(api, {"rooms": rooms, "items": {"room": TEXT}}, {"sets": sets, "collections": rules})
    people = [await sign_up(api, f"user{n}", "staff") for n in range(5)]
    before = count_remembered(services)
    for person in people:
        assert await found(person, "items") == []
    # One for all, one for those who have the same roles, and one for each user.
    assert count_remembered(services) - before == 1 + 1 + len(people)


async def test_v3_of_a_users_data_only_what_rules_name_is_remembered(api: Api, services: Services) -> None:
    await make(api, {"items": {"plan": TEXT}}, {"collections": {"items": {"read": "users"}}})
    ann = await sign_up(api, "ann", blob="x" * 500_000)
    await api.request("PATCH", f"/auth-collections/users/{ann.id}", json={"data": {"plan": "pro"}})
    assert await found(ann, "items") == []
    item = await stored(api, "items", plan="pro")
    await stored(api, "items", plan="free")
    # Rules that name a field are followed at once, whatever is remembered of the user.
    odd = {"data.$x": {"write": "server"}, "data.a\0b": {"write": "server"}, "data.plan": {"write": "server"}}
    rules = {"users": {"fields": odd}, "collections": {"items": {"read": {"plan_eq": "$user.data.plan"}}}}
    assert (await save(api, rules)).status_code == 200
    assert await found(ann, "items") == [item]
    facts = services.access._users._facts  # noqa: SLF001 - nothing else tells
    (remembered,) = [entry[1] for name, entry in facts._entries.items() if name.endswith(ann.id)]  # noqa: SLF001
    assert remembered.data == {"plan": "pro"}


# V28


async def test_v28_a_removed_role_passes_through_no_set_after_five_seconds(api: Api, clock: Clock) -> None:
    sets = {"rooms": {"from": "rooms", "where": {"$user.roles_eq": "staff"}, "take": "name"}}
    rules = {"items": {"read": {"room_in": "$sets.rooms"}}, "seen": {"read": {"$user.roles_eq": "staff"}}}
    await make(
        api, {"rooms": {"name": TEXT}, "items": {"room": TEXT}, "seen": {}}, {"sets": sets, "collections": rules}
    )
    await stored(api, "rooms", name="r")
    item = await stored(api, "items", room="r")
    ann = await sign_up(api, "ann", "staff")
    assert await found(ann, "seen") == []
    # Another worker takes the role away, and this one hears nothing of it.
    api.database["users"].update_one({"_id": ann.id}, {"$set": {"roles": []}})
    clock.now += 4.9
    assert await found(ann, "items") == [item]
    clock.now += 0.2
    assert (await ann.list("items")).status_code == 403


# V36


async def test_v36_rules_see_the_callers_own_membership_at_once(api: Api) -> None:
    await make_boards(api)
    ann = await sign_up(api, "ann")
    assert await found(ann, "cards") == []
    board = (await ann.create("boards", title="b")).json()["id"]
    joined = await ann.create("memberships", board_id=board, user_id=ann.id)
    assert joined.status_code == 201
    assert joined.json()["data"] == {"board_id": board, "user_id": ann.id}
    card = await ann.create("cards", board_id=board, t="one")
    assert card.status_code == 201, card.text
    assert await found(ann, "cards") == [card.json()["id"]]
    # The end of it is seen at once as well.
    assert (await ann.delete("memberships", joined.json()["id"])).status_code == 204
    assert await found(ann, "cards") == []
    assert (await ann.create("cards", board_id=board, t="two")).status_code == 403


async def test_v36_rules_see_it_at_another_worker(api: Api, settings: Settings) -> None:
    await make_boards(api)
    ann = await sign_up(api, "ann")
    async with another_worker(settings) as http:
        there = at(ann, http)
        assert await found(there, "cards") == []
        board = (await ann.create("boards", title="b")).json()["id"]
        joined = await ann.create("memberships", board_id=board, user_id=ann.id)
        card = await there.create("cards", board_id=board, t="one")
        assert card.status_code == 201, card.text
        assert await found(there, "cards") == [card.json()["id"]]
        await ann.delete("memberships", joined.json()["id"])
    # Records read one by one, and possible references, follow the change too.
    async with another_worker(settings) as http:
        there = at(ann, http)
        assert await found(there, "cards") == []
        await ann.create("memberships", board_id=board, user_id=ann.id)
        assert (await there.get("cards", card.json()["id"])).status_code == 200


async def test_v36_a_reference_to_what_the_caller_may_read_now_is_taken_at_another_worker(
    api: Api, settings: Settings
) -> None:
    await make_boards(api)
    collections: dict[str, Any] = BOARDS["collections"]
    rules: dict[str, Any] = {**BOARDS, "collections": {**collections, "notes": {"create": "users"}}}
    await make(api, {"notes": {"board_id": BOARD}}, rules)
    ann, bob = await sign_up(api, "ann"), await sign_up(api, "bob")
    board = (await ann.create("boards", title="b")).json()["id"]
    async with another_worker(settings) as http:
        there = at(bob, http)
        assert (await there.create("notes", board_id=board)).status_code == 422
        await stored(api, "memberships", board_id=board, user_id=bob.id)
        assert (await there.create("notes", board_id=board)).status_code == 201


@pytest.mark.parametrize("atomic", [True, False])
async def test_v36_a_batch_of_a_board_its_membership_and_a_card(api: Api, atomic: bool) -> None:
    await make_boards(api)
    ann = await sign_up(api, "ann")
    assert await found(ann, "cards") == []
    operations: list[dict[str, Any]] = [
        {"op": "create", "collection": "boards", "data": {"title": "b"}, "as": "b"},
        {"op": "create", "collection": "memberships", "data": {"board_id": {"$id": "b"}, "user_id": ann.id}},
        {"op": "create", "collection": "cards", "data": {"board_id": {"$id": "b"}, "t": "one"}},
        {"op": "create", "collection": "cards", "data": {"board_id": {"$id": "b"}, "t": "two"}},
    ]
    if not atomic:
        # Only a batch of one transaction knows ids beforehand.
        board = (await ann.create("boards", title="b")).json()["id"]
        operations = [{**each, "data": {**each["data"], "board_id": board}} for each in operations[1:]]
    answer = await ann.ask("POST", "/api/batch", json={"operations": operations, "atomic": atomic})
    assert answer.status_code == 200, answer.text
    assert [each["status"] for each in answer.json()["results"]] == [201] * len(operations)
    assert len(await found(ann, "cards")) == 2


async def test_v36_what_a_batch_undid_is_seen_by_nothing(api: Api) -> None:
    await make_boards(api)
    ann = await sign_up(api, "ann")
    board = (await ann.create("boards", title="b")).json()["id"]
    assert await found(ann, "cards") == []
    operations = [
        {"op": "create", "collection": "memberships", "data": {"board_id": board, "user_id": ann.id}},
        {"op": "create", "collection": "cards", "data": {"board_id": board, "t": "one"}},
        {"op": "delete", "collection": "cards", "id": "0" * 24},
    ]
    answer = await ann.ask("POST", "/api/batch", json={"operations": operations})
    assert answer.status_code == 404, answer.text
    assert (await ann.create("cards", board_id=board, t="two")).status_code == 403
    assert api.database["c_cards"].count_documents({}) == 0


async def test_v36_who_is_refused_in_a_loop_has_sets_read_again_so_often(api: Api, counted: CommandRecorder) -> None:
    await make_boards(api)
    ann, bob = await sign_up(api, "ann"), await sign_up(api, "bob")
    board = (await bob.create("boards", title="b")).json()["id"]
    assert await found(ann, "cards") == []
    await found(ann, "boards")
    counted.commands.clear()
    for _ in range(2 * MAX_SET_READS):
        assert (await ann.create("cards", board_id=board, t="x")).status_code == 403
    assert counted.work.count("aggregate") == MAX_SET_READS


async def test_v36_what_succeeds_asks_no_more_than_before(api: Api, counted: CommandRecorder) -> None:
    await make_boards(api)
    ann = await sign_up(api, "ann")
    board = (await ann.create("boards", title="b")).json()["id"]
    await ann.create("memberships", board_id=board, user_id=ann.id)
    assert (await ann.create("cards", board_id=board, t="x")).status_code == 201
    assert len(await found(ann, "cards")) == 1
    counted.commands.clear()
    assert (await ann.create("cards", board_id=board, t="y")).status_code == 201
    creation = list(counted.work)
    counted.commands.clear()
    await found(ann, "cards")
    assert creation.count("insert") == 1
    assert (len(creation), counted.work) == (2, ["find"])


async def test_v36_two_at_once_see_their_own(api: Api) -> None:
    await make_boards(api)
    people = [await sign_up(api, f"user{n}") for n in range(8)]

    async def play(person: Person) -> None:
        for _ in range(3):
            assert (await person.list("cards")).status_code == 200
            board = (await person.create("boards", title="b")).json()["id"]
            assert (await person.create("memberships", board_id=board, user_id=person.id)).status_code == 201
            assert (await person.create("cards", board_id=board, t="x")).status_code == 201

    await asyncio.gather(*map(play, people))


# V8


IDENTITY, NO_PASSWORD = {"issuer": "i", "subject": "s"}, {"password": "boss@example.com"}
INVITED: dict[str, Any] = {
    "collections": {
        "shared": {"read": {"invited_eq": "$user.email"}},
        "others": {"read": {"not": {"invited_eq": "$user.email"}}},
        "staff": {"read": {"$user.email_eq": "boss@example.com"}},
        "others_than_staff": {"read": {"$user.email_ne": "boss@example.com"}},
    }
}


async def make_invited(api: Api, rules: dict[str, Any] = INVITED) -> None:
    schemas = {name: {"invited": TEXT} for name in INVITED["collections"]}
    await make(api, schemas, rules)
    for name in schemas:
        await stored(api, name, invited="boss@example.com")


async def test_v8_an_address_that_is_not_proven_is_unknown(api: Api) -> None:
    await make_invited(api)
    stranger = await sign_up(api, "boss")
    for name in INVITED["collections"]:
        answer = await stranger.list(name)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), name
    proven = await api.request("PATCH", f"/auth-collections/users/{stranger.id}", json={"email_verified": True})
    assert proven.status_code == 200, proven.text
    assert [len(await found(stranger, name)) for name in ("shared", "others", "staff")] == [1, 0, 1]
    assert (await stranger.list("others_than_staff")).status_code == 403
    # Another address is another proof.
    other = await api.request("PATCH", f"/auth-collections/users/{stranger.id}", json={"email": "chief@example.com"})
    assert other.status_code == 200, other.text
    assert (await stranger.list("others_than_staff")).status_code == 403


@pytest.mark.parametrize(
    ("changes", "is_known"),
    [
        pytest.param({}, False, id="signed up"),
        pytest.param({"email_verified": True}, True, id="verified"),
        pytest.param({"identities": [{**IDENTITY, "email": "boss@example.com"}]}, True, id="asserted"),
        pytest.param({"identities": [{**IDENTITY, "email": "b@x.com"}]}, False, id="another asserted"),
        pytest.param({"oauth_id": "s", **NO_PASSWORD}, True, id="of a provider before there were identities"),
        pytest.param({"oauth_id": "s", "identities": [IDENTITY], **NO_PASSWORD}, True, id="made by a provider"),
        pytest.param({"oauth_id": "s", "identities": [IDENTITY]}, False, id="linked to an account with a password"),
        pytest.param(
            {"oauth_id": "s", "email_verified": False, **NO_PASSWORD}, False, id="an address changed by a server"
        ),
    ],
)
async def test_v8_a_provider_that_asserted_the_address_has_proven_it(
    api: Api, changes: dict[str, Any], is_known: bool
) -> None:
    """Records of earlier versions, after their migration: the profile and the rules agree."""
    await make_invited(api)
    boss = await sign_up(api, "boss")
    if changes:
        api.database["users"].update_one({"_id": boss.id}, {"$set": changes})
    await verify_asserted_addresses(api.project.database)
    assert (await boss.list("shared")).status_code == (200 if is_known else 403)
    profile = await boss.ask("GET", "/auth-collections/user")
    assert profile.json()["email_verified"] is is_known
    by_server = await api.users(f"email_verified_eq={str(is_known).lower()}")
    assert [each["id"] for each in by_server.json()["users"]] == [boss.id]


async def test_v8_saving_such_rules_warns_unless_every_address_is_proven(make_api: MakeApi) -> None:
    rules = {
        "sets": {"mine": {"from": "shared", "where": {"invited_eq": "$user.email"}, "take": "invited"}},
        "users": {"read": {"email_eq": "$user.email"}},
        "assign": {"staff": {"$user.email_eq": "boss@example.com"}},
        "collections": {**INVITED["collections"], "staff": {"read": {"invited_in": "$sets.mine"}}},
    }
    for setting, places in (
        (
            "off",
            [
                ["body", "sets", "mine", "where"],
                ["body", "assign", "staff"],
                ["body", "users", "read"],
                *(["body", "collections", name, "read"] for name in ("shared", "others", "others_than_staff")),
            ],
        ),
        ("required", []),
    ):
        api = await make_api(EMAIL_VERIFICATION=setting)
        await make_invited(api)
        for query in ("?dry_run=true", ""):
            warnings = (await save(api, rules, query)).json()["warnings"]
            assert [each["loc"] for each in warnings if each["type"] == "unproven_email"] == places


async def test_v8_check_lists_the_rules_that_ask_for_the_address(api: Api, services: Services) -> None:
    await make_invited(api)
    findings = [
        each for each in await run_checks(services.base.databases, services.base.admin) if "$user.email" in each.text
    ]
    assert len(findings) == len(INVITED["collections"])
    assert findings[0].text.startswith(f"project {api.project.id}: the rule ['collections', 'shared', 'read'] refuses")

"""Pages by cursor: over values of every type, in every direction, while others write; and forged cursors."""

import json
import random
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.conftest import Api, CommandRecorder
from tests.declared import added, declare, violations
from tests.web.rules.conftest import Person, save, sign_up

USERS = "/auth-collections/users"
BEGINNING = datetime(2026, 1, 1)  # noqa: DTZ001 - as it is stored
SCALARS: list[Any] = [
    None, True, False, 0, 1, -1, 1.5, 2**53 + 1, "", "a", "B", "é", "10", {}, {"x": 1}, {"x": [1, None], "y": {}},
    BEGINNING, BEGINNING + timedelta(days=1),
]  # fmt: skip
Record = dict[str, Any]


def random_value(chance: random.Random) -> Any:
    kind = chance.random()
    if kind < 0.12:
        return [chance.choice([*SCALARS, [1], [[]]]) for _ in range(chance.randrange(3))]
    return chance.choice(SCALARS)


def random_data(chance: random.Random) -> Record:
    """Few values, so that many are equal; `place` may be an object, an array of them, or neither."""
    found: Record = {name: random_value(chance) for name in ("a", "b") if chance.random() < 0.85}
    if chance.random() < 0.8:
        inner: list[Any] = [{"city": chance.choice(SCALARS)}, {}, 5, None, [], {"city": []}, {"city": [1, "a"]}]
        one = chance.choice([*inner[:1] * 6, *inner])
        found["place"] = [one, chance.choice(inner)] if chance.random() < 0.1 else one
    return found


def random_users(chance: random.Random, first: int, count: int) -> list[Record]:
    moments = [BEGINNING + timedelta(seconds=chance.randrange(20)) for _ in range(count)]
    return [
        {
            "_id": f"{first + number:024x}",
            "email": f"u{first + number}@example.com",
            "data": random_data(chance),
            "created_at": moment,
            "updated_at": moment,
        }
        for number, moment in enumerate(moments)
    ]


def ends_at_an_array(answer: Any) -> bool:
    return answer.status_code == 422 and answer.json()["detail"][0]["type"] in {"cursor_not_possible", "arrays_in_sort"}


SORTS: list[list[str]] = [
    ["a"], ["-a"], ["b"], ["-b"], ["data.place.city"], ["-data.place.city"], ["created_at"], ["-created_at"], ["id"], ["-id"],
    ["email"], ["-email", "a"], ["created_at", "-a"], ["-created_at", "a"], ["nothing"], ["-created_at", "id"],
]  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
async def test_every_record_comes_once_in_order_while_others_are_written(api: Api, seed: int) -> None:
    """A page that would end at an array is asked for one longer, as a client that knows of it would."""
    chance = random.Random(seed)  # noqa: S311 - repeatable
    users = api.database["users"]
    stored = random_users(chance, 0x1000, 300)
    users.insert_many(map(dict, stored))
    fresh = 0x100000
    for sort in SORTS:
        ids = [each["_id"] for each in stored]
        users.delete_many({"_id": {"$nin": ids}})
        in_order = await api.request("POST", f"{USERS}/query", json={"sort_by": sort, "limit": 1000, "count": "none"})
        expected = [user["id"] for user in in_order.json()["users"]]
        assert sorted(expected) == sorted(ids)
        found: list[str] = []
        cursor: str | None = "*"
        while cursor is not None:
            page = await a_page(api, sort, cursor, chance.randint(1, 60))
            found += [user["id"] for user in page["users"]]
            cursor = page["next"]
            more = random_users(chance, fresh, 2)
            fresh += len(more)
            users.insert_many(more)
        known = set(ids)
        assert [id_ for id_ in found if id_ in known] == expected, sort
        assert len(set(found)) == len(found), sort


async def a_page(api: Api, sort: list[str], cursor: str, limit: int) -> Record:
    """In either form, which share their cursors."""
    while True:
        body = {"sort_by": sort, "cursor": cursor, "limit": limit}
        if limit % 2 or len(cursor) > 900:
            answer = await api.request("POST", f"{USERS}/query", json=body)
        else:
            answer = await api.users(f"sort_by={','.join(sort)}&cursor={cursor}&limit={limit}")
        if answer.status_code == 200:
            found: Record = answer.json()
            assert found.keys() == {"users", "total", "limit", "next"}
            assert found["total"] is None
            assert len(found["users"]) == limit or found["next"] is None
            return found
        assert ends_at_an_array(answer), answer.text
        limit += 1


SCHEMA: Record = {
    "name": {"type": "string"},
    "n": {"type": "integer"},
    "at": {"type": "datetime"},
    "done": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "secret": {"type": "string"},
    "owner_id": {"type": "reference", "collection": "users"},
}
DOCUMENTS, QUERY = "/api/collections/things/documents", "/api/collections/things/query"


async def fill(api: Api, count: int) -> None:
    await declare(api, SCHEMA)
    chance = random.Random(count)  # noqa: S311 - repeatable
    documents = []
    for number in range(count):
        moment = BEGINNING + timedelta(seconds=number // 4)
        values = {
            "name": f"name {chance.randrange(6)}",
            "n": chance.randrange(5),
            "at": BEGINNING + timedelta(days=chance.randrange(4)),
            "done": chance.random() < 0.5,
            "tags": [chance.choice("abc") for _ in range(chance.randrange(3))],
        }
        data = {name: value for name, value in values.items() if chance.random() < 0.8}
        documents.append({"_id": f"{number:024x}", "data": data, "created_at": moment, "updated_at": moment})
    api.database["c_things"].insert_many(documents)


async def all_pages(asker: Api | Person, body: Record) -> list[str]:
    found, cursor = list[str](), "*"
    ask = asker.ask if isinstance(asker, Person) else asker.request
    while cursor is not None:
        answer = await ask("POST", QUERY, json={**body, "cursor": cursor})
        assert answer.status_code == 200, answer.text
        found += [document["id"] for document in answer.json()["documents"]]
        cursor = answer.json()["next"]
    return found


async def test_declared_fields_page_by_several_keys_in_both_directions(api: Api) -> None:
    await fill(api, 90)
    for sort in (
        ["n"], ["-n"], ["name", "-n"], ["-name", "n", "-at"], ["done"], ["-done", "at"], ["-created_at", "n"],
        ["created_at"], ["-updated_at", "-at", "name"], ["n", "id"], ["-n", "-id"],
    ):  # fmt: skip
        listed = await api.request("POST", QUERY, json={"sort_by": sort, "limit": 1000, "where": {"n_lt": 4}})
        expected = [document["id"] for document in listed.json()["documents"]]
        for limit in (1 if sort == ["n"] else 4, 7, 1000):
            assert await all_pages(api, {"sort_by": sort, "limit": limit, "where": {"n_lt": 4}}) == expected, sort


async def test_next_is_null_exactly_at_the_end(api: Api) -> None:
    await fill(api, 6)
    for limit, nexts in ((2, [True, True, False]), (3, [True, False]), (6, [False]), (7, [False])):
        cursor: Any = "*"
        for has_next in nexts:
            page = (await api.request("GET", f"{DOCUMENTS}?cursor={cursor}&limit={limit}")).json()
            cursor = page["next"]
            assert (cursor is not None) is has_next
    empty = (await api.request("GET", f"{DOCUMENTS}?cursor=*&name_eq=nobody")).json()
    assert empty == {"documents": [], "total": None, "limit": 50, "next": None}


async def test_limit_fields_populate_and_count_may_change_from_page_to_page(api: Api) -> None:
    await fill(api, 9)
    where = {"n_gte": 0, "name_isnull": False}
    first = (await api.request("POST", QUERY, json={"where": where, "limit": 1, "cursor": "*"})).json()
    text = json.dumps(dict(reversed(where.items())))
    again = await api.request(
        "GET",
        DOCUMENTS,
        params={"where": text, "limit": "2", "cursor": first["next"], "count": "exact", "fields": "name"},
    )
    total = (await api.request("POST", QUERY, json={"where": where})).json()["total"]
    assert again.json()["total"] == total > 3
    assert [document["data"].keys() for document in again.json()["documents"]] == [{"name"}] * 2


REFUSED: list[tuple[str, Record, tuple[Any, ...]]] = [
    ("an offset", {"cursor": "*", "offset": 0}, ("offset", "value_error")),
    ("another where", {"where": {"n_gte": 1}}, ("cursor", "cursor_mismatch")),
    ("another order", {"sort_by": ["-n"]}, ("cursor", "cursor_mismatch")),
    ("no base64", {"cursor": "%%%"}, ("cursor", "value_error")),
    ("no JSON", {"cursor": "AAAA"}, ("cursor", "value_error")),
    ("text beyond ASCII", {"cursor": "é"}, ("cursor", "value_error")),
    ("3,001 characters", {"cursor": "A" * 3001}, ("cursor", "string_too_long")),
    ("nothing", {"cursor": ""}, ("cursor", "string_too_short")),
    ("a number", {"cursor": 1}, ("cursor", "string_type")),
]


def forge(cursor: str, *values: Any) -> str:
    """The cursor with other values behind its fingerprint."""
    query = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))[0]
    return urlsafe_b64encode(json.dumps([query, *values]).encode()).decode().rstrip("=")


async def test_what_is_no_cursor_of_the_query_is_refused(api: Api) -> None:
    await fill(api, 9)
    asked: Record = {"where": {"n_gte": 0}, "sort_by": ["n"], "limit": 2}
    cursor = (await api.request("POST", QUERY, json={**asked, "cursor": "*"})).json()["next"]
    for name, changes, expected in REFUSED:
        answer = await api.request("POST", QUERY, json={**asked, "cursor": cursor, **changes})
        assert violations(answer) == [("body", *expected)], name
    id_ = "0" * 24
    made_up: list[tuple[Any, ...]] = [
        (), (1,), (1, id_, 2), ("a", id_), (True, id_), ({"d": 0}, id_), ([1], id_), (1, None), (1, 5), (1, {"$gt": ""}),
        ({"o": [["a", 1]]}, id_), ({"$gt": 1}, id_), ({"d": 10**30}, id_), ({"d": 10**17}, id_),
    ]  # fmt: skip
    for values in made_up:
        answer = await api.request("POST", QUERY, json={**asked, "cursor": forge(cursor, *values)})
        assert violations(answer) == [("body", "cursor", "value_error")], values
    deep: Any = 1
    for _ in range(40):
        deep = {"o": [["a", deep]]}
    users = (await api.signup("a@example.com"), await api.signup("b@example.com"))
    assert all(answer.status_code == 201 for answer in users)
    cursor = (await api.users("sort_by=x&limit=1&cursor=*")).json()["next"]
    for value in (deep, {"o": [["$gt", 1]]}, {"o": [["a.b", 1]]}, {"o": [["a"]]}, {"o": 1}, {"x": 1}, [1]):
        answer = await api.users(f"sort_by=x&limit=1&cursor={forge(cursor, value, id_)}")
        assert violations(answer) == [("query", "cursor", "value_error")], value


async def test_no_cursor_stands_at_an_array_nor_at_a_long_text(api: Api) -> None:
    await declare(api, SCHEMA)
    for tags in (["b"], ["a", "c"]):
        await added(api, {"tags": tags})
    answer = await api.request("GET", f"{DOCUMENTS}?sort_by=tags&limit=1&cursor=*")
    assert violations(answer) == [("query", "cursor", "cursor_not_possible")]
    assert "array" in answer.json()["detail"][0]["msg"]
    assert len((await api.request("GET", f"{DOCUMENTS}?sort_by=tags&cursor=*")).json()["documents"]) == 2
    for number in range(2):
        await added(api, {"name": "x" * 3_000, "n": number})
    long = await api.request("GET", f"{DOCUMENTS}?sort_by=-name&limit=1&cursor=*")
    assert violations(long) == [("query", "cursor", "cursor_not_possible")]


async def test_a_page_by_cursor_is_one_command_and_reads_from_where_it_begins(
    api: Api, commands: CommandRecorder
) -> None:
    await fill(api, 60)
    page = (await api.request("GET", f"{DOCUMENTS}?limit=40&cursor=*")).json()
    commands.commands.clear()
    assert (await api.request("GET", f"{DOCUMENTS}?limit=10&cursor={page['next']}")).status_code == 200
    assert commands.names == ["find"]
    ((_, command),) = commands.commands
    explained = api.database.command(
        "explain",
        {name: command[name] for name in ("find", "filter", "sort", "limit", "projection")},
        verbosity="executionStats",
    )
    assert explained["executionStats"]["totalKeysExamined"] <= 16


async def test_a_forged_cursor_asks_only_what_a_filter_could(api: Api) -> None:
    """A user under rules: whatever stands in the cursor, the answer is that of a filter on what he may read."""
    await fill(api, 40)
    ann = await sign_up(api, "ann")
    things = api.database["c_things"]
    things.update_many({}, {"$set": {"data.secret": "s"}})
    things.update_many({"data.done": True}, {"$set": {"data.owner_id": ann.id}})
    own = {"owner_id_eq": "$user.id"}
    rules = {
        "collections": {"things": {"read": {"n_lt": 3}, "fields": {"secret": {"read": False}, "at": {"read": own}}}}
    }
    assert (await save(api, rules)).status_code == 200
    for name in ("secret", "at"):
        refused = await ann.ask("POST", QUERY, json={"sort_by": [name], "cursor": "*"})
        unknown = await ann.ask("POST", QUERY, json={"sort_by": ["nothing"], "cursor": "*"})
        assert refused.text == unknown.text
    visible = await all_pages(ann, {"sort_by": ["n"], "limit": 3})
    assert set(visible) == {each["_id"] for each in things.find({"data.n": {"$lt": 3}})}
    cursor = (await ann.ask("POST", QUERY, json={"sort_by": ["n"], "limit": 1, "cursor": "*"})).json()["next"]
    for value in (-1, 0, 1, 1.5, 2, 3, 10):
        for id_ in ("", "0" * 24, "f" * 24):
            asked = {"sort_by": ["n"], "limit": 1000, "cursor": forge(cursor, value, id_)}
            by_cursor = await ann.ask("POST", QUERY, json=asked)
            where = {
                "or": [
                    {"n_gt": value},
                    {"n_gte": value, "n_lte": value, "id_in": [each for each in visible if each > id_]},
                ]
            }
            by_filter = await ann.ask("POST", QUERY, json={"sort_by": ["n"], "limit": 1000, "where": where})
            assert by_cursor.json()["documents"] == by_filter.json()["documents"], (value, id_)

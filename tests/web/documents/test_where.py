"""Conditions as JSON: what they find, in a body and in a query string, by key and by rule, and what is refused."""

import json
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from faults.trees import Target, compare
from service.bounds import MAX_CONDITIONS
from service.services import Services
from tests.conftest import Api, CommandRecorder
from tests.declared import added, declare, violations
from tests.web.rules.conftest import guest_of, save, sign_up

SCHEMA: dict[str, Any] = {
    "title": {"type": "string"},
    "stock": {"type": "integer"},
    "at": {"type": "datetime"},
    "author_id": {"type": "reference", "collection": "authors"},
    "owner_id": {"type": "reference", "collection": "users"},
    "place": {"type": "object", "properties": {"city": {"type": "string"}}},
}
MOMENT = datetime(2026, 1, 1)  # noqa: DTZ001 - as it is stored
DOCUMENTS, QUERY = "/api/collections/books/documents", "/api/collections/books/query"


@pytest.fixture
async def books(api: Api) -> Api:
    await declare(api, {"name": {"type": "string"}, "phone": {"type": "string"}}, "authors")
    await declare(api, SCHEMA, "books")
    hugo = await added(api, {"name": "Victor Hugo", "phone": "1"}, "authors")
    zola = await added(api, {"name": "Émile Zola", "phone": "2"}, "authors")
    for title, stock, author in (("Les Misérables", 3, hugo), ("Germinal", 0, zola), ("Nana", 5, zola)):
        await added(api, {"title": title, "stock": stock, "author_id": author}, "books")
    await added(api, {"title": "Beowulf"}, "books")
    return api


async def titles(api: Api, where: Any) -> list[str]:
    """By all ways of asking, which must agree."""
    posted = await api.request("POST", QUERY, json={"where": where})
    queried = await api.request("QUERY", DOCUMENTS, json={"where": where})
    listed = await api.request("GET", f"{DOCUMENTS}?where={quote(json.dumps(where))}")
    assert posted.status_code == 200, posted.text
    assert posted.content == queried.content == listed.content
    body = posted.json()
    assert body["total"] == len(body["documents"])
    return [document["data"]["title"] for document in body["documents"]]


FOUND: list[tuple[str, Any, list[str]]] = [
    ("everything", {}, ["Les Misérables", "Germinal", "Nana", "Beowulf"]),
    ("all entries hold", {"stock_gte": 1, "author.name_eq": "Émile Zola"}, ["Nana"]),
    ("one of several", {"or": [{"stock_eq": 3}, {"title_startswith": "Beo"}]}, ["Les Misérables", "Beowulf"]),
    (
        "a relation beside a field",
        {"or": [{"stock_gt": 4}, {"author.name_icontains": "HUGO"}]},
        ["Les Misérables", "Nana"],
    ),
    ("not is the complement", {"not": {"stock_gte": 1}}, ["Germinal", "Beowulf"]),
    (
        "not of a relation has the records without",
        {"not": {"author.name_contains": "Zola"}},
        ["Les Misérables", "Beowulf"],
    ),
    ("not not", {"not": {"not": {"stock_eq": 5}}}, ["Nana"]),
    ("not or", {"not": {"or": [{"stock_eq": 5}, {"author_id_isnull": True}]}}, ["Les Misérables", "Germinal"]),
    ("and", {"and": [{"stock_gte": 1}, {"stock_lte": 3}]}, ["Les Misérables"]),
    ("in", {"title_in": ["Nana", "Beowulf", "Faust"]}, ["Nana", "Beowulf"]),
    ("in nothing", {"title_in": []}, []),
    ("not in nothing", {"not": {"title_in": []}}, ["Les Misérables", "Germinal", "Nana", "Beowulf"]),
    ("hasall of a scalar", {"title_hasall": ["Nana"]}, ["Nana"]),
    ("the deepest", {"or": [{"or": [{"or": [{"or": [{"stock_eq": 5}]}]}]}]}, ["Nana"]),
    ("a text is not read as a number or a variable", {"title_in": ["$user.id", "3"]}, []),
]


async def test_a_where_finds(books: Api) -> None:
    """All of the table on one set of collections, whose making takes longer than asking."""
    assert {name: await titles(books, where) for name, where, _ in FOUND} == {name: found for name, _, found in FOUND}


async def test_a_where_holds_beside_the_filters_of_the_query_string(books: Api) -> None:
    where = quote(json.dumps({"or": [{"stock_eq": 3}, {"stock_eq": 5}]}))
    answer = await books.request("GET", f"{DOCUMENTS}?title_icontains=na&where={where}")
    assert [each["data"]["title"] for each in answer.json()["documents"]] == ["Nana"]


async def test_users_are_asked_the_same(api: Api, services: Services) -> None:
    for name, age in (("ann", 30), ("ben", "30"), ("cid", 5)):
        await api.signup(f"{name}@example.com", name=name, age=age)
    await services.sessions.sightings.write()
    where = {"or": [{"age_eq": 30}, {"email_eq": "CID@example.com"}]}
    asked = [
        await api.request("POST", "/auth-collections/users/query", json={"where": where}),
        await api.request("QUERY", "/auth-collections/users", json={"where": where}),
        await api.users(f"where={quote(json.dumps(where))}"),
    ]
    assert len({answer.content for answer in asked}) == 1
    assert [user["data"]["name"] for user in asked[0].json()["users"]] == ["ann", "cid"]
    assert asked[0].json().keys() == {"users", "total", "limit", "offset"}


async def test_conditions_of_one_object_are_of_the_same_related_record(api: Api) -> None:
    ids = [
        (await api.signup(f"{n}@example.com", name=n, age=a)).json()["user"]["id"] for n, a in (("ann", 1), ("ben", 2))
    ]
    await api.signup("cid@example.com", friend_id=ids)
    together = {"friend.name_eq": "ann", "friend.age_eq": 2}
    apart = {"and": [{key: value} for key, value in together.items()]}
    for where, found in ((together, 0), (apart, 1), ({"not": together, "friend_id_isnull": False}, 1)):
        answer = await api.request("POST", "/auth-collections/users/query", json={"where": where})
        assert answer.json()["total"] == found, where


REFUSED: list[tuple[str, Any, list[tuple[Any, ...]]]] = [
    ("null", None, [("where", "dict_type")]),
    ("a list", [], [("where", "dict_type")]),
    ("an empty object inside", {"not": {}}, [("where", "not", "where")]),
    ("no alternatives", {"or": []}, [("where", "or", "list_type")]),
    ("an object as alternatives", {"or": {"0": {"stock_eq": 1}, "length": 1}}, [("where", "or", "list_type")]),
    ("null among alternatives", {"or": [{"stock_eq": 1}, None]}, [("where", "or", 1, "where")]),
    ("a list under not", {"not": [{"stock_eq": 1}]}, [("where", "not", "where")]),
    ("null as a value", {"stock_eq": None}, [("where", "stock_eq", "value_error")]),
    ("an object as a value", {"stock_eq": {"$gt": 0}}, [("where", "stock_eq", "value_error")]),
    ("a list as a value", {"title_ne": ["a"]}, [("where", "title_ne", "value_error")]),
    ("a text for a number", {"stock_gte": "1"}, [("where", "stock_gte", "value_error")]),
    ("a text without order", {"title_gt": "a"}, [("where", "title_gt", "value_error")]),
    ("null in a list", {"or": [{"title_in": [None]}]}, [("where", "or", 0, "title_in", "value_error")]),
    ("501 values", {"stock_in": [1] * 501}, [("where", "stock_in", "value_error")]),
    ("51 values of hasall", {"title_hasall": ["a"] * 51}, [("where", "title_hasall", "value_error")]),
    ("an unknown field", {"or": [{"nothing_eq": 1}]}, [("where", "or", 0, "nothing_eq", "value_error")]),
    ("an unknown relation", {"nobody.name_eq": 1}, [("where", "nobody.name_eq", "value_error")]),
    ("an unknown operator", {"stock_near": 1}, [("where", "stock_near", "value_error")]),
    ("an operator of MongoDB", {"$where": "1"}, [("where", "$where", "value_error")]),
    ("a variable of rules", {"$user.id_eq": "1"}, [("where", "$user.id_eq", "value_error")]),
    ("a permission of rules", {"author.$can": "read"}, [("where", "author.$can", "value_error")]),
    ("6 deep", {"not": {"not": {"not": {"not": {"not": {"stock_eq": 1}}}}}}, [("where", *["not"] * 5, "too_deep")]),
    ("51 conditions", {"or": [{"stock_eq": n} for n in range(51)]}, [("where", "too_many")]),
    ("51 in one object", {f"x{n}_eq": 1 for n in range(51)}, [("where", "too_many")]),
    ("two at once", {"a_eq": 1, "b_eq": 1}, [("where", "a_eq", "value_error"), ("where", "b_eq", "value_error")]),
]  # fmt: skip


async def test_a_where_is_refused_by_its_place(books: Api) -> None:
    for name, where, expected in REFUSED:
        for method, path in (("POST", QUERY), ("QUERY", DOCUMENTS)):
            answer = await books.request(method, path, json={"where": where})
            assert violations(answer) == [("body", *each) for each in expected], name
        if len(json.dumps(where)) < 1_000:
            listed = await books.request("GET", f"{DOCUMENTS}?where={quote(json.dumps(where))}")
            in_query = [each if each != ("where", "dict_type") else ("where", "where") for each in expected]
            assert violations(listed) == [("query", *each) for each in in_query], name


BODIES: list[tuple[str, Any, list[tuple[Any, ...]]]] = [
    ("another name", {"filter": {}}, [("body", "filter", "extra_forbidden")]),
    ("limit 0", {"limit": 0}, [("body", "limit", "greater_than_equal")]),
    ("limit 1001", {"limit": 1001}, [("body", "limit", "less_than_equal")]),
    ("limit as text", {"limit": "5"}, [("body", "limit", "int_type")]),
    ("offset -1", {"offset": -1}, [("body", "offset", "greater_than_equal")]),
    ("six to populate", {"populate": ["author"] * 6}, [("body", "populate", "too_long")]),
    ("populate of nothing", {"populate": ["nobody"]}, [("body", "populate", "value_error")]),
    ("no object", [], [("body", "dict_type")]),
]


async def test_a_body_is_refused(books: Api) -> None:
    for name, body, expected in BODIES:
        assert violations(await books.request("POST", QUERY, json=body)) == expected, name


async def test_a_body_takes_no_query_string(books: Api) -> None:
    answer = await books.request("POST", f"{QUERY}?stock_eq=1", json={})
    assert violations(answer) == [("query", "stock_eq", "extra_forbidden")]


async def test_where_and_filters_are_counted_together(books: Api) -> None:
    def asked(filters: int) -> str:
        where = quote(json.dumps({"or": [{"stock_eq": n} for n in range(25)]}))
        return f"{DOCUMENTS}?where={where}&{'&'.join(f'data.title{n}_ne=1' for n in range(filters))}"

    within, beyond = [await books.request("GET", asked(filters)) for filters in (25, 26)]
    assert {each["msg"] for each in within.json()["detail"]} == {"There is no such field in this collection"}
    assert violations(beyond) == [("query", "too_many")]
    assert "50" in beyond.json()["detail"][0]["msg"]


async def test_relations_are_counted_over_the_whole_tree(api: Api) -> None:
    five = {"or": [{f"r{n}.name_eq": "x"} for n in range(5)], "not": {"r0.age_eq": 1}}
    assert (await api.request("POST", "/auth-collections/users/query", json={"where": five})).status_code == 200
    five["not"] = {"r5.age_eq": 1}
    refused = await api.request("POST", "/auth-collections/users/query", json={"where": five})
    assert violations(refused) == [("body", "where", "too_many")]


async def test_the_largest_trees_are_not_walked_through(books: Api) -> None:
    """A body of 49,000 conditions is refused as soon as they are counted, with one sentence."""
    trees: list[Any] = [
        {f"f{n}_eq": n for n in range(49_000)},
        {"or": [{"stock_eq": 1}] * 20_000},
        {"or": [{"or": [{"or": [{}] * 49}] * 49}] * 10},
    ]
    for where in trees:
        answer = await books.request("POST", QUERY, json={"where": where})
        assert answer.status_code == 422
        assert len(answer.json()["detail"]) <= MAX_CONDITIONS * 2
        assert any(each["type"] in {"too_many", "where"} for each in answer.json()["detail"])


@pytest.mark.parametrize("depth", [6, 31, 900])
async def test_x15_a_query_of_any_depth_is_refused_without_recursion(books: Api, depth: int) -> None:
    for opening, closing in (('{"not":', "}"), ('{"or":[', "]}")):
        raw = f'{{"where":{opening * (depth - 1)}{{"stock_eq":1}}{closing * (depth - 1)}}}'
        answer = await books.request("POST", QUERY, content=raw, headers={"content-type": "application/json"})
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["type"] in {"too_deep", "json_invalid"}


async def test_a_list_of_few_conditions_is_as_many_commands_in_either_form(
    books: Api, commands: CommandRecorder
) -> None:
    asked: list[list[str]] = []
    for method, path, body in (
        ("GET", f"{DOCUMENTS}?stock_gte=1&author.name_eq=Victor Hugo", None),
        ("POST", QUERY, {"where": {"stock_gte": 1, "author.name_eq": "Victor Hugo"}}),
        ("POST", QUERY, {"where": {"or": [{"stock_gte": 1}, {"author.name_eq": "Victor Hugo"}]}}),
    ):
        commands.commands.clear()
        assert (await books.request(method, path, **({"json": body} if body else {}))).status_code == 200
        asked.append(commands.names)
    assert asked[0] == asked[1] == asked[2] == ["find", "find"]


async def test_more_than_a_thousand_related_records_under_or_are_looked_up(books: Api) -> None:
    stored = books.database["c_authors"]
    times = {"created_at": MOMENT, "updated_at": MOMENT}
    stored.insert_many({"_id": f"{n:024x}", "data": {"name": "many"}, **times} for n in range(1001))
    books.database["c_books"].update_one({"data.title": "Beowulf"}, {"$set": {"data.author_id": f"{5:024x}"}})
    assert await titles(books, {"or": [{"author.name_eq": "many"}, {"stock_eq": 0}]}) == ["Germinal", "Beowulf"]
    assert await titles(books, {"not": {"author.name_eq": "many"}}) == ["Les Misérables", "Germinal", "Nana"]


async def test_users_and_guests_ask_within_the_rules(books: Api) -> None:
    """A field that may be seen of one's own books only satisfies no condition on others', negated or not."""
    ann = await sign_up(books, "ann")
    books.database["c_books"].update_one({"data.title": "Nana"}, {"$set": {"data.owner_id": ann.id}})
    own = {"owner_id_eq": "$user.id"}
    answer = await save(
        books,
        {
            "collections": {
                "books": {"read": "anyone", "fields": {"stock": {"read": own}, "place": {"read": False}}},
                "authors": {"read": {"name_ne": "Victor Hugo"}},
            }
        },
    )
    assert answer.status_code == 200, answer.text

    async def found(where: Any) -> list[str]:
        answer = await ann.ask("POST", QUERY, json={"where": where})
        assert answer.status_code == 200, answer.text
        return [each["data"]["title"] for each in answer.json()["documents"]]

    assert await found({"stock_gte": 0}) == ["Nana"]
    assert await found({"not": {"stock_gte": 100}}) == ["Nana"]
    assert await found({"or": [{"stock_eq": 3}, {"title_eq": "Germinal"}]}) == ["Germinal"]
    # An author who may not be read is as gone.
    assert await found({"author.name_contains": "o"}) == ["Germinal", "Nana"]
    assert await found({"not": {"author.name_contains": "o"}}) == ["Les Misérables", "Beowulf"]
    hidden = await ann.ask("POST", QUERY, json={"where": {"not": {"data.place.city_eq": "Rome"}}})
    unknown = await ann.ask("POST", QUERY, json={"where": {"not": {"data.plaza.city_eq": "Rome"}}})
    assert hidden.text == unknown.text.replace("plaza", "place")
    guest = await guest_of(books).ask("QUERY", DOCUMENTS, json={"where": {"stock_gte": 0}})
    assert violations(guest) == [("body", "where", "stock_gte", "value_error")]


async def test_whom_no_rule_lets_read_is_refused_before_the_body_is_read(books: Api) -> None:
    ann = await sign_up(books, "ann")
    await save(books, {"users": {"read": False}, "collections": {"books": {"read": False}}})
    for person, status in ((ann, 403), (guest_of(books), 401)):
        answer = await person.ask("POST", QUERY, content=b"no json")
        assert answer.status_code == status
        users = await person.ask("POST", "/auth-collections/users/query", content=b"no json")
        assert (users.status_code, users.json()["code"]) == (401, "invalid_api_key")


async def test_random_trees_find_what_a_reference_finds(api: Api, http: httpx2.AsyncClient) -> None:
    """A small form of `scripts/fuzz trees --count 10000`."""
    outcome = await compare(Target(http, {"x-api-key": api.key}, api.database), count=200)
    assert outcome.differing == []
    assert outcome.telling >= 40

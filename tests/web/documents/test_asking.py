"""Which fields of a list are shown, in which order, how many there are, and which values a field has."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from service.bounds import MAX_CAPPED, MAX_DISTINCT
from service.services import Services
from tests.conftest import Api, CommandRecorder
from tests.declared import added, declare, violations
from tests.web.rules.conftest import guest_of, save, sign_up

SCHEMA: dict[str, Any] = {
    "title": {"type": "string"},
    "year": {"type": "integer"},
    "a,b": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "place": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string"}}},
    "stops": {
        "type": "array",
        "items": {"type": "object", "properties": {"km": {"type": "integer"}, "x": {"type": "any"}}},
    },
    "extra": {"type": "any"},
    "author_id": {"type": "reference", "collection": "authors"},
    "owner_id": {"type": "reference", "collection": "users"},
}
ROOT = Path(__file__).parents[3]
BOOKS = "/api/collections/books"
DOCUMENTS, QUERY, DISTINCT = f"{BOOKS}/documents", f"{BOOKS}/query", f"{BOOKS}/distinct"
MOMENT = datetime(2026, 1, 1)  # noqa: DTZ001 - as it is stored


@pytest.fixture
async def books(api: Api) -> Api:
    await declare(api, {"city": {"type": "string"}}, "homes")
    await declare(api, {"name": {"type": "string"}, "born": {"type": "integer"}, "home_id": HOME}, "authors")
    await declare(api, SCHEMA, "books")
    home = await added(api, {"city": "Paris"}, "homes")
    author = await added(api, {"name": "Hugo", "born": 1802, "home_id": home}, "authors")
    rows: list[dict[str, Any]] = [
        {"title": "B", "year": 2, "author_id": author, "place": {"city": "Rome", "zip": "1"}, "tags": ["x", "y"]},
        {"title": "A", "year": 2, "a,b": "comma", "stops": [{"km": 1, "x": 2}, {"km": 3}], "tags": ["y"]},
        {"title": "C", "year": 1, "extra": 5},
    ]
    for row in rows:
        await added(api, row, "books")
    return api


HOME = {"type": "reference", "collection": "homes"}


async def shown(api: Api, query: str) -> list[Any]:
    answer = await api.request("GET", f"{DOCUMENTS}?{query}")
    assert answer.status_code == 200, answer.text
    assert all(document.keys() >= {"id", "data", "created_at", "updated_at"} for document in answer.json()["documents"])
    return [document["data"] for document in answer.json()["documents"]]


FIELDS: list[tuple[str, str, Any]] = [
    ("one", "fields=title", [{"title": "B"}, {"title": "A"}, {"title": "C"}]),
    ("what always comes", "fields=id,created_at", [{}, {}, {}]),
    ("inside an object", "fields=data.place.city", [{"place": {"city": "Rome"}}, {}, {}]),
    ("inside an array of objects", "fields=data.stops.km&offset=1&limit=1", [{"stops": [{"km": 1}, {"km": 3}]}]),
    ("a name with a comma", 'fields="a,b",title&offset=1&limit=1', [{"a,b": "comma", "title": "A"}]),
    (
        "twice, and inside itself",
        "fields=place,data.place.city,place&limit=1",
        [{"place": {"city": "Rome", "zip": "1"}}],
    ),
    ("beside a filter and an order", "fields=year&title_ne=C&sort_by=title", [{"year": 2}, {"year": 2}]),
]


async def test_fields_are_all_that_is_shown_of_data(books: Api) -> None:
    assert {name: await shown(books, query) for name, query, _ in FIELDS} == {name: found for name, _, found in FIELDS}
    posted = await books.request("POST", QUERY, json={"fields": ["title", "data.place.city"], "limit": 1})
    assert posted.json()["documents"][0]["data"] == {"title": "B", "place": {"city": "Rome"}}


async def test_fields_narrow_what_is_populated(books: Api) -> None:
    (whole,) = await shown(books, "fields=title&populate=author&limit=1")
    assert whole == {"title": "B", "author": {"id": whole["author"]["id"], "data": whole["author"]["data"]}}
    assert whole["author"]["data"].keys() == {"name", "born", "home_id"}
    (one,) = await shown(books, "fields=author.name&populate=author&limit=1")
    assert one == {"author": {"id": whole["author"]["id"], "data": {"name": "Hugo"}}}
    (deep,) = await shown(books, "fields=title,author.home.city&populate=author.home&limit=1")
    assert deep["author"]["data"].keys() == {"home"}
    assert deep["author"]["data"]["home"]["data"] == {"city": "Paris"}
    (every,) = await shown(books, "fields=author,author.born&populate=*&limit=1")
    assert every["author"]["data"] == {"born": 1802}


async def test_users_without_the_field_are_shown_without_it(api: Api, services: Services) -> None:
    ann = (await api.signup("ann@example.com", name="Ann", address={"city": "Rome", "zip": "1"})).json()["user"]["id"]
    await api.signup("ben@example.com", name="Ben", friend_id=ann, friend="me", other_id="gone")
    await services.sessions.sightings.write()
    answer = await api.users("fields=name,data.address.city,nothing&sort_by=name")
    users = answer.json()["users"]
    assert [user["data"] for user in users] == [{"name": "Ann", "address": {"city": "Rome"}}, {"name": "Ben"}]
    account = {"id", "email", "created_at", "email_verified", "disabled", "claims", "last_sign_in_at"}
    assert all(user.keys() == {*account, "data"} for user in users)
    (_, ben) = (await api.users("fields=name&populate=*&sort_by=name")).json()["users"]
    assert ben["data"].keys() == {"name", "friend"}
    (_, ben) = (await api.users("fields=friend.name&populate=friend&sort_by=name")).json()["users"]
    assert ben["data"] == {"friend": {"id": ann, "email": "ann@example.com", "data": {"name": "Ann"}}}


async def test_a_hidden_field_is_not_shown_by_naming_it(books: Api) -> None:
    ann = await sign_up(books, "ann")
    books.database["c_books"].update_one({"data.title": "A"}, {"$set": {"data.owner_id": ann.id}})
    own = {"owner_id_eq": "$user.id"}
    rules = {"collections": {"books": {"read": "users", "fields": {"year": {"read": own}, "place": {"read": False}}}}}
    assert (await save(books, rules)).status_code == 200
    answer = await ann.list("books", "?fields=year,title&count=false")
    assert [document["data"] for document in answer.json()["documents"]] == [
        {"title": "B"}, {"title": "A", "year": 2}, {"title": "C"},
    ]  # fmt: skip
    hidden, unknown = [await ann.list("books", f"?fields={name}") for name in ("place", "plaza")]
    assert hidden.text == unknown.text.replace("plaza", "place")
    assert hidden.status_code == 422
    for path in (DISTINCT, "/auth-collections/users/distinct"):
        assert (await ann.ask("GET", f"{path}?field=title")).status_code == 401
        refused = await guest_of(books).ask("GET", f"{path}?field=title")
        assert (refused.status_code, refused.json()["code"]) == (403, "secret_key_required")


async def test_up_to_three_fields_sort(books: Api) -> None:
    async def order(query: str) -> str:
        return "".join(data["title"] for data in await shown(books, query))

    assert await order("sort_by=-year,title") == "ABC"
    assert await order("sort_by=year,-title") == "CBA"
    assert await order("sort_by=-year") == "ABC"
    assert await order("sort_by=year&sort_order=desc") == await order("sort_by=-year")
    assert await order('sort_by="a,b",-title') == "CBA"
    posted = await books.request("POST", QUERY, json={"sort_by": ["-year", "title"]})
    assert [each["data"]["title"] for each in posted.json()["documents"]] == ["A", "B", "C"]


async def test_ties_are_broken_in_the_direction_of_the_last_key(api: Api) -> None:
    await declare(api, {"n": {"type": "integer"}})
    ids = [await added(api, {"n": 1}) for _ in range(3)]
    for query, expected in (("sort_by=n", ids), ("sort_by=-n", ids[::-1]), ("sort_by=n,-created_at", ids[::-1])):
        api.database["c_things"].update_many({}, {"$set": {"created_at": MOMENT}})
        answer = await api.request("GET", f"/api/collections/things/documents?{query}")
        assert [document["id"] for document in answer.json()["documents"]] == expected


REFUSED: list[tuple[str, str, tuple[Any, ...]]] = [
    ("four keys", "sort_by=title,year,id,created_at", ("sort_by", "value_error")),
    ("a key twice", "sort_by=title,-title", ("sort_by", "value_error")),
    ("a key by two names", "sort_by=title,data.title", ("sort_by", "value_error")),
    ("an unknown key", "sort_by=title,nothing", ("sort_by", "value_error")),
    ("an empty key", "sort_by=title,,year", ("sort_by", "value_error")),
    ("a key of another record", "sort_by=author.name", ("sort_by", "value_error")),
    ("an order of two", "sort_by=title,year&sort_order=asc", ("sort_order", "value_error")),
    ("an order of one that descends", "sort_by=-title&sort_order=desc", ("sort_order", "value_error")),
    ("an unknown field", "fields=title,nothing", ("fields", "value_error")),
    ("a field of what is not populated", "fields=author.name", ("fields", "value_error")),
    ("an unknown field of what is", "fields=author.nothing&populate=author", ("fields", "value_error")),
    ("no field", "fields=", ("fields", "value_error")),
    ("an open quote", 'fields="title', ("fields", "value_error")),
    ("501 fields", "fields=" + ",".join(f"f{n}" for n in range(501)), ("fields", "value_error")),
    ("a count", "count=some", ("count", "value_error")),
]  # fmt: skip
BODIES: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    ("no fields", {"fields": []}, ("fields", "too_short")),
    ("a field that is none", {"fields": ["a..b"]}, ("fields", "value_error")),
    ("fields as text", {"fields": "title"}, ("fields", "list_type")),
    ("null", {"fields": None}, ("fields", "list_type")),
    ("501 fields", {"fields": ["title"] * 501}, ("fields", "too_long")),
    ("no keys", {"sort_by": []}, ("sort_by", "too_short")),
    ("four keys", {"sort_by": ["title", "year", "id", "created_at"]}, ("sort_by", "too_long")),
    ("an order", {"sort_order": "desc"}, ("sort_order", "extra_forbidden")),
    ("an unknown key", {"sort_by": ["nothing"]}, ("sort_by", "value_error")),
]


async def test_what_is_asked_wrongly_is_named(books: Api) -> None:
    for name, query, expected in REFUSED:
        assert violations(await books.request("GET", f"{DOCUMENTS}?{query}")) == [("query", *expected)], name
    for name, body, expected in BODIES:
        assert violations(await books.request("POST", QUERY, json=body)) == [("body", *expected)], name
    counted = violations(await books.request("POST", QUERY, json={"count": "some"}))
    assert {each[:2] for each in counted} == {("body", "count")}
    every = await books.users("populate=*&fields=friend.name")
    assert violations(every) == [("query", "fields", "value_error")]


async def test_two_arrays_have_no_order_together(api: Api) -> None:
    await api.signup("a@example.com", x=[1, 2], y=[1, 2])
    answer = await api.users("sort_by=x,y")
    assert violations(answer) == [("query", "sort_by", "arrays_in_sort")]
    posted = await api.request("POST", "/auth-collections/users/query", json={"sort_by": ["x", "y"]})
    assert violations(posted) == [("body", "sort_by", "arrays_in_sort")]


async def test_a_total_says_what_it_is(books: Api, commands: CommandRecorder) -> None:
    asked: dict[str, tuple[Any, list[str]]] = {}
    queries = ("", "count=exact", "count=none", "count=estimated", "count=capped", "year_gt=0&count=estimated")
    for query in (
        *queries,
        "year_gt=0&count=capped",
        "author.name_eq=Hugo&count=capped",
        "year_gt=0&count=capped&cursor=*",
    ):
        commands.commands.clear()
        answer = (await books.request("GET", f"{DOCUMENTS}?limit=1&{query}")).json()
        asked[query] = (answer["total"], answer.get("total_is")), commands.names
        assert list(answer)[:2] == ["documents", "total"]
    assert {query: total for query, (total, _) in asked.items()} == {
        "": (3, None),
        "count=exact": (3, None),
        "count=none": (None, None),
        "count=estimated": (3, "estimated"),
        "count=capped": (3, "exact"),
        "year_gt=0&count=estimated": (3, "exact"),
        "year_gt=0&count=capped": (3, "exact"),
        "author.name_eq=Hugo&count=capped": (1, "exact"),
        "year_gt=0&count=capped&cursor=*": (3, "exact"),
    }
    assert [len(names) for _, names in asked.values()] == [2, 2, 1, 2, 2, 2, 2, 3, 2]


async def test_a_capped_total_stops(api: Api) -> None:
    await declare(api, {"n": {"type": "integer"}})
    times = {"created_at": MOMENT, "updated_at": MOMENT}
    stored = api.database["c_things"]
    stored.insert_many({"_id": f"{n:024x}", "data": {"n": n}, **times} for n in range(MAX_CAPPED + 2))
    path = "/api/collections/things/documents?limit=1&count=capped"
    for query, expected in (
        ("", (MAX_CAPPED + 1, "at_least")),
        ("&n_gte=0", (MAX_CAPPED + 1, "at_least")),
        ("&n_gte=1", (MAX_CAPPED + 1, "at_least")),
        ("&n_gte=2", (MAX_CAPPED, "exact")),
        ("&n_gte=3", (MAX_CAPPED - 1, "exact")),
    ):
        answer = (await api.request("GET", path + query)).json()
        assert (answer["total"], answer["total_is"]) == expected, query


async def test_distinct_values(books: Api) -> None:
    async def values(query: str) -> Any:
        answer = await books.request("GET", f"{DISTINCT}?{query}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["truncated"] is False
        return answer.json()["values"]

    assert await values("field=title") == ["A", "B", "C"]
    assert await values("field=year") == [1, 2]
    assert await values("field=tags") == ["x", "y"]
    assert await values("field=data.stops.km") == [1, 3]
    assert await values("field=data.place.city") == ["Rome"]
    assert await values("field=title&year_eq=2") == ["A", "B"]
    assert await values("field=title&author.name_eq=Hugo") == ["B"]
    assert await values('field=title&where={"not": {"year_eq": 2}}') == ["C"]
    assert await values('field=title&where={"or": [{"author.name_eq": "Hugo"}, {"year_lt": 2}]}') == ["B", "C"]
    assert await values("field=author_id&year_eq=1") == []
    assert len(await values("field=created_at")) == 3


async def test_distinct_values_of_every_type_come_in_order_without_null(api: Api) -> None:
    mixed: list[Any] = ["b", 2, True, None, [3, "a", None, [9], {"y": 1}], {"x": 1}, [], 1.5, False]
    for number, value in enumerate(mixed):
        await api.signup(f"u{number}@example.com", x=value)
    await api.signup("absent@example.com")
    answer = await api.request("GET", "/auth-collections/users/distinct?field=x")
    assert answer.json() == {"values": [1.5, 2, 3, "a", "b", False, True], "truncated": False}
    emails = await api.request("GET", "/auth-collections/users/distinct?field=email&email_startswith=u1")
    assert emails.json()["values"] == ["u1@example.com"]
    assert (await api.request("GET", "/auth-collections/users/distinct?field=password")).json()["values"] == []


async def test_the_first_thousand_values_are_shown(api: Api, commands: CommandRecorder) -> None:
    await declare(api, {"n": {"type": "integer"}, "t": {"type": "any"}})
    times = {"created_at": MOMENT, "updated_at": MOMENT + timedelta(1)}
    data = ({"n": n, "t": f"{n:05}"} for n in range(MAX_DISTINCT + 5))
    api.database["c_things"].insert_many({"_id": f"{n:024x}", "data": each, **times} for n, each in enumerate(data))
    for field, first in (("n", 0), ("t", "00000")):
        commands.commands.clear()
        answer = await api.request("GET", f"/api/collections/things/distinct?field={field}")
        assert (answer.json()["values"][0], len(answer.json()["values"]), answer.json()["truncated"]) == (
            first,
            1000,
            True,
        )
        assert commands.names == ["aggregate"]
        assert commands.commands[0][1]["allowDiskUse"] is False
    within = await api.request("GET", "/api/collections/things/distinct?field=n&n_lt=1000")
    assert (len(within.json()["values"]), within.json()["truncated"]) == (1000, False)


async def test_distinct_values_too_large_for_one_answer_are_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.domain.lists.LIST_SECONDS", 19.0)
    users = [{"_id": f"{n:024x}", "email": f"{n}@x.y", "data": {"x": f"{n:02}" + "x" * 1_000_000}} for n in range(18)]
    api.database["users"].insert_many({**user, "created_at": MOMENT, "updated_at": MOMENT} for user in users)
    answer = await api.request("GET", "/auth-collections/users/distinct?field=x")
    assert violations(answer) == [("query", "field", "values_too_large")]


async def test_distinct_asked_wrongly(books: Api) -> None:
    for query, expected in (
        ("", ("field", "missing")),
        ("year_eq=1", ("field", "missing")),
        ("field=nothing", ("field", "value_error")),
        ("field=author.name", ("field", "value_error")),
        ("field=a..b", ("field", "value_error")),
        ("field=title&limit=5", ("limit", "extra_forbidden")),
        ("field=title&cursor=*", ("cursor", "extra_forbidden")),
        ("field=title&year_eq=x", ("year_eq", "value_error")),
        ('field=title&where={"x_eq": 1}', ("where", "x_eq", "value_error")),
    ):
        assert violations(await books.request("GET", f"{DISTINCT}?{query}")) == [("query", *expected)], query
    missing = await books.request("GET", "/api/collections/nothing/distinct?field=a")
    assert (missing.status_code, missing.json()["code"]) == (404, "collection_not_found")


async def test_the_bodies_of_the_page_about_queries_are_answered(api: Api) -> None:
    await declare(api, {"name": {"type": "string"}}, "authors")
    schema = {"title": {"type": "string"}, "year": {"type": "integer"}, "in_print": {"type": "boolean"}}
    await declare(api, {**schema, "author_id": SCHEMA["author_id"]}, "books")
    bodies = re.findall(r"^```json\n(.*?)^```", (ROOT / "docs/queries.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(bodies) >= 2
    for body in bodies:
        answer = await api.request("POST", QUERY, json=json.loads(body))
        assert answer.status_code == 200, answer.text

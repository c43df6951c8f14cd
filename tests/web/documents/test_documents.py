"""Documents: what is stored, what is refused and why, and how they are found again."""

from typing import Any

import pytest

from tests.conftest import Api
from tests.declared import add, added, declare, find, one, violations

SCHEMA = {
    "title": {"type": "string", "required": True, "max_length": 10},
    "done": {"type": "boolean", "default": False},
    "at": {"type": "datetime"},
    "tags": {"type": "array", "items": {"type": "string", "min_length": 2}},
    "place": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "required": True},
            "stops": {
                "type": "array",
                "items": {"type": "object", "properties": {"km": {"type": "integer", "min": 0, "required": True}}},
            },
        },
    },
    "IMDB Rating": {"type": "number", "nullable": True},
    "owner_id": {"type": "reference", "collection": "users", "nullable": True},
}
NOBODY = "0" * 24


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, SCHEMA)
    return api


async def test_a_document_is_stored_with_its_defaults_and_its_dates(things: Api) -> None:
    response = await add(things, {"title": "x", "at": "2026-01-31T12:00:00+02:00"})
    assert response.status_code == 201
    body = response.json()
    assert body.keys() == {"id", "data", "created_at", "updated_at", "version"}
    assert body["data"] == {"title": "x", "at": "2026-01-31T10:00:00.000Z", "done": False}
    stored = things.database["c_things"].find_one({"_id": body["id"]})
    assert stored is not None
    assert stored["data"]["at"].isoformat() == "2026-01-31T10:00:00"
    assert (await one(things, "GET", body["id"])).json() == body


REFUSED: list[tuple[str, Any, list[tuple[Any, ...]]]] = [
    ("missing", {}, [("title", "missing")]),
    ("undeclared", {"title": "x", "more": 1}, [("more", "extra_forbidden")]),
    ("in an array", {"title": "x", "tags": ["ok", "ok", 3]}, [("tags", 2, "string_type")]),
    ("short in an array", {"title": "x", "tags": ["ok", ""]}, [("tags", 1, "string_too_short")]),
    ("in an object", {"title": "x", "place": {}}, [("place", "city", "missing")]),
    (
        "in an array in an object",
        {"title": "x", "place": {"city": "Bonn", "stops": [{"km": 1}, {"km": -1}]}},
        [("place", "stops", 1, "km", "greater_than_equal")],
    ),
    (
        "all at once",
        {"title": 1, "done": 1, "at": "soon", "IMDB Rating": "8", "x": None},
        [
            ("title", "string_type"),
            ("done", "bool_type"),
            ("at", "datetime_type"),
            ("IMDB Rating", "float_type"),
            ("x", "extra_forbidden"),
        ],
    ),
    ("a name with a dot", {"title": "x", "a.b": 1}, [("a.b", "field_name")]),
    ("an operator", {"title": {"$gt": ""}}, [("title", "$gt", "field_name")]),
    ("a reference to nobody", {"title": "x", "owner_id": NOBODY}, [("owner_id", "reference_not_found")]),
    ("a reference that is a number", {"title": "x", "owner_id": 1}, [("owner_id", "string_type")]),
]


@pytest.mark.parametrize(("data", "expected"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
async def test_a_refusal_names_every_path(things: Api, data: Any, expected: list[tuple[Any, ...]]) -> None:
    response = await add(things, data)
    assert violations(response) == [("body", "data", *violation) for violation in expected]
    assert not any(word in response.text for word in ("bsonType", "jsonSchema", "errInfo", "pymongo", "considered"))
    assert things.database["c_things"].count_documents({}) == 0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, ("body", "data", "missing")),
        ({"data": []}, ("body", "data", "dict_type")),
        ({"data": {"title": "x"}, "id": "x"}, ("body", "id", "extra_forbidden")),
    ],
)
async def test_a_document_is_sent_as_data(things: Api, body: Any, expected: tuple[str, ...]) -> None:
    assert violations(await things.request("POST", "/api/collections/things/documents", json=body)) == [expected]


async def test_merging_sets_the_named_fields_and_leaves_the_others(things: Api) -> None:
    id_ = await added(things, {"title": "x", "tags": ["ab"], "done": True})
    response = await one(things, "PATCH", id_, {"tags": [], "at": "2026-01-31"})
    assert response.status_code == 200
    assert response.json()["data"] == {"title": "x", "tags": [], "done": True, "at": "2026-01-31T00:00:00.000Z"}
    assert response.json() == (await one(things, "GET", id_)).json()


async def test_replacing_leaves_nothing_of_the_old_data(things: Api) -> None:
    id_ = await added(things, {"title": "x", "tags": ["ab"], "done": True})
    response = await one(things, "PUT", id_, {"title": "y"})
    assert response.json()["data"] == {"title": "y", "done": False}
    assert response.json()["updated_at"] >= response.json()["created_at"]


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_change_is_judged_like_a_new_document(things: Api, method: str) -> None:
    id_ = await added(things, {"title": "x"})
    data = {"title": "too long a title", "place": {"city": 1}}
    expected = [("body", "data", "title", "string_too_long"), ("body", "data", "place", "city", "string_type")]
    assert violations(await one(things, method, id_, data)) == expected
    assert violations(await one(things, method, id_, {"title": "x", "owner_id": NOBODY})) == [
        ("body", "data", "owner_id", "reference_not_found")
    ]
    assert (await one(things, "GET", id_)).json()["data"] == {"title": "x", "done": False}


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("id_", [NOBODY, "x", "%00", "$ne"])
async def test_a_document_that_is_not_there(things: Api, method: str, id_: str) -> None:
    response = await one(things, method, id_, {"title": "x"} if method in {"PUT", "PATCH"} else None)
    assert (response.status_code, response.json()["code"]) == (404, "document_not_found")


async def test_deleting_a_document(things: Api) -> None:
    id_ = await added(things, {"title": "x"})
    assert (await one(things, "DELETE", id_)).status_code == 204
    assert (await one(things, "GET", id_)).status_code == 404
    assert (await find(things)).json()["total"] == 0


async def test_a_unique_field_refuses_a_second_holder_and_names_itself(api: Api) -> None:
    await declare(api, {"ISO code": {"type": "string", "unique": True, "nullable": True}})
    await added(api, {"ISO code": "secret"})
    other = await added(api, {"ISO code": "other"})
    for response in (await add(api, {"ISO code": "secret"}), await one(api, "PATCH", other, {"ISO code": "secret"})):
        assert response.status_code == 409
        assert response.json() == {
            "detail": "Another record already has this value of ISO code",
            "code": "duplicate_value",
        }
    for data in ({}, {}, {"ISO code": None}, {"ISO code": None}):
        await added(api, data)


async def test_references_to_users_and_documents_must_exist_and_are_followed(api: Api) -> None:
    user = (await api.signup("ann@example.com", city="Bonn")).json()["user"]
    await declare(api, {"name": {"type": "string"}}, "makers")
    await declare(
        api,
        {
            "maker_id": {"type": "reference", "collection": "makers", "required": True},
            "owner_id": {"type": "reference", "collection": "users"},
        },
    )
    maker = await added(api, {"name": "Acme"}, "makers")
    assert violations(await add(api, {"maker_id": user["id"], "owner_id": maker})) == [
        ("body", "data", "maker_id", "reference_not_found"),
        ("body", "data", "owner_id", "reference_not_found"),
    ]
    thing = await added(api, {"maker_id": maker, "owner_id": user["id"]})
    await added(api, {"maker_id": await added(api, {"name": "Other"}, "makers")})
    (found,) = (await find(api, "maker.name_eq=Acme&owner.city_eq=Bonn&populate=*")).json()["documents"]
    assert found["id"] == thing
    assert found["data"]["maker"] == {"id": maker, "data": {"name": "Acme"}}
    assert found["data"]["owner"] == {"id": user["id"], "email": "ann@example.com", "data": {"city": "Bonn"}}
    await one(api, "DELETE", maker, name="makers")
    assert (await find(api, "populate=maker")).json()["documents"][0]["data"]["maker"] is None


QUERIES: list[tuple[str, list[int]]] = [
    ("", [0, 1, 2, 3]),
    ("title_eq=33", [0]),
    ("n_eq=33", [1]),
    ("n_gte=33.5", [2]),
    ("n_in=33,34", [1, 2]),
    ("done_eq=true", [3]),
    ("at_gte=2026-01-02", [1]),
    ("at_eq=2026-01-01T02:00:00%2B02:00", [0]),
    ("tags_eq=b", [0, 1]),
    ("tags_contains=c", [1]),
    ("data.place.city_eq=Bonn", [2]),
    ("data.stops.km_gt=5", [3]),
    ("anything_eq=5", [0, 1]),
    ("n_isnull=true", [0, 3]),
    ("sort_by=n&sort_order=desc", [2, 1, 3, 0]),
    ("limit=2&offset=1", [1, 2]),
    ("created_at_gte=2020-01-01&title_icontains=A", [1]),
]


@pytest.fixture
async def found(api: Api) -> list[str]:
    """The ids of four documents."""
    await declare(
        api,
        {
            "title": {"type": "string"},
            "n": {"type": "integer"},
            "done": {"type": "boolean"},
            "at": {"type": "datetime"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": {"type": "object", "properties": {"city": {"type": "string"}}},
            "stops": {"type": "array", "items": {"type": "object", "properties": {"km": {"type": "number"}}}},
            "anything": {"type": "any"},
        },
    )
    return [
        await added(api, {"title": "33", "at": "2026-01-01", "tags": ["a", "b"], "anything": 5}),
        await added(api, {"title": "a", "n": 33, "at": "2026-01-02", "tags": ["b", "cc"], "anything": "5"}),
        await added(api, {"n": 34, "place": {"city": "Bonn"}}),
        await added(api, {"done": True, "stops": [{"km": 1}, {"km": 6}]}),
    ]


@pytest.mark.parametrize(("query", "positions"), QUERIES)
async def test_the_declared_type_decides_what_a_filter_means(
    api: Api, found: list[str], query: str, positions: list[int]
) -> None:
    body = (await find(api, query)).json()
    assert [document["id"] for document in body["documents"]] == [found[position] for position in positions]
    assert body["total"] == (4 if "limit" in query else len(positions))


@pytest.mark.parametrize(
    "query",
    [
        "n_eq=many",
        "n_eq=1.5",
        "done_eq=1",
        "at_eq=soon",
        "done_gt=1",
        "title_gt=b",
        "n_contains=3",
        "nothing_eq=1",
        "place.city_eq=Bonn",
        "data.place.street_eq=x",
        "data.title.x_eq=1",
        "password_eq=x",
        "email_eq=x",
    ],
)
async def test_a_filter_that_does_not_fit_the_schema_is_refused(api: Api, found: list[str], query: str) -> None:
    assert violations(await find(api, query)) == [("query", query.partition("=")[0], "value_error")]


@pytest.mark.parametrize("query", ["sort_by=nothing", "populate=place", "populate=owner"])
async def test_an_option_that_does_not_fit_the_schema_is_refused(api: Api, found: list[str], query: str) -> None:
    assert violations(await find(api, query)) == [("query", query.partition("=")[0], "value_error")]


async def test_an_array_of_texts_that_match_may_still_be_too_long(api: Api) -> None:
    inner = {"type": "array", "items": {"type": "string", "pattern": "^(a+)+$|!$"}, "max_length": 9}
    await declare(api, {"f": {"type": "object", "properties": {"g": inner}}})
    id_ = await added(api, {"f": {"g": ["a"]}})
    long = {"f": {"g": ["a" * 15 + "!"] * 20_000}}
    for response in (await add(api, long), await one(api, "PUT", id_, long), await one(api, "PATCH", id_, long)):
        assert violations(response) == [("body", "data", "f", "g", "too_long")]
        assert response.json()["detail"][0]["msg"] == "Must have at most 9 items"

"""Declaring, listing and deleting collections."""

import asyncio
from typing import Any

import pytest
from pymongo.errors import WriteError

from tests.conftest import Api, MakeApi
from tests.declared import add, added, declare, find, violations

SCHEMA = {"title": {"type": "string", "required": True}, "done": {"type": "boolean", "default": False}}


async def create(api: Api, name: Any, schema: Any) -> Any:
    return await api.request("POST", "/api/collections", json={"name": name, "schema": schema})


def made_by_a_declaration(api: Api) -> list[str]:
    """The traces of a declaration: a record in the registry, documents, and scratch collections."""
    made = [name for name in api.database.list_collection_names() if name.startswith(("c_", "scratch"))]
    return [*made, *(record["_id"] for record in api.database["collections"].find())]


async def test_a_collection_comes_back_as_it_was_declared(api: Api) -> None:
    schema = {"b": {"type": "number", "min": 1.0, "default": 2}, "a": {"type": "any"}}
    created = await create(api, "things", schema)
    assert created.status_code == 201
    body = created.json()
    assert body.keys() == {"name", "schema", "realtime", "created_at", "updated_at"}
    assert body["name"] == "things"
    assert body["schema"] == schema
    assert list(body["schema"]) == ["b", "a"]
    assert (await api.request("GET", "/api/collections/things")).json() == body
    assert (await api.request("GET", "/api/collections")).json() == {"collections": [body], "total": 1}


async def test_collections_are_listed_by_name(api: Api) -> None:
    for name in ("b", "a", "B"):
        await declare(api, {}, name)
    names = [each["name"] for each in (await api.request("GET", "/api/collections")).json()["collections"]]
    assert names == ["B", "a", "b"]


@pytest.mark.parametrize("name", ["a", "Z9", "a_b-c", "x" * 63, "files", "system", "collections", "c_a"])
async def test_names_that_are_allowed(api: Api, name: str) -> None:
    await declare(api, SCHEMA, name)
    await added(api, {"title": "x"}, name)
    assert (await find(api, name=name)).json()["total"] == 1
    assert api.database[f"c_{name}"].count_documents({}) == 1


@pytest.mark.parametrize(
    "name",
    ["", "1a", "_a", "-a", "a b", "a.b", "a$", "é", "users", "x" * 64, "a\n", "a\x00", "../users", "system.users"],
)
async def test_names_that_are_refused(api: Api, name: str) -> None:
    assert violations(await create(api, name, SCHEMA)) == [("body", "name", "value_error")]
    assert api.database["collections"].count_documents({}) == 0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("body", "name", "missing"), ("body", "schema", "missing")]),
        ({"name": 1, "schema": []}, [("body", "name", "string_type"), ("body", "schema", "dict_type")]),
        ({"name": "a", "schema": {}, "x": 1}, [("body", "x", "extra_forbidden")]),
        (
            {"name": "a", "schema": {"f": {"type": "text"}, "$g": {"type": "any"}}},
            [("body", "schema", "f", "type", "enum"), ("body", "schema", "$g", "field_name")],
        ),
        (
            {"name": "a", "schema": {"f": {"type": "object", "default": {"$gt": 1}}}},
            [("body", "schema", "f", "default", "$gt", "field_name")],
        ),
        (
            {"name": "a", "schema": {"f_id": {"type": "reference", "collection": "nothing"}}},
            [("body", "schema", "f_id", "collection", "collection_not_found")],
        ),
    ],
    ids=["empty", "wrong types", "unknown field", "bad definitions", "a bad name in a default", "unknown target"],
)
async def test_a_bad_declaration_is_refused_with_every_path(api: Api, body: Any, expected: list[Any]) -> None:
    assert violations(await api.request("POST", "/api/collections", json=body)) == expected
    assert made_by_a_declaration(api) == []


BAD_DEFAULTS: list[tuple[dict[str, Any], list[Any], str]] = [
    ({"type": "integer", "default": 1.5}, [], "int_type"),
    ({"type": "integer", "min": 3, "default": 1}, [], "greater_than_equal"),
    ({"type": "string", "default": None}, [], "string_type"),
    ({"type": "string", "enum": ["a"], "default": "b"}, [], "enum"),
    ({"type": "string", "pattern": "^a", "default": "b"}, [], "string_pattern_mismatch"),
    ({"type": "datetime", "default": "now"}, [], "datetime_type"),
    ({"type": "array", "items": {"type": "string"}, "default": ["a", 1]}, [1], "string_type"),
    ({"type": "object", "properties": {"a": {"type": "string", "required": True}}, "default": {}}, ["a"], "missing"),
]


@pytest.mark.parametrize(("definition", "inside", "type_"), BAD_DEFAULTS, ids=[row[2] for row in BAD_DEFAULTS])
async def test_a_default_that_breaks_its_own_definition(
    api: Api, definition: dict[str, Any], inside: list[Any], type_: str
) -> None:
    schema = {"good": {"type": "string", "default": "x"}, "f": definition}
    assert violations(await create(api, "things", schema)) == [("body", "schema", "f", "default", *inside, type_)]
    assert made_by_a_declaration(api) == []


@pytest.mark.parametrize("pattern", ["(", "[a", "a{1,99999}", "(?R)", "\\", "a++", "(?=a)", "(a)\\1"])
async def test_a_pattern_that_re2_does_not_know(api: Api, pattern: str) -> None:
    inner = {"type": "object", "properties": {"p": {"type": "string", "pattern": pattern}}}
    schema = {
        "f": {"type": "array", "items": inner, "max_length": 9},
        "good": {"type": "string", "pattern": "\\p{L}+"},
    }
    expected = ("body", "schema", "f", "items", "properties", "p", "pattern", "value_error")
    assert violations(await create(api, "things", schema)) == [expected]


async def test_of_20_parallel_creates_one_succeeds(api: Api) -> None:
    schemas = [{f"f{number}": {"type": "string"}} for number in range(20)]
    responses = await asyncio.gather(*(create(api, "things", schema) for schema in schemas))
    assert sorted(response.status_code for response in responses) == [201] + [409] * 19
    (won,) = (response.json()["schema"] for response in responses if response.status_code == 201)
    assert {response.json()["detail"] for response in responses if response.status_code == 409} == {
        "Collection already exists"
    }
    assert [record["schema"] for record in api.database["collections"].find()] == [won]
    options = api.database["c_things"].options()
    assert list(options["validator"]["$jsonSchema"]["properties"]["data"]["properties"]) == list(won)


async def test_a_document_written_past_the_service_is_held_to_the_schema(api: Api) -> None:
    await declare(api, SCHEMA)
    good = api.database["c_things"].find_one({"_id": await added(api, {"title": "x"})})
    assert good is not None
    with pytest.raises(WriteError):
        api.database["c_things"].insert_one({**good, "_id": "other", "data": {"title": 7}})
    with pytest.raises(WriteError):
        api.database["c_things"].update_one({"_id": good["_id"]}, {"$set": {"data.surprise": 1}})
    with pytest.raises(WriteError):
        api.database["c_things"].update_one({"_id": good["_id"]}, {"$unset": {"data.title": 1}})
    api.database["c_things"].insert_one({**good, "_id": "other"})


async def test_indexes_are_those_the_schema_asks_for(api: Api) -> None:
    await declare(
        api,
        {
            "code": {"type": "string", "unique": True},
            "on": {"type": "datetime", "index": True},
            "owner_id": {"type": "reference", "collection": "users"},
            "plain": {"type": "string"},
        },
    )
    found = {name: index["key"] for name, index in api.database["c_things"].index_information().items()}
    assert found == {
        "_id_": [("_id", 1)],
        "created_at": [("created_at", 1), ("_id", 1)],
        "data": [("data.$**", 1)],
        "unique string code": [("data.code", 1)],
        "index on": [("data.on", 1), ("_id", 1)],
        "index owner_id": [("data.owner_id", 1), ("_id", 1)],
    }


async def test_a_collection_may_refer_to_itself(api: Api) -> None:
    await declare(api, {"parent_id": {"type": "reference", "collection": "things"}})
    root = await added(api, {})
    child = await added(api, {"parent_id": root})
    (found,) = (await find(api, f"parent.id_eq={root}&populate=parent")).json()["documents"]
    assert found["id"] == child
    assert found["data"]["parent"] == {"id": root, "data": {}}


async def test_deleting_takes_the_documents_with_it(api: Api) -> None:
    await declare(api, SCHEMA)
    await added(api, {"title": "x"})
    response = await api.request("DELETE", "/api/collections/things")
    assert (response.status_code, response.content) == (204, b"")
    for method, path in (("GET", ""), ("DELETE", ""), ("PATCH", ""), ("GET", "/documents"), ("POST", "/documents")):
        body: dict[str, Any] = {"json": {"data": {}} if path else {"schema": {}}} if method in {"POST", "PATCH"} else {}
        gone = await api.request(method, f"/api/collections/things{path}", **body)
        assert (gone.status_code, gone.json()["code"]) == (404, "collection_not_found")
    assert api.database["collections"].count_documents({}) == 0
    assert api.database["c_things"].count_documents({}) == 0


async def test_a_write_that_comes_after_the_deletion_makes_nothing(api: Api) -> None:
    """An insert into a collection that is not there would make one, without a validator."""
    await declare(api, SCHEMA)
    await api.request("DELETE", "/api/collections/things")
    with pytest.raises(WriteError):
        api.database["c_things"].insert_one({"_id": "x", "data": {"title": "x"}})


async def test_a_deleted_collection_can_be_declared_anew(api: Api) -> None:
    await declare(api, SCHEMA)
    await added(api, {"title": "x"})
    await api.request("DELETE", "/api/collections/things")
    await declare(api, {"n": {"type": "integer"}})
    await added(api, {"n": 1})
    assert violations(await add(api, {"title": "x"})) == [("body", "data", "title", "extra_forbidden")]
    assert (await find(api)).json()["total"] == 1


async def test_another_project_has_collections_of_its_own(make_api: MakeApi) -> None:
    one, two = await make_api(), await make_api()
    await declare(one, SCHEMA)
    assert (await find(two)).status_code == 404
    await declare(two, {"n": {"type": "integer"}})
    assert (await add(one, {"n": 1})).status_code == 422
    assert (await add(two, {"n": 1})).status_code == 201


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("POST", ""),
        ("GET", "/things"),
        ("PATCH", "/things"),
        ("DELETE", "/things"),
        ("GET", "/things/documents"),
        ("POST", "/things/documents"),
        ("GET", "/things/documents/x"),
        ("PUT", "/things/documents/x"),
        ("PATCH", "/things/documents/x"),
        ("DELETE", "/things/documents/x"),
    ],
)
async def test_every_endpoint_needs_the_api_key(api: Api, method: str, path: str) -> None:
    response = await api.http.request(method, f"/api/collections{path}")
    assert (response.status_code, response.json()["detail"]) == (401, "Invalid API key")

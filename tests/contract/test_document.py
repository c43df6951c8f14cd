"""A project's OpenAPI document: its operations, components and filters, by view."""

import itertools
import json
import re
from functools import partial
from typing import Any

import jsonschema_rs
import pytest

from service.bounds import MAX_COUNTS
from service.contract.conditions import operators_taken
from service.contract.document import Base, write_document
from service.contract.model import Contract, View, find_counted
from service.errors import CollectionNotFound, Invalid, TooLarge
from service.query.bind import bind
from service.query.parse import parse
from service.query.shapes import DocumentShape
from service.schema.fields import parse as parse_schema
from service.schema.values import Kind
from service.web.openapi.document import build_document
from service.web.routes import ROUTES
from tests.contract.declared import NAMES, Schemas, declared, golden
from tests.contract.test_types import count_lines, large

OWN = build_document(ROUTES)
BASE = Base(OWN, "https://api.example.com")
METHODS = {"get", "put", "post", "patch", "delete"}
TYPED = ("list", "query", "get", "create", "upsert", "replace", "update", "delete")


def document(contract: Contract, view: View = View.SERVER, **more: Any) -> Any:
    return json.loads(write_document(contract, BASE, view, **more))


def operations(found: Any) -> dict[str, Any]:
    return {
        each["operationId"]: each for item in found["paths"].values() for name, each in item.items() if name in METHODS
    }


@pytest.mark.parametrize("name", NAMES)
def test_each_collection_has_typed_operations_under_its_own_path(name: str) -> None:
    contract = golden(name)
    found = document(contract)
    known = operations(found)
    for each in contract.collections:
        path = f"/api/collections/{each.name}/documents"
        made = known_name(known, path, found)
        words = [word for word in TYPED if word != "upsert" or each.unique]
        assert {f"{word}{made}" for word in words} <= known.keys()
        assert found["paths"][path]["get"]["tags"] == [each.name]
    assert not {"listDocuments", "mergeDocument"} & known.keys()
    (names,) = (
        each["schema"]["enum"]
        for each in found["paths"]["/api/collections/{name}/distinct"]["parameters"]
        if each["name"] == "name"
    )
    assert names == [each.name for each in contract.collections]


def known_name(known: dict[str, Any], path: str, found: Any) -> str:
    return str(found["paths"][path]["get"]["operationId"]).removeprefix("list")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("view", View)
def test_every_reference_leads_somewhere_and_every_id_is_its_own(name: str, view: View) -> None:
    text = write_document(golden(name), BASE, view)
    found = json.loads(text)
    for kind, each in set(re.findall(r'"#/components/([a-z]+)/([^"]+)"', text.decode())):
        assert each in found["components"][kind]
    ids = [each.lower() for each in operations(found)]
    assert len(set(ids)) == len(ids)
    schemes = {scheme for each in operations(found).values() for way in each["security"] for scheme in way}
    assert schemes == found["components"]["securitySchemes"].keys()


def test_names_of_components_are_those_of_no_other() -> None:
    collections: Schemas = {name: {} for name in ("profile", "books", "books-page", "error", "user-filters")}
    found = document(declared(collections))
    assert set(OWN["components"]["schemas"]["Error"]) == set(found["components"]["schemas"]["Error"])
    names = [name.lower() for name in found["components"]["schemas"]]
    assert len(set(names)) == len(names)
    assert "bookspage" not in names


def test_definitions_become_json_schema() -> None:
    schema = {
        "title": {"type": "string", "required": True, "unique": True, "max_length": 9, "pattern": "^a"},
        "unit": {"type": "string", "enum": ["mm", "m"], "nullable": True, "default": "mm"},
        "n": {"type": "integer", "min": 1, "max": 3},
        "ratio": {"type": "number", "enum": [0.5, 1]},
        "tags": {"type": "array", "items": {"type": "number"}, "max_length": 5},
        "owner_id": {"type": "reference", "collection": "users"},
        "cover": {"type": "file", "required": True},
    }
    schemas = document(declared({"things": schema}))["components"]["schemas"]
    row, new = schemas["Things"]["properties"], schemas["NewThings"]
    assert row["title"] == {"type": "string", "maxLength": 9, "x-pattern": "^a", "x-unique": True}
    assert row["unit"] == {
        "anyOf": [{"type": "string", "enum": ["mm", "m"]}, {"type": "null"}],
        "description": 'Default: "mm"',
    }
    assert row["n"] == {"type": "integer", "minimum": 1, "maximum": 3}
    assert row["ratio"] == {"type": "number", "x-enum": [0.5, 1]}
    assert row["tags"] == {"type": "array", "items": {"type": "number"}, "maxItems": 5}
    assert row["owner_id"]["x-collection"] == "users"
    assert row["owner"]["anyOf"][0]["properties"]["data"] == {"$ref": "#/components/schemas/User"}
    assert schemas["Things"]["required"] == ["title", "unit", "cover"]
    assert (new["required"], "owner" in new["properties"]) == (["title"], False)


KINDS = [
    *(
        {"type": kind}
        for kind in ("string", "boolean", "integer", "number", "datetime", "object", "array", "any", "file")
    ),
    {"type": "array", "items": {"type": "integer"}},
    {"type": "object", "properties": {"x": {"type": "string"}}},
]
SAMPLES = ("1", "true", "2026-01-31", "x")


@pytest.mark.parametrize("definition", KINDS, ids=str)
def test_a_filter_is_named_just_where_the_service_takes_some_value_of_it(definition: dict[str, Any]) -> None:
    schema = {"f": definition}
    found = document(declared({"things": schema}))["components"]["schemas"]["ThingsFilters"]
    shape = DocumentShape("c_things", parse_schema(schema), lambda _: None)
    paths = ["f", "id", "created_at", "updated_at", *(["data.f.x"] if "properties" in definition else [])]
    every = [f"{path}_{operator}" for path in paths for operator in operators_taken(Kind.ANY)]
    assert [name for name in every if any(takes(shape, name, each) for each in SAMPLES)] == [
        name for name in every if name in found["properties"]
    ]
    assert set(found["properties"]) <= set(every)


def takes(shape: DocumentShape, name: str, text: str) -> bool:
    try:
        bind(parse([(name, text)]), shape)
    except Invalid:
        return False
    return True


def test_too_many_filters_become_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.contract.document.MAX_TYPED_FILTERS", 50)
    found = document(golden("books"))
    filters = found["components"]["schemas"]["BooksFilters"]
    assert found["info"]["x-filters"] == "patterns"
    assert "properties" not in filters
    assert filters["patternProperties"]
    assert found["components"]["schemas"]["BooksWhere"]["additionalProperties"] is True
    assert "x-filters" not in document(declared({}))["info"]


def test_the_largest_filters_with_names_have_at_most_120_bytes_each() -> None:
    fields = {
        f"field{number}": {"type": kind}
        for number, kind in zip(range(43), itertools.cycle(["string", "integer", "number", "boolean", "datetime"]))
    }
    relations = {f"r{number}_id": {"type": "reference", "collection": f"c{number}"} for number in range(3)}
    text = write_document(declared({f"c{number}": {**fields, **relations} for number in range(200)}), BASE, View.SERVER)
    found = json.loads(text)["components"]["schemas"]
    names = sum(len(each["properties"]) for name, each in found.items() if name.endswith("Filters"))
    assert names > 80_000
    assert len(text) <= 120 * names


def test_a_document_past_its_bytes_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.contract.written.MAX_CONTRACT_BYTES", 100_000)
    with pytest.raises(TooLarge, match="collections="):
        document(large(20))


def test_the_work_is_linear_in_the_definitions() -> None:
    one, four = (count_lines(partial(write_document, large(number), BASE, View.SERVER)) for number in (5, 20))
    assert four <= 5 * one


def test_named_collections_are_alone_in_the_document() -> None:
    found = document(golden("shop"), collections=frozenset({"order-lines"}))
    assert "/api/collections/order-lines/documents" in found["paths"]
    assert "/api/collections/products/documents" not in found["paths"]
    row = found["components"]["schemas"]["OrderLines"]["properties"]
    assert row["product_id"]["x-collection"] == "products"
    assert "product" not in row
    assert "Products" not in found["components"]["schemas"]
    with pytest.raises(CollectionNotFound):
        document(golden("shop"), collections=frozenset({"books"}))


RULES = {
    "collections": {
        "books": {"read": "anyone", "create": "users", "fields": {"price": {"read": "users", "write": "server"}}},
        "shelves": {"create": "anyone", "fields": {"name": {"write": "create"}}},
    }
}
SCHEMAS: dict[str, Any] = {
    "books": {"title": {"type": "string", "required": True}, "price": {"type": "number"}},
    "shelves": {"name": {"type": "string"}},
    "hidden": {},
}


def test_a_view_has_the_operations_that_its_callers_can_reach() -> None:
    users, guests = (document(declared(SCHEMAS, RULES, view), view) for view in (View.USERS, View.ANYONE))
    paths = "/api/collections/books/documents"
    assert {name for name in users["paths"][paths] if name in METHODS} == {"get", "post"}
    assert {name for name in guests["paths"][paths] if name in METHODS} == {"get"}
    assert "NewBooks" not in guests["components"]["schemas"]
    assert "price" not in guests["components"]["schemas"]["Books"]["properties"]
    assert users["components"]["schemas"]["Books"]["properties"]["price"] == {"type": "number", "readOnly": True}
    shelves = guests["components"]["schemas"]
    assert shelves["NewShelves"]["properties"]["name"] == {"type": "string", "writeOnly": True}
    assert shelves["Shelves"]["properties"] == {}
    for found in (users, guests):
        assert "hidden" not in json.dumps(found["tags"])
        assert {"listUsers", "createCollection", "replaceRoles", "distinctDocumentValues"}.isdisjoint(operations(found))
    assert "readProfile" in operations(users)
    assert "readProfile" not in operations(guests)
    assert "signup" in operations(guests)


def test_an_upsert_names_the_unique_fields_that_its_caller_writes() -> None:
    schemas: Schemas = {"books": {"isbn": {"type": "string", "unique": True}}, "notes": {"text": {"type": "string"}}}
    rules = {"collections": {"books": {"create": "users", "fields": {"isbn": {"write": "server"}}}}}
    known = operations(document(declared(schemas)))
    (by,) = (each["schema"] for each in known["upsertBooks"]["parameters"] if each.get("name") == "by")
    assert by == {"type": "string", "enum": ["isbn"]}
    assert "upsertNotes" not in known
    assert "upsertBooks" not in operations(document(declared(schemas, rules, View.USERS), View.USERS))


@pytest.mark.parametrize(
    ("component", "body", "is_taken"),
    [
        ("BooksWhere", {}, True),
        ("BooksWhere", {"and": [{"title_eq": "a"}]}, True),
        ("BooksWhere", {"and": []}, False),
        ("BooksWhere", {"or": [{}]}, False),
        ("BooksWhere", {"not": {}}, False),
        ("BooksChange", {"data": {}}, True),
        ("BooksChange", {"unset": ["title"], "where": {"title_eq": "a"}}, True),
        ("BooksChange", {}, False),
        ("BooksChange", {"where": {"title_eq": "a"}}, False),
        ("BooksChange", {"increment": {}}, False),
        ("query", {"cursor": "*"}, True),
        ("query", {"cursor": "*", "offset": 0}, False),
    ],
)
def test_bodies_that_the_service_refuses_fit_no_schema(component: str, body: Any, *, is_taken: bool) -> None:
    found = document(golden("books"))
    schema = {"$ref": f"#/components/schemas/{component}"}
    if component == "query":
        schema = operations(found)["queryBooks"]["requestBody"]["content"]["application/json"]["schema"]
    assert jsonschema_rs.is_valid({**schema, "components": found["components"]}, body) is is_taken


def test_what_rules_say_stands_in_no_document() -> None:
    rules = {"collections": {"books": {"read": {"title_eq": "verysecretvalue"}}}}
    for view in View:
        assert b"verysecretvalue" not in write_document(declared(SCHEMAS, rules, view), BASE, view)


def test_declared_profiles_type_the_users() -> None:
    profile = {"plan": {"type": "string", "enum": ["free", "pro"], "default": "free"}}
    found = document(declared({}, profile=profile, additional=False))["components"]["schemas"]
    assert found["User"]["required"] == ["plan"]
    assert found["User"]["additionalProperties"] is False
    assert found["UserAccount"]["properties"]["data"] == {"$ref": "#/components/schemas/User"}
    assert found["Signup"]["properties"]["plan"]["enum"] == ["free", "pro"]
    assert found["Signup"]["additionalProperties"] is False
    assert "plan_gt" in found["UserFilters"]["properties"]
    assert "UserFilters" not in document(declared({}))["components"]["schemas"]


def test_with_counts_names_what_refers_to_a_collection_and_is_gone_where_nothing_does() -> None:
    reference = {"type": "reference", "collection": "authors"}
    contract = declared(
        {
            "authors": {"name": {"type": "string"}},
            "books": {"author_id": reference},
            "talks": {"by_id": reference, "with_id": reference},
        }
    )
    found = document(contract)
    (pattern,) = (
        each["schema"]["pattern"]
        for each in found["paths"]["/api/collections/authors/documents"]["get"]["parameters"]
        if each.get("name") == "with_counts"
    )
    relations = find_counted(contract.collections)["authors"]
    assert relations == ["books", "books.author", "talks.by", "talks.with"]
    assert all(re.search(pattern, taken) for taken in (*relations, "books,talks.by", ",".join(["books"] * MAX_COUNTS)))
    refused = ("talks", "author", "books,", ",".join(["books"] * (MAX_COUNTS + 1)), "booksXauthor")
    assert not any(re.search(pattern, each) for each in refused)
    body = operations(found)
    forms = {
        name: body[name]["requestBody"]["content"]["application/json"]["schema"]["properties"]
        for name in body
        if name.startswith("query") and name != "queryUsers"
    }
    assert [each.get("with_counts", {}).get("items") for each in forms.values()] == [
        {"type": "string", "enum": relations},
        None,
        None,
    ]
    assert "with_counts" not in json.dumps(found["paths"]["/api/collections/books/documents"])

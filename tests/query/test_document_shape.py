"""The meaning of a query's names in a collection: its schema decides, and no undeclared name has a meaning."""

from dataclasses import replace

import pytest

from service.query.shapes import USERS, DocumentShape, Shape, ShapeField
from service.schema.fields import parse
from service.schema.values import Kind

ADDRESS = {"type": "object", "properties": {"city": {"type": "string"}, "since": {"type": "datetime"}}}
FIELDS = parse(
    {
        "IMDB Rating": {"type": "number"},
        "created_at": {"type": "string"},
        "address": ADDRESS,
        "addresses": {"type": "array", "items": ADDRESS},
        "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "list": {"type": "array"},
        "free": {"type": "object"},
        "any": {"type": "any"},
        "owner_id": {"type": "reference", "collection": "users"},
        "maker_id": {"type": "reference", "collection": "makers"},
        "gone_id": {"type": "reference", "collection": "gone"},
        "plain_id": {"type": "string"},
    }
)
MAKERS = DocumentShape("c_makers", {}, lambda _: None)
TARGETS: dict[str, Shape] = {"makers": MAKERS, "users": USERS}
SHAPE = DocumentShape("c_things", FIELDS, TARGETS.get)

NAMES: list[tuple[str, tuple[str, ...], ShapeField | None]] = [
    ("the record's id", ("id",), ShapeField("_id", Kind.ID)),
    ("the record's time", ("created_at",), ShapeField("created_at", Kind.DATETIME)),
    ("a field with a name of the record's", ("data", "created_at"), ShapeField("data.created_at", Kind.STRING)),
    ("a name with a space", ("IMDB Rating",), ShapeField("data.IMDB Rating", Kind.NUMBER)),
    ("nested", ("data", "address", "since"), ShapeField("data.address.since", Kind.DATETIME)),
    ("an object", ("address",), ShapeField("data.address", Kind.OBJECT)),
    ("inside an array", ("data", "addresses", "city"), ShapeField("data.addresses.city", Kind.STRING, many=True)),
    ("the elements of an array", ("grid",), ShapeField("data.grid", Kind.INTEGER, many=True)),
    ("an undeclared array", ("list",), ShapeField("data.list", Kind.ANY, many=True)),
    ("inside anything", ("data", "any", "x", "y"), ShapeField("data.any.x.y", Kind.ANY)),
    ("inside a free object", ("data", "free", "x"), ShapeField("data.free.x", Kind.ANY)),
    ("a reference", ("owner_id",), ShapeField("data.owner_id", Kind.REFERENCE)),
    ("undeclared", ("nothing",), None),
    ("undeclared inside", ("data", "address", "street"), None),
    ("inside a number", ("data", "IMDB Rating", "x"), None),
    ("data itself", ("data",), None),
]


@pytest.mark.parametrize(("path", "expected"), [row[1:] for row in NAMES], ids=[row[0] for row in NAMES])
def test_a_name_means_what_the_schema_declares(path: tuple[str, ...], expected: ShapeField | None) -> None:
    found = SHAPE.field(path)
    assert (found and replace(found, single=False)) == (expected and replace(expected, single=False))


@pytest.mark.parametrize(
    ("path", "single"),
    [
        (("id",), True),
        (("IMDB Rating",), True),
        (("data", "address", "since"), True),
        (("owner_id",), True),
        (("address",), False),
        (("data", "addresses", "city"), False),
        (("grid",), False),
        (("list",), False),
        (("any",), False),
        (("data", "free", "x"), False),
    ],
)
def test_a_declared_scalar_is_one_value(path: tuple[str, ...], single: bool) -> None:
    found = SHAPE.field(path)
    assert found is not None
    assert found.single is single


def test_relations_are_the_declared_references() -> None:
    assert SHAPE.relations() == ("owner", "maker", "gone")
    assert SHAPE.relation("owner") is USERS
    assert SHAPE.relation("maker") is MAKERS
    assert SHAPE.relation("gone") is None
    assert SHAPE.relation("plain") is None

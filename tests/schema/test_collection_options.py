"""Compound keys and indexes of a collection: what is accepted, and the indexes that they ask for."""

from typing import Any

import pytest

from service.bounds import MAX_COMPOUNDS, MAX_INDEXES
from service.schema.collection_options import NO_OPTIONS, read_options
from service.schema.fields import parse
from service.schema.indexes import check_indexes, indexes

FIELDS = parse(
    {
        "board_id": {"type": "reference", "collection": "users"},
        "user_id": {"type": "reference", "collection": "users"},
        "status": {"type": "string"},
        "due": {"type": "datetime"},
        "done": {"type": "boolean"},
        "tags": {"type": "array"},
        "marks": {"type": "array"},
        "more": {"type": "any"},
        "created_at": {"type": "string"},
    }
)
PAIR = ["board_id", "user_id"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unique": [PAIR, ["status", "due", "done", "created_at"]]},
        {"indexes": [["status", "-due"], ["-status", "-due"], ["done", "-created_at"], ["tags", "updated_at"]]},
    ],
)
def test_compounds_of_declared_fields_are_accepted(options: dict[str, Any]) -> None:
    assert check_indexes(FIELDS, read_options(options)) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"unique": [["board_id"]]}, [("unique", 0, "compound_fields")]),
        ({"unique": [["board_id", "board_id"]]}, [("unique", 0, "compound_fields")]),
        ({"unique": [["board_id", "user_id", "status", "due", "done"]]}, [("unique", 0, "compound_fields")]),
        ({"unique": [["board_id", "-user_id"]]}, [("unique", 0, 1, "value_error")]),
        ({"unique": [["board_id", "updated_at"]]}, [("unique", 0, 1, "value_error")]),
        ({"unique": [["tags", "more"]]}, [("unique", 0, 0, "field_type"), ("unique", 0, 1, "field_type")]),
        ({"unique": [PAIR, PAIR[::-1]]}, [("unique", 1, "duplicate")]),
        ({"indexes": [["status", "-status"]]}, [("indexes", 0, "compound_fields")]),
        ({"indexes": [["status", "nothing"]]}, [("indexes", 0, 1, "value_error")]),
        ({"indexes": [["status", "more"]]}, [("indexes", 0, 1, "field_type")]),
        ({"indexes": [["tags", "marks"]]}, [("indexes", 0, "parallel_arrays")]),
        ({"indexes": [["status", "-due"], ["-status", "due"]]}, [("indexes", 1, "duplicate")]),
        ({"unique": [[]]}, [("unique", 0, "compound_fields")]),
    ],
)
def test_others_are_named_with_their_place(options: dict[str, Any], expected: list[tuple[Any, ...]]) -> None:
    found = check_indexes(FIELDS, read_options(options))
    assert [(*each.loc[1:], each.type) for each in found] == expected


def test_lists_and_indexes_have_bounds() -> None:
    fields = parse({f"f{number}": {"type": "string"} for number in range(20)})
    pairs = [[f"f{number}", f"f{number + 1}"] for number in range(MAX_COMPOUNDS + 1)]
    (refused,) = check_indexes(fields, read_options({"unique": pairs}))
    assert (refused.loc, refused.type) == (("body", "unique"), "too_long")
    assert check_indexes(fields, read_options({"unique": pairs[1:], "indexes": pairs[1:]})) == []
    full = parse({f"f{number}": {"type": "string", "index": True} for number in range(MAX_INDEXES - 1)})
    assert check_indexes(full, read_options({"unique": pairs[:1]})) == []
    assert [each.type for each in check_indexes(full, read_options({"unique": pairs[:2]}))] == ["too_long"]


@pytest.mark.parametrize("lists", [[[]] * 200_000, [["x"] * 200_000], [[f"f{number}"] for number in range(9)]])
def test_of_lists_past_a_bound_one_fault_is_named(lists: list[list[str]]) -> None:
    found = check_indexes(FIELDS, read_options({"unique": lists}))
    assert [each.type for each in found] == ["too_long" if len(lists) > MAX_COMPOUNDS else "compound_fields"]


def test_a_unique_compound_holds_the_types_of_its_fields() -> None:
    (*_, index) = indexes(FIELDS, read_options({"unique": [["board_id", "due"]]}))
    assert index.unique
    assert [(key.path, key.types) for key in index.keys] == [("data.board_id", ("string",)), ("data.due", ("date",))]
    assert index.name == 'compound unique [["reference", "board_id"], ["datetime", "due"]]'


@pytest.mark.parametrize("keys", [["status", "-created_at"], ["-status", "created_at"]])
def test_an_index_is_built_in_the_direction_in_which_its_first_key_descends(keys: list[str]) -> None:
    (*_, index) = indexes(FIELDS, read_options({"indexes": [keys]}))
    assert [(key.path, key.descending) for key in index.keys] == [("data.status", True), ("created_at", False)]
    assert not index.unique


def test_options_come_back_as_they_were_sent() -> None:
    options = {"realtime": True, "unique": [PAIR], "indexes": [["status", "-due"]]}
    assert read_options(options).as_json() == options
    assert NO_OPTIONS.as_json() == {"realtime": False}

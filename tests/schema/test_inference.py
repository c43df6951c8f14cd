"""Types and names of columns, as they are proposed from a file."""

import pytest

from service.bounds import MAX_NAME
from service.schema.fields import parse
from service.schema.inference import Column, name_columns, type_of_text, type_of_value


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("3", "integer"),
        ("-3", "integer"),
        ("9223372036854775807", "integer"),
        ("9223372036854775808", "string"),
        ("1" * 25, "string"),
        ("007", "string"),
        ("+3", "string"),
        ("-0", "number"),
        ("1e5", "number"),
        ("1.50", "number"),
        (".5", "string"),
        ("1e999", "string"),
        ("NaN", "string"),
        ("true", "boolean"),
        ("True", "string"),
        ("2026-01-31", "datetime"),
        ("2026-01-31T12:00:00Z", "datetime"),
        ("2026-01-31T12:00:00.25+02:00", "datetime"),
        ("2026-01-31T12:00:00", "string"),
        ("2026-02-31", "string"),
        ("31.01.2026", "string"),
        (" 3", "string"),
        ("=1+1", "string"),
    ],
)
def test_the_type_of_a_text(text: str, type_: str) -> None:
    assert type_of_text(text) == type_


def test_the_type_of_json() -> None:
    values = [True, 1, 1.0, "x", "2026-01-31", [], {}]
    types = ["boolean", "integer", "number", "string", "datetime", "array", "object"]
    assert [type_of_value(value) for value in values] == types
    assert parse({type_: {"type": type_} for type_ in types})


@pytest.mark.parametrize(
    ("cells", "type_"),
    [
        (["1", "2", ""], "integer"),
        (["1", "2.5"], "number"),
        (["1", "x"], "string"),
        (["true", "1"], "string"),
        (["", ""], "string"),
    ],
)
def test_a_column_has_the_narrowest_type_of_all_its_values(cells: list[str], type_: str) -> None:
    column = Column("a", "a")
    for cell in cells:
        column.see_cell(cell)
    assert (column.type, column.empty) == (type_, cells.count(""))


def test_examples_are_the_first_distinct_values_and_short() -> None:
    column = Column("a", "a")
    for cell in ("b", "a", "b", "x" * 500, "c"):
        column.see_cell(cell)
    assert (column.examples, len(column.values)) == (["b", "a", "x" * 100], 4)


def test_names_are_legal_and_each_stands_once() -> None:
    headers = ["a.b", "a_b", "", "$where", "\x00", "x" * 300, "x" * 299, "__proto__", " Title ", "<img>"]
    names = name_columns(headers)
    assert names[:5] == ["a_b", "a_b_2", "column_3", "where", "_"]
    assert names[7:] == ["__proto__", "Title", "<img>"]
    assert len(set(names)) == len(headers)
    assert max(map(len, names)) <= MAX_NAME
    assert parse({name: {"type": "string"} for name in names})

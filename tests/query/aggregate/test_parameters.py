"""Parameters of saved aggregations: how they are declared, read and put into a definition."""

from typing import Any

import pytest

from service.errors import Invalid
from service.query.aggregate.parameters import Filling, read_declared, read_values


def test_values_are_read_by_their_types() -> None:
    kinds = {"s": "string", "i": "integer", "n": "number", "b": "boolean", "d": "datetime"}
    pairs = [("s", "33"), ("i", "7"), ("n", "1.5"), ("b", "true"), ("d", "2026-01-31")]
    assert read_values(pairs, kinds) == {"s": "33", "i": 7, "n": 1.5, "b": True, "d": "2026-01-31T00:00:00.000Z"}


@pytest.mark.parametrize(
    ("pairs", "name", "type_", "msg"),
    [
        ([], "year", "missing", "This parameter must be sent"),
        ([("year", "7"), ("yaer", "7")], "yaer", "value_error", "The value is of no parameter of this aggregation"),
        ([("year", "x")], "year", "value_error", "The value must be a number"),
        ([("year", "1.5")], "year", "value_error", "The value must be a whole number"),
        ([("year", "")], "year", "value_error", "The value is missing"),
    ],
)
def test_a_value_is_refused(pairs: list[tuple[str, str]], name: str, type_: str, msg: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_values(pairs, {"year": "integer"})
    assert [(each.loc, each.type, each.msg) for each in refused.value.violations] == [(("query", name), type_, msg)]


@pytest.mark.parametrize(
    ("declared", "place"),
    [
        ([], ()),
        ({f"p{n}": {"type": "string"} for n in range(21)}, ()),
        ({"1st": {"type": "string"}}, ("1st",)),
        ({"p": "string"}, ("p",)),
        ({"p": {"type": "text"}}, ("p",)),
        ({"p": {"type": ["string"]}}, ("p",)),
        ({"p": {"type": "string", "default": "x"}}, ("p",)),
    ],
    ids=str,
)
def test_a_declaration_is_refused(declared: Any, place: tuple[str, ...]) -> None:
    with pytest.raises(Invalid) as refused:
        read_declared(declared, ("body", "parameters"))
    assert refused.value.violations[0].loc == ("body", "parameters", *place)


def test_values_take_the_places_of_their_names_in_conditions_alone() -> None:
    filling = Filling({"year": 2026, "city": "Paris"})
    body = {
        "where": {"a_in": ["$city", "$$city", "x"], "or": [{"not": {"b_eq": "$year"}}]},
        "having": {"n_gte": "$year"},
        "group": {"$year": "$year"},
    }
    assert filling.fill(body, ("body",)) == {
        "where": {"a_in": ["Paris", "$city", "x"], "or": [{"not": {"b_eq": 2026}}]},
        "having": {"n_gte": 2026},
        "group": {"$year": "$year"},
    }
    assert filling.places == {
        ("body", "where", "a_in", 0): "city",
        ("body", "where", "or", 0, "not", "b_eq"): "year",
        ("body", "having", "n_gte"): "year",
    }
    assert not filling.violations


def test_a_name_of_no_parameter_is_refused_where_it_stands() -> None:
    filling = Filling({})
    filling.fill({"where": {"a_eq": "$year"}}, ("body",))
    (violation,) = filling.violations
    assert (violation.loc, violation.type) == (("body", "where", "a_eq"), "unknown_parameter")
    assert violation.msg == "There is no parameter $year; $$ stands for a text that begins with $"


def test_what_is_nested_without_end_is_left_to_the_reader_of_conditions() -> None:
    where: Any = "$x"
    for _ in range(100):
        where = {"not": where}
    assert Filling({"x": 1}).fill({"where": where}, ()) == {"where": where}

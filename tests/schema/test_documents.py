"""A JSON body before it is judged: dates, whole numbers and defaults are read, and nothing else changes."""

from datetime import datetime
from typing import Any

import pytest

from service.schema.documents import complete, read
from service.schema.fields import parse

DATE = {"type": "datetime"}
DEFAULTED = {"type": "object", "properties": {"on": {"type": "boolean", "default": True}, "at": DATE}}
MOMENT = datetime(2026, 1, 31)  # noqa: DTZ001 - as it is stored

COMPLETED: list[tuple[str, Any, Any, Any]] = [
    ("a date", {"f": DATE}, {"f": "2026-01-31"}, {"f": MOMENT}),
    ("a text that is no date stays for the validator", {"f": DATE}, {"f": "soon"}, {"f": "soon"}),
    ("a date that is a text", {"f": {"type": "string"}}, {"f": "2026-01-31"}, {"f": "2026-01-31"}),
    ("a whole number", {"f": {"type": "integer"}}, {"f": 3.0}, {"f": 3}),
    ("a fraction stays", {"f": {"type": "integer"}}, {"f": 3.5}, {"f": 3.5}),
    ("2^63 has no place in 64 bits", {"f": {"type": "integer"}}, {"f": 2.0**63}, {"f": 2.0**63}),
    ("a number keeps its form", {"f": {"type": "number"}}, {"f": 3.0}, {"f": 3.0}),
    ("a default", {"f": {"type": "string", "default": "x"}}, {}, {"f": "x"}),
    ("a default of null", {"f": {"type": "string", "nullable": True, "default": None}}, {}, {"f": None}),
    ("null is not absent", {"f": {"type": "string", "default": "x"}}, {"f": None}, {"f": None}),
    ("a default is read like a value", {"f": {**DATE, "default": "2026-01-31"}}, {}, {"f": MOMENT}),
    ("a default further in", {"f": DEFAULTED}, {"f": {}}, {"f": {"on": True}}),
    ("no object, no default in it", {"f": DEFAULTED}, {}, {}),
    ("a default object is completed", {"f": {**DEFAULTED, "default": {}}}, {}, {"f": {"on": True}}),
    (
        "defaults and dates in an array",
        {"f": {"type": "array", "items": DEFAULTED}},
        {"f": [{"on": False}, {"at": "2026-01-31"}, 7]},
        {"f": [{"on": False}, {"at": MOMENT, "on": True}, 7]},
    ),
    ("undeclared fields stay for the validator", {}, {"x": 1}, {"x": 1}),
]


@pytest.mark.parametrize(
    ("schema", "data", "expected"), [row[1:] for row in COMPLETED], ids=[row[0] for row in COMPLETED]
)
def test_complete(schema: Any, data: Any, expected: Any) -> None:
    found = complete(data, parse(schema))
    assert found == expected
    assert [type(value) for value in found.values()] == [type(value) for value in expected.values()]


def test_a_default_is_not_shared_between_documents() -> None:
    fields = parse({"f": {"type": "array", "default": []}})
    complete({}, fields)["f"].append(1)
    assert complete({}, fields) == {"f": []}


def test_a_change_of_some_fields_is_read_without_the_defaults_of_others() -> None:
    fields = parse({"a": {"type": "string", "default": "x"}, "b": DEFAULTED, "c": DATE})
    assert read({"b": {}, "c": "2026-01-31"}, fields) == {"b": {"on": True}, "c": MOMENT}

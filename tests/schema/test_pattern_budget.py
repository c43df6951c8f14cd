"""One document cannot keep the database busy with a pattern: arrays of texts that are matched have a length."""

from typing import Any

import pytest

from service.schema.fields import parse
from service.schema.pattern_budget import MAX_MATCHES, check_patterns
from tests.schema.cases import Path

PATTERN = {"type": "string", "pattern": "^(a+)+$|!$"}


def array(items: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **options}


INNER = {"type": "object", "properties": {"x": PATTERN}}
BUDGETS: list[tuple[str, dict[str, Any], list[Path]]] = [
    ("no array", PATTERN, []),
    ("no pattern", array({"type": "string"}), []),
    ("a length", array(PATTERN, max_length=MAX_MATCHES), []),
    ("no length", array(PATTERN), [("items",)]),
    ("a great length", array(PATTERN, max_length=MAX_MATCHES + 1), [("items",)]),
    ("arrays in an array", array(array(PATTERN, max_length=10), max_length=50), []),
    ("too many in all", array(array(PATTERN, max_length=11), max_length=50), [("items", "items")]),
    ("the outer one without a length", array(array(PATTERN, max_length=1)), [("items", "items")]),
    ("in an object in an array", array(INNER), [("items", "properties", "x")]),
]


@pytest.mark.parametrize(("definition", "expected"), [row[1:] for row in BUDGETS], ids=[row[0] for row in BUDGETS])
def test_a_pattern_inside_arrays_has_a_budget(definition: dict[str, Any], expected: list[Path]) -> None:
    found = [(violation.loc, violation.type) for violation in check_patterns(parse({"f": definition}), ("s",))]
    assert found == [(("s", "f", *path, "pattern"), "pattern_budget") for path in expected]

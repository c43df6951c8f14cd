"""Which queries can be followed as changes come."""

from typing import Any

import pytest

from service.query.live import RELATED, find_reason, find_reason_of_rule
from service.query.parse import parse_body
from service.query.tree import Leaf, Related, all_of

OWN = Leaf("data.a", "eq", 1)


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ({"a_eq": 1, "or": [{"b_in": ["x"]}, {"not": {"data.c.d_contains": "y"}}]}, None),
        ({"a_isnull": True, "b_hasall": [1], "created_at_gt": "2026-01-01"}, None),
        ({"author.name_eq": "Hugo"}, RELATED),
        ({"or": [{"a_eq": 1}, {"not": {"author.data.name_eq": "Hugo"}}]}, RELATED),
        ({"a_icontains": "x"}, "_icontains cannot be followed live"),
        ({"data.lines.0.price_gt": 1}, "A number in a path cannot be followed live"),
    ],
)
def test_a_query_can_be_followed_that_looks_at_the_record_alone(where: dict[str, Any], reason: str | None) -> None:
    assert find_reason(parse_body({"where": where})) == reason


def test_a_rule_can_be_followed_that_looks_at_the_record_alone() -> None:
    assert find_reason_of_rule(OWN) is None
    assert find_reason_of_rule(True) is None
    assert find_reason_of_rule(all_of([OWN, Related("data.b_id", "c_b", OWN)])) == RELATED

"""Live queries are judged record by record, as changes come: they look at nothing but the record itself. Pure.

MongoDB and the matcher say the same of what is left; `icontains` knows letters that Python's patterns do not, and a
number in a path may be an index of an array there.
"""

from collections.abc import Iterable

from service.query.conditions import relation_name
from service.query.nodes import AnyCondition
from service.query.shapes import NESTED
from service.query.tree import Tree, has_relations

NOT_LIVE_OPERATORS = frozenset({"icontains"})
RELATED = "Conditions on related records cannot be followed live"


def find_reason(conditions: Iterable[AnyCondition], nested: frozenset[str] = NESTED) -> str | None:
    """Why what these conditions find cannot be followed live; None where it can. `nested` is that of the records' shape."""
    reasons = (_reason(condition, nested) for condition in conditions)
    return next((reason for reason in reasons if reason is not None), None)


def _reason(condition: AnyCondition, nested: frozenset[str]) -> str | None:
    if relation_name(condition.path, nested) is not None:
        return RELATED
    if condition.operator in NOT_LIVE_OPERATORS:
        return f"_{condition.operator} cannot be followed live"
    if any(part.isdigit() for part in condition.path):
        return "A number in a path cannot be followed live"
    return None


def find_reason_of_rule(tree: Tree) -> str | None:
    """Why the records that a bound rule lets through cannot be followed live; None where they can."""
    return RELATED if has_relations(tree) else None

"""The names in a query: fields, relations and operators, in filters, sorting and everywhere else. They mean nothing yet."""

from collections.abc import Iterable, Iterator

from service.bounds import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_LOOKUPS,
    MAX_NAME,
    MAX_RELATION_DEPTH,
    MAX_RELATIONS,
    MAX_SEARCH_CHARACTERS,
)
from service.errors import Location, Violation
from service.query.nodes import AnyCondition, Condition
from service.query.operators import OPERATORS, UNANCHORED
from service.schema.values import check_name

Path = tuple[str, ...]
# Patterns of names that a client may write: a name, a path that may follow relations, and a path of relations.
NAME = rf"[^$.,\x00-\x1f\x7f][^.,\x00-\x1f\x7f]{{0,{MAX_NAME - 1}}}"
PATH = rf"{NAME}(\.{NAME}){{0,{MAX_RELATION_DEPTH}}}"
# A single name, in a place where a comma separates nothing.
SINGLE = rf"[^$.\x00-\x1f\x7f][^.\x00-\x1f\x7f]{{0,{MAX_NAME - 1}}}"
# One that needs no quotes in a list of names separated by commas.
PLAIN = rf"[^$.,\"\s\x00-\x1f\x7f][^.,\"\s\x00-\x1f\x7f]{{0,{MAX_NAME - 1}}}"
RELATION = rf"{NAME}(\.{NAME}){{0,{MAX_RELATION_DEPTH - 1}}}"
# A nested path is at most as long as data is deep, behind the relations that may lead to it.
MAX_PATH = MAX_DEPTH + MAX_RELATION_DEPTH


class Fault(ValueError):
    """Why one parameter is refused; becomes a violation of that parameter."""


class UnknownParameter(Fault):
    """The name ends with no operator, so that it is no filter."""


def read_name(name: str) -> tuple[Path, str]:
    """The path and the operator of a condition. Raises Fault."""
    field, _, operator = name.rpartition("_")
    if not field or operator not in OPERATORS:
        known = ", ".join(f"_{known}" for known in OPERATORS)
        raise UnknownParameter(f"Unknown parameter; a filter is <field>_<operator> with one of {known}")
    return read_path(field), operator


def read_path(text: str) -> Path:
    """Raises Fault."""
    parts = tuple(text.split("."))
    if len(parts) > MAX_PATH or any(check_name(part) for part in parts):
        raise Fault("Not the name of a field")
    if _relations(parts) > MAX_RELATION_DEPTH:
        raise Fault(f"A filter may follow at most {MAX_RELATION_DEPTH} relations")
    return parts


def _relations(parts: Path) -> int:
    """The number of relations a path follows: all parts before the last, or before the `data` that begins a nested
    path.
    """
    return parts.index("data") if "data" in parts else len(parts) - 1


def check_conditions(conditions: Iterable[AnyCondition], place: Location) -> list[Violation]:
    """Violations of the bounds that the conditions of one filter share: their number, searches and relations."""
    found = list(conditions)
    violations = []
    if len(found) > MAX_CONDITIONS:
        violations.append(Violation(place, f"At most {MAX_CONDITIONS} conditions may be combined", "too_many"))
    if (searched := count_searched(found)) > MAX_SEARCH_CHARACTERS:
        msg = (
            f"The texts of all _contains and _icontains have {searched:,} characters together, and at most "
            f"{MAX_SEARCH_CHARACTERS:,} are allowed; shorten them, or use _startswith"
        )
        violations.append(Violation(place, msg, "too_long"))
    if _hops(found) > MAX_RELATIONS:
        msg = f"Conditions may follow at most {MAX_RELATIONS} different relations"
        violations.append(Violation(place, msg, "too_many"))
    elif _lookups(found) > MAX_LOOKUPS:
        msg = (
            f"Conditions may look for related records at most {MAX_LOOKUPS} times; those on one relation in one "
            "object are one search, and _in takes several values"
        )
        violations.append(Violation(place, msg, "too_many"))
    return violations


def count_searched(conditions: Iterable[AnyCondition]) -> int:
    """The characters that MongoDB searches for at every position of a value."""
    sought = (
        each.text if isinstance(each, Condition) else each.value for each in conditions if each.operator in UNANCHORED
    )
    return sum(len(text) for text in sought if isinstance(text, str))


def _lookups(conditions: Iterable[AnyCondition]) -> int:
    """The number of searches that are sent: in each object of conditions, one for each relation that is followed."""
    return len({(each.place[:-1], hop) for each in conditions for hop in _hops_of(each.path)})


def _hops_of(path: Path) -> Iterator[Path]:
    """`a.b.x` follows `a` and `a.b`."""
    return (path[: number + 1] for number in range(_relations(path)))


def _hops(conditions: Iterable[AnyCondition]) -> int:
    """The number of different relations that are followed."""
    return len({hop for each in conditions for hop in _hops_of(each.path)})

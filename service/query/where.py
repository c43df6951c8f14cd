"""Conditions as JSON, joined by and, or and not: only the form of it, not the meaning of the conditions. Pure.

    where := {"stock_gte": 1, "or": [where, ...], "and": [where, ...], "not": where}      all entries must hold

Queries and access rules are written so, and each reads the conditions for itself. A tree that is too large is refused
before it is walked through.
"""

from dataclasses import dataclass
from typing import Any

from service.bounds import MAX_CONDITIONS, MAX_LISTED, MAX_WHERE_DEPTH
from service.errors import Invalid, Location, Violation
from service.query.names import Fault, check_conditions, read_name
from service.query.nodes import Joined, JsonCondition, Where
from service.schema.strict_json import shown

JOINTS = ("and", "or")


@dataclass(frozen=True, slots=True)
class Entry:
    """A condition as JSON has it: its place, its key, and its value."""

    place: Location
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class Outline:
    """An object of conditions: those of its own, and the objects that it joins by and, or, or not, which has one part."""

    entries: tuple[Entry, ...] = ()
    joined: tuple[tuple[str, tuple["Outline", ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class WhereLimits:
    """The limit of conditions, its error message, and the expected form with its error type."""

    conditions: int
    too_many: str
    expected: str
    type: str


class WhereReader:
    """Reads one where. `violations` are what was found wrong, `conditions` how many there are; more than may be end it.

    `values` are those that their lists have together.
    """

    def __init__(self, limits: WhereLimits) -> None:
        self.violations: list[Violation] = []
        self.conditions = 0
        self.values = 0
        self._limits = limits

    def read(self, where: Any, place: Location) -> Outline:
        found = self._object(where, place, 1)
        if self.conditions > self._limits.conditions:
            self.violations.append(Violation(place, self._limits.too_many, "too_many"))
        elif self.values > MAX_LISTED:
            msg = f"The lists of all conditions may have {MAX_LISTED:,} values together"
            self.violations.append(Violation(place, msg, "too_many"))
        return found

    def _object(self, where: Any, place: Location, depth: int) -> Outline:
        if depth > MAX_WHERE_DEPTH:
            return self._refuse(place, f"Conditions may be nested {MAX_WHERE_DEPTH} deep", "too_deep")
        if not isinstance(where, dict) or not where:
            return self._refuse(place, self._limits.expected, self._limits.type)
        joined = [(key, value) for key, value in where.items() if key in {*JOINTS, "not"}]
        if not self._count(len(where) - len(joined)):
            return Outline()
        entries = [
            Entry((*place, shown(key)[1:-1]), key, value) for key, value in where.items() if key not in {*JOINTS, "not"}
        ]
        self.values += sum(len(entry.value) for entry in entries if isinstance(entry.value, list))
        return Outline(
            tuple(entries), tuple((key, self._parts(key, value, (*place, key), depth)) for key, value in joined)
        )

    def _parts(self, key: str, value: Any, place: Location, depth: int) -> tuple[Outline, ...]:
        if key == "not":
            return (self._object(value, place, depth + 1),)
        if not isinstance(value, list) or not value:
            self._refuse(place, f"{key} takes a list of at least one object of conditions", "list_type")
            return ()
        if not self._fits(len(value)):
            # Each part has a condition, or is refused.
            self._count(len(value))
            return ()
        return tuple(self._object(each, (*place, number), depth + 1) for number, each in enumerate(value))

    def _count(self, number: int) -> bool:
        """Counts conditions; True while they are within the limits, so that reading goes on."""
        self.conditions += number
        return self._fits(0)

    def _fits(self, more: int) -> bool:
        return self.conditions + more <= self._limits.conditions

    def _refuse(self, place: Location, msg: str, type_: str) -> Outline:
        self.violations.append(Violation(place, msg, type_))
        return Outline()


OF_QUERIES = WhereLimits(
    conditions=MAX_CONDITIONS,
    too_many=f"At most {MAX_CONDITIONS} conditions may be combined",
    expected='Conditions are an object such as {"stock_gte": 1}, with at least one of them',
    type="where",
)


def read_where(where: Any, place: Location) -> Where:
    """The conditions of a query; an object without any at the very top is all records. Raises Invalid."""
    if where == {} and isinstance(where, dict):
        return Where()
    reader = WhereReader(OF_QUERIES)
    found = _conditions(reader.read(where, place), reader.violations)
    if reader.violations:
        raise Invalid(reader.violations)
    return found


def read_filter(where: Any, place: Location) -> Where:
    """The conditions of a filter that has no others beside its `where`, such as a guard. Raises Invalid."""
    found = read_where(where, place)
    if violations := check_conditions(found, place):
        raise Invalid(violations)
    return found


def _conditions(outline: Outline, violations: list[Violation]) -> Where:
    conditions = []
    for entry in outline.entries:
        try:
            conditions.append(JsonCondition(entry.place, *read_name(entry.key), entry.value))
        except Fault as fault:
            violations.append(Violation(entry.place, str(fault), "value_error"))
    joined = [Joined(word, tuple(_conditions(part, violations) for part in parts)) for word, parts in outline.joined]
    return Where(tuple(conditions), tuple(joined))

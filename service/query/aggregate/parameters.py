"""The parameters of saved aggregations: what a definition declares, what a query string gives, and where it goes.

`"$year"` as a value in `where` or `having` stands for the parameter `year`; `"$$x"` for the text `$x`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from service.bounds import MAX_PARAMETERS
from service.errors import Invalid, Location, Violation
from service.schema.strict_json import shown
from service.schema.values import BadValue, Kind, read_time, readings, write_time

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
NAME_RULE = "Must begin with a letter and have 1 to 64 letters, digits or '_'"
# By its name in a definition: the kind of a parameter, and a value with which a definition is tried.
TYPES: Mapping[str, tuple[Kind, Any]] = {
    "string": (Kind.STRING, "text"),
    "integer": (Kind.INTEGER, 1),
    "number": (Kind.NUMBER, 1.5),
    "boolean": (Kind.BOOLEAN, True),
    "datetime": (Kind.DATETIME, "2026-01-31T12:00:00.000Z"),
}
FILLED = ("where", "having")
# No deeper than a `where` can be, with the values of `_in` inside.
MAX_FILLED_DEPTH = 16

Kinds = Mapping[str, str]


def read_declared(declared: Any, place: Location) -> Kinds:
    """Name → type. Raises Invalid."""
    if not isinstance(declared, dict):
        raise Invalid.one(place, 'Must be an object such as {"year": {"type": "integer"}}', type_="dict_type")
    if len(declared) > MAX_PARAMETERS:
        raise Invalid.one(place, f"At most {MAX_PARAMETERS} parameters are allowed", type_="too_many")
    violations = [found for name, each in declared.items() for found in _problems(name, each, place)]
    if violations:
        raise Invalid(violations)
    return {name: each["type"] for name, each in declared.items()}


def _problems(name: str, definition: Any, place: Location) -> Iterable[Violation]:
    place = (*place, shown(name)[1:-1])
    if not NAME.fullmatch(name):
        yield Violation(place, NAME_RULE, "value_error")
    if not isinstance(definition, dict) or definition.keys() != {"type"} or not _is_type(definition["type"]):
        yield Violation(place, f'Must be {{"type": ...}} with one of {", ".join(TYPES)}', "enum")


def _is_type(value: Any) -> bool:
    return isinstance(value, str) and value in TYPES


def read_values(pairs: Iterable[tuple[str, str]], kinds: Kinds) -> dict[str, Any]:
    """The values of all parameters, as JSON, of a query string's pairs. Raises Invalid that names every one that is wrong."""
    violations, values = list[Violation](), dict[str, Any]()
    for name, text in pairs:
        try:
            if name not in kinds:
                raise BadValue("is of no parameter of this aggregation")
            values[name] = _read(text, kinds[name])
        except BadValue as error:
            violations.append(Violation(("query", name), f"The value {error}", "value_error"))
    sent = {name for name, _ in pairs}
    missing = (Violation(("query", name), "This parameter must be sent", "missing") for name in kinds.keys() - sent)
    violations += sorted(missing, key=lambda violation: violation.loc[-1])
    if violations:
        raise Invalid(violations)
    return values


def _read(text: str, type_: str) -> Any:
    if not text:
        raise BadValue("is missing")
    kind, _ = TYPES[type_]
    if kind is Kind.DATETIME:
        return write_time(read_time(text))
    (value,) = readings(text, kind)
    return int(value) if kind is Kind.INTEGER else value


def sample_values(kinds: Kinds) -> dict[str, Any]:
    return {name: TYPES[type_][1] for name, type_ in kinds.items()}


@dataclass(slots=True)
class Filling:
    """A body with values in the place of parameters. `places` has the parameter of each such place."""

    values: Mapping[str, Any]
    places: dict[Location, str] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    def fill(self, body: Mapping[str, Any], place: Location) -> dict[str, Any]:
        return {
            name: self._fill(part, (*place, name), MAX_FILLED_DEPTH) if name in FILLED else part
            for name, part in body.items()
        }

    def _fill(self, value: Any, place: Location, depth: int) -> Any:
        """Fills parameters into a value. Values nested too deeply stay unchanged: the reader refuses them."""
        if isinstance(value, str):
            return self._fill_text(value, place)
        if depth and isinstance(value, dict):
            return {key: self._fill(each, (*place, shown(key)[1:-1]), depth - 1) for key, each in value.items()}
        if depth and isinstance(value, list):
            return [self._fill(each, (*place, number), depth - 1) for number, each in enumerate(value)]
        return value

    def _fill_text(self, text: str, place: Location) -> Any:
        if not text.startswith("$"):
            return text
        name = text[1:]
        if name.startswith("$"):
            return name
        if name not in self.values:
            msg = f"There is no parameter ${shown(name)[1:-1]}; $$ stands for a text that begins with $"
            self.violations.append(Violation(place, msg, "unknown_parameter"))
            return text
        self.places[place] = name
        return self.values[name]

    def at_parameter(self, violation: Violation) -> Violation | None:
        """The violation at the parameter whose value it is about; None where it is about none."""
        names = {name for place, name in self.places.items() if place[: len(violation.loc)] == violation.loc}
        return Violation(("query", min(names)), violation.msg, violation.type) if names else None

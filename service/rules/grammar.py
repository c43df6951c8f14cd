"""The language of access rules: filters as JSON, with variables for who asks. JSON → templates. Pure.

rule   false, "anyone", "signed_in", "users", or a where
where  {"author_id_eq": "$user.id", "or": [{"status_eq": "published"}, {"$user.roles_eq": "editor"}], "not": {...},
        "post.$can": "read"}

Names mean what they mean in a query, literals have the type of their field, and nothing is guessed. A rule is read when it
is saved; every mistake is named with its place.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from service.bounds import MAX_IN, MAX_RELATION_DEPTH, MAX_RULE_CONDITIONS
from service.errors import Location, Violation
from service.query import operands
from service.query.operators import OPERATORS as OF_QUERIES
from service.query.shapes import Shape, ShapeField
from service.query.tree import Leaf, Related, Tree, all_of, any_of, negate
from service.query.where import Outline, WhereLimits, WhereReader
from service.rules.templates import NOW, Audience, Can, Variable, VariableLeaf
from service.schema.fields import USERS
from service.schema.strict_json import shown
from service.schema.values import BadValue, Kind

WORDS = ("anyone", "signed_in", "users")
OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "hasall", "startswith", "isnull")
# These take literals, and fields of the record alone.
OF_FIELDS = frozenset({"hasall", "startswith"})
ORDERED = frozenset({"gt", "gte", "lt", "lte"})
CAN = "$can"
SHIFTED_NOW = re.compile(r"now(?:([+-]\d{1,6})([smhd]))?")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
LIMITS = WhereLimits(
    conditions=MAX_RULE_CONDITIONS,
    too_many=f"A rule may have at most {MAX_RULE_CONDITIONS} conditions",
    expected='A rule is false, "anyone", "signed_in", "users", or an object of conditions such as {"owner_id_eq": "$user.id"}',
    type="rule",
)


@dataclass(frozen=True, slots=True)
class RuleScope:
    """The names that a rule may use: the fields of `shape`, and the variables, each with the kind of its values.

    `target` gives the declared collection, or `users`, that a relation leads to.
    """

    shape: Shape | None
    variables: Mapping[str, Kind]
    target: Callable[[str], str | None] = lambda _relation: None


def scope_of(
    collection: str | None,
    variables: Mapping[str, Kind],
    shapes: Mapping[str, Shape],
    targets: Mapping[str, Mapping[str, str]],
) -> RuleScope:
    """The scope of a rule of `collection`; without one, the variables alone."""
    if collection is None:
        return RuleScope(None, variables)
    own = targets.get(collection, {})
    return RuleScope(shapes[collection], variables, lambda relation: _target(collection, own, relation, shapes))


def _target(collection: str, targets: Mapping[str, str], relation: str, shapes: Mapping[str, Shape]) -> str | None:
    """Any `_id` field of a user may name another user. None also where the collection is gone that a reference names."""
    target = USERS if collection == USERS else targets.get(relation)
    return target if target in shapes else None


@dataclass(slots=True)
class RuleReading:
    """The conditions of one rule being read, and what was found wrong with them so far."""

    scope: RuleScope
    violations: list[Violation] = field(default_factory=list)

    def refuse(self, loc: Location, msg: str, type_: str = "value_error") -> bool:
        self.violations.append(Violation(loc, msg, type_))
        return False


def read_rule(rule: Any, loc: Location, scope: RuleScope) -> tuple[Tree, list[Violation]]:
    """The template of a rule, and what is wrong with it."""
    if rule is False:
        return False, []
    if isinstance(rule, str) and rule in WORDS:
        return Audience(rule), []
    reader, reading = WhereReader(LIMITS), RuleReading(scope)
    template = _template(reading, reader.read(rule, loc))
    violations = [*reader.violations, *reading.violations]
    return (False if violations else template), violations


def _template(reading: RuleReading, outline: Outline) -> Tree:
    own = [_entry(reading, entry.key, entry.value, entry.place) for entry in outline.entries]
    joined = [_joined(word, [_template(reading, part) for part in parts]) for word, parts in outline.joined]
    return all_of([*own, *joined])


def _joined(word: str, parts: list[Tree]) -> Tree:
    match word:
        case "or":
            return any_of(parts)
        case "and":
            return all_of(parts)
    (part,) = parts
    return negate(part)


def _entry(reading: RuleReading, key: str, value: Any, loc: Location) -> Tree:
    if key.endswith(f".{CAN}"):
        return _can(reading, key.removesuffix(f".{CAN}"), value, loc)
    name, _, operator = key.rpartition("_")
    if not name or operator not in OPERATORS:
        known = ", ".join(f"_{each}" for each in OPERATORS)
        return reading.refuse(loc, f"Not a condition: <field>_<operator> with one of {known}; or and, or, not")
    if name.startswith("$"):
        if operator in OF_FIELDS:
            return reading.refuse(loc, f"_{operator} compares a field of the record, and no variable")
        return _on_variable(reading, name[1:], operator, value, loc=loc)
    return _on_field(reading, tuple(name.split(".")), operator, value, loc=loc)


def _can(reading: RuleReading, relation: str, value: Any, loc: Location) -> Tree:
    shape, target = reading.scope.shape, reading.scope.target(relation)
    if value != "read" or target is None or shape is None:
        return reading.refuse(loc, f'"<relation>.{CAN}": "read" takes a relation of this collection to an existing one')
    return Can(shape.local(relation), target)


def _on_variable(reading: RuleReading, name: str, operator: str, value: Any, *, loc: Location) -> Tree:
    variable = _variable(reading, name, loc)
    if variable is None:
        return False
    kind = Kind.DATETIME if variable.name == NOW else reading.scope.variables[variable.name]
    literal = _literal(reading, value, operator, kind, loc=loc)
    return literal is not None and VariableLeaf(variable, operator, literal)


def _on_field(reading: RuleReading, path: tuple[str, ...], operator: str, value: Any, *, loc: Location) -> Tree:
    """A condition on a field of the record, or, behind the names of relations, of a related one."""
    hops: list[tuple[str, str]] = []
    shape = reading.scope.shape
    while shape is not None and len(path) > 1 and path[0] != "data" and len(hops) <= MAX_RELATION_DEPTH:
        local, shape = shape.local(path[0]), shape.relation(path[0])
        if shape is not None:
            hops.append((local, shape.collection))
        path = path[1:]
    found = shape.field(path) if shape is not None and len(hops) <= MAX_RELATION_DEPTH else None
    # MongoDB would take a number on the way for a position in an array.
    if found is None or any(part.isdigit() for part in path):
        return reading.refuse(loc, "There is no such field in this collection")
    leaf = _leaf(reading, found, operator, value, loc=loc)
    for local, collection in reversed(hops):
        leaf = leaf if leaf is False else Related(local, collection, leaf)
    return leaf


def _leaf(reading: RuleReading, found: ShapeField, operator: str, value: Any, *, loc: Location) -> Tree:
    operand = (
        _operand(reading, value, operator, found.kind, loc=loc)
        if isinstance(value, str) and value.startswith("$") and not value.startswith("$$")
        else _literal(reading, value, operator, found.kind, loc=loc)
    )
    return operand is not None and Leaf(found.path, operator, operand)


def _operand(reading: RuleReading, text: str, operator: str, kind: Kind, *, loc: Location) -> Variable | None:
    """The variable that stands as the value of a condition on a field of `kind`."""
    variable = _variable(reading, text[1:], loc)
    if variable is None:
        return None
    if operator in OF_FIELDS:
        reading.refuse(loc, f"_{operator} takes no variable; $$ stands for a text that begins with $")
        return None
    if operator == "isnull" or variable.is_list is not (operator == "in"):
        reading.refuse(loc, "_in takes a list variable, other operators a single value; _isnull takes true or false")
        return None
    own = reading.scope.variables.get(variable.name, Kind.DATETIME)
    if not _comparable(own, kind) or (operator in ORDERED and kind not in {Kind.DATETIME, Kind.ANY}):
        reading.refuse(loc, f"${variable.name} cannot be compared with a value that is {kind.value}", "type_error")
        return None
    return variable


def _variable(reading: RuleReading, text: str, loc: Location) -> Variable | None:
    if found := SHIFTED_NOW.fullmatch(text):
        shift = timedelta(**{UNITS[found.group(2)]: int(found.group(1))}) if found.group(1) else timedelta()
        return Variable(NOW, shift)
    if text not in reading.scope.variables:
        known = ", ".join(f"${name}" for name in reading.scope.variables)
        reading.refuse(loc, f"There is no variable ${shown(text)[1:-1]}; there are {known}", "unknown_variable")
        return None
    return Variable(text)


def _comparable(one: Kind, other: Kind) -> bool:
    return Kind.ANY in (one, other) or one is other or {one, other} <= operands.TEXTUAL


def _literal(reading: RuleReading, value: Any, operator: str, kind: Kind, *, loc: Location) -> Any:
    """The typed value of a condition, a tuple for `in`; None, and a violation, where it does not fit."""
    try:
        if operator == "isnull":
            return _typed(value, Kind.BOOLEAN)
        if operator in OF_FIELDS:
            return _searched(value, operator, kind)
        if operator != "in":
            return _ordered(value, kind) if operator in ORDERED else _typed(value, kind)
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_IN:
            raise BadValue(f"must be a list of 1 to {MAX_IN} values")
        return tuple(_typed(each, kind) for each in value)
    except BadValue as error:
        reading.refuse(loc, f"The value {error}")
        return None


def _searched(value: Any, operator: str, kind: Kind) -> Any:
    """The value as a query takes it. Raises BadValue."""
    if value == []:
        raise BadValue("must be a list of at least one value")
    plain = [_plain(each) for each in value] if isinstance(value, list) else _plain(value)
    return getattr(OF_QUERIES[operator].from_json("", kind, plain), "value", None)


def _ordered(value: Any, kind: Kind) -> Any:
    return operands.ordered(_plain(value), kind)


def _typed(value: Any, kind: Kind) -> Any:
    return operands.typed(_plain(value), kind)


def _plain(value: Any) -> Any:
    """A literal as it is meant. Raises BadValue."""
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    if not value.startswith("$$"):
        raise BadValue("must not hold a variable here; $$ stands for a text that begins with $")
    return value[1:]

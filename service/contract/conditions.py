"""The conditions of a collection in JSON Schema: of a query string, and of a body with typed values. Pure.

A name is there where the service takes some value of it, which `query/operators` decides.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from service.bounds import MAX_CONDITIONS
from service.contract.filters import EQUAL, ORDERED, Group, Key, keys_of, operators_of
from service.contract.json_types import TIME, Schema, object_of, ref
from service.contract.model import Entity
from service.query.names import MAX_PATH, NAME
from service.query.operators import OPERATORS
from service.schema.values import BadValue, Kind

# A text of each kind of value; an operator takes a kind where it takes one of them.
SAMPLES = ("1", "true", "2026-01-31", "x")
OWN: Mapping[str, Kind] = {"id": Kind.ID, "created_at": Kind.DATETIME, "updated_at": Kind.DATETIME}
MOMENT = (*EQUAL, *ORDERED, "in", "isnull")
OWN_OPERATORS = {"id": (*EQUAL, "in", "isnull"), "created_at": MOMENT, "updated_at": MOMENT}
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
VALUES: Mapping[Kind, Schema] = {
    Kind.INTEGER: {"type": "integer"},
    Kind.NUMBER: {"type": "number"},
    Kind.BOOLEAN: FLAG,
    Kind.DATETIME: TIME,
    Kind.ANY: {},
}
LISTS = frozenset({"in", "hasall"})
# The characters with a meaning in a regular expression of ECMA; other characters must not be escaped there.
SPECIAL = re.compile(r"[\^$\\.*+?()\[\]{}|/]")


def count_names(entity: Entity) -> int:
    """The number of names in the filters of a collection."""
    return sum(len(operators_taken(kind)) for _, kind in _paths(entity))


def filters_schema(entity: Entity) -> Schema:
    """The conditions of a query string, whose values are text: all names of which the service takes some value."""
    names = {
        f"{path}_{operator}": text_value(operator, kind)
        for path, kind in _paths(entity)
        for operator in operators_taken(kind)
    }
    return _with_patterns(object_of(names, ()), entity) | {"maxProperties": int(MAX_CONDITIONS)}


def where_schema(entity: Entity) -> Schema:
    """The conditions of a body, whose values are typed, and which `and`, `or` and `not` join: the names that types have."""
    own = {
        f"{path}_{operator}": _json_value(operator, OWN[path])
        for path, each in OWN_OPERATORS.items()
        for operator in each
    }
    names = {
        f"{key.path}_{operator}": _json_value(operator, _kind_of(key))
        for key in keys_of(entity.readable)
        for operator in operators_of(key)
    }
    return _with_patterns(object_of(own | names | _logic(entity), ()), entity)


def loose_where(entity: Entity) -> Schema:
    """The conditions where their names are too many to be listed."""
    return object_of(_logic(entity), (), additional=True)


@cache
def operators_taken(kind: Kind) -> tuple[str, ...]:
    """The operators that take some value on a field of this kind."""
    return tuple(name for name in OPERATORS if any(_takes(name, kind, sample) for sample in SAMPLES))


def _takes(operator: str, kind: Kind, sample: str) -> bool:
    try:
        OPERATORS[operator].from_text("path", kind, sample)
    except BadValue:
        return False
    return True


def _paths(entity: Entity) -> Iterator[tuple[str, Kind]]:
    yield from OWN.items()
    for key in keys_of(entity.readable):
        yield key.path, _kind_of(key)


def _kind_of(key: Key) -> Kind:
    """An array that declares no elements may hold anything."""
    return Kind.ANY if key.group is Group.ANY else key.field.kind


def _logic(entity: Entity) -> dict[str, Schema]:
    """The joined conditions; only the `where` at the top may be empty."""
    part = ref(f"{entity.made}Where") | {"minProperties": 1}
    parts = {"type": "array", "items": part, "minItems": 1}
    return {"and": parts, "or": parts, "not": part}


def _with_patterns(schema: Schema, entity: Entity) -> Schema:
    """Paths that follow a relation, and those into what declares no parts, by a pattern of their names.

    The pattern takes any value: makers of types join it with the named ones.
    """
    starts = [*entity.relations]
    starts += [key.inner for key in keys_of(entity.readable) if key.is_open or key.group is Group.ANY]
    if not starts:
        return schema
    begins = "|".join(SPECIAL.sub(r"\\\g<0>", each) for each in starts)
    pattern = rf"^({begins})(\.{NAME}){{1,{MAX_PATH}}}_({'|'.join(OPERATORS)})$"
    return {**schema, "patternProperties": {pattern: {}}}


def text_value(operator: str, kind: Kind) -> Schema:
    """The texts that a condition takes."""
    if operator == "isnull":
        return FLAG
    if operator in ORDERED and kind is Kind.STRING:
        return TIME
    return TEXT if operator not in {*EQUAL, *ORDERED} else VALUES.get(kind) or TEXT


def _json_value(operator: str, kind: Kind) -> Any:
    if operator in LISTS:
        return {"type": "array", "items": VALUES.get(kind, TEXT)}
    if operator == "isnull":
        return FLAG
    if operator in EQUAL:
        return VALUES.get(kind, TEXT)
    if operator not in ORDERED:
        return TEXT
    return VALUES.get(kind, TIME)

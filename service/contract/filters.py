"""The conditions that a typed filter knows: for each path that can be asked for, the operators and the values. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from service.schema.fields import Field, Fields
from service.schema.values import Kind

# The record's own names, which a declared field does not hide: `data.id` is the one inside `data`.
OWN_NAMES = frozenset({"id", "created_at", "updated_at"})

EQUAL, ORDERED, SEARCHED = ("eq", "ne"), ("gt", "gte", "lt", "lte"), ("contains", "icontains", "startswith")


class Group(Enum):
    """Paths that take the same operators."""

    TEXT = "Text"
    NUMBER = "Number"
    TIME = "Time"
    VALUE = "Value"
    NULL = "Null"
    ANY = "Any"


@dataclass(frozen=True, slots=True)
class Key:
    """A path that conditions name. `field` is the definition of its values; `many`: an array holds them.

    `is_open`: every path inside can be asked for as well, at `inner`.
    """

    path: str
    inner: str
    group: Group
    field: Field
    many: bool = False

    @property
    def is_open(self) -> bool:
        return self.group is Group.NULL and self.field.properties is None


GROUPS: Mapping[Kind, Group] = {
    Kind.STRING: Group.TEXT,
    Kind.INTEGER: Group.NUMBER,
    Kind.NUMBER: Group.NUMBER,
    Kind.DATETIME: Group.TIME,
    Kind.BOOLEAN: Group.VALUE,
    Kind.REFERENCE: Group.VALUE,
    Kind.FILE: Group.VALUE,
    Kind.ANY: Group.ANY,
    Kind.ARRAY: Group.ANY,
}


def keys_of(fields: Fields) -> Iterator[Key]:
    """All paths of declared fields, in their order: `title`, and of objects `data.size.width`."""
    for name, field in fields.items():
        inner = f"data.{name}"
        yield from _keys(inner if name in OWN_NAMES else name, inner, field, many=False)


def _keys(path: str, inner: str, field: Field, *, many: bool) -> Iterator[Key]:
    """An array is asked for by its elements."""
    if field.kind is Kind.ARRAY and field.items is not None:
        yield from _keys(path, inner, field.items, many=True)
    elif field.kind is Kind.OBJECT:
        yield Key(path, inner, Group.NULL, field, many)
        for name, each in (field.properties or {}).items():
            yield from _keys(f"{inner}.{name}", f"{inner}.{name}", each, many=many)
    else:
        yield Key(path, inner, Group.VALUE if field.enum is not None else GROUPS[field.kind], field, many)


def operators_of(key: Key) -> Iterator[str]:
    """The operators of typed conditions, in their order."""
    if key.group is Group.ANY:
        yield from (*EQUAL, *ORDERED, *SEARCHED, "in", "hasall", "isnull")
        return
    if key.group is not Group.NULL:
        yield from EQUAL
        yield from ORDERED if key.group in {Group.NUMBER, Group.TIME} else ()
        yield from SEARCHED if key.group is Group.TEXT else ()
        yield "in"
    yield "isnull"
    if key.many and key.group is not Group.NULL:
        yield "hasall"

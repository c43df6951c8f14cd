"""The meaning of a query's names for one kind of record: the place of a field, and the target of a relation.

A shape knows no grammar. A hidden field (`password`, `oauth_id`, `token_version`) has no name there: a name other than
`id`, `email` or a time is looked for inside `data`, which holds no hidden field. So a hidden field is answered like any
field that does not exist, on every hop.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from service.query.nodes import Match, View
from service.query.operators import QueryOperator
from service.query.tree import Tree
from service.schema import fields as declared
from service.schema.values import Kind

# Which fields of `data` hold files is read with them, and never shown.
FILES = "files"
# A name that no record has, for its underscore keeps it out of `data`; fields that are hidden stand in it, each for itself.
NOWHERE = "_absent"
# A dotted path that begins so stays in the record, whatever the record is.
NESTED = frozenset({"data"})


@dataclass(frozen=True, slots=True)
class ShapeField:
    """The place of a field, as a dotted MongoDB path, and the kind of its values.

    `guard` restricts the records on which the field may be seen; on the others, no condition on it holds. `single`: a
    record has at most one value there, which is of this kind, or null. `many`: it has an array of them. `operators` are
    those that the field takes, if these are not the usual ones.
    """

    path: str
    kind: Kind
    guard: Tree = True
    single: bool = False
    many: bool = False
    operators: Mapping[str, QueryOperator] | None = None


ID = ShapeField("_id", Kind.ID, single=True)


def local_of(relation: str) -> str:
    """The path of the id that a relation of undeclared data goes by."""
    return f"data.{relation}_id"


def hidden_field(path: tuple[str, ...]) -> ShapeField:
    """A field that no record has."""
    return ShapeField(".".join((NOWHERE, *path)), Kind.ANY)


class Shape(Protocol):
    """One kind of record: the users of a project, or the documents of one of its collections."""

    @property
    def collection(self) -> str:
        """The MongoDB collection that holds the records."""

    @property
    def listed(self) -> Sequence[str]:
        """The fields read for a list."""

    @property
    def related(self) -> Sequence[str]:
        """The fields shown of a record that another one refers to."""

    @property
    def nested(self) -> frozenset[str]:
        """The names with which a dotted path begins that stays in the record; any other begins with a relation."""

    @property
    def match(self) -> Match:
        """The conditions a record must satisfy to be visible."""

    @property
    def view(self) -> View | None:
        """The function that reduces a record to its visible part; None if all of it may be shown."""

    def names(self) -> Iterable[str]:
        """The names of fields that a refusal may propose: none that is hidden."""

    def field(self, path: tuple[str, ...]) -> ShapeField | None:
        """The field `("email",)`, or `("data", "address", "city")`; None where there is no such field."""

    def sort_field(self, path: tuple[str, ...]) -> ShapeField | None:
        """The same where records can be sorted by it: its values must be there to be seen in all of them."""

    def relation(self, name: str) -> "Shape | None":
        """The shape of the records that a relation leads to; None where there is no such relation."""

    def local(self, name: str) -> str:
        """The path of the id, or of the array of ids, that a relation goes by: `data.<name>_id` for most."""

    def relations(self) -> Sequence[str] | None:
        """The names of all relations; None where any `_id` field may be one."""


class UserShape:
    """Users: four named fields, and free-form `data` in which every `<name>_id` may name another user."""

    collection = "users"
    listed = ("email", "data", FILES, "created_at")
    related = ("email", "data", FILES)
    nested = NESTED
    match = Match()
    view = None
    named: Mapping[str, ShapeField] = {
        "id": ID,
        "email": ShapeField("email", Kind.EMAIL, single=True),
        "created_at": ShapeField("created_at", Kind.DATETIME, single=True),
        "updated_at": ShapeField("updated_at", Kind.DATETIME, single=True),
    }

    def names(self) -> Iterable[str]:
        return self.named

    def field(self, path: tuple[str, ...]) -> ShapeField:
        named = self.named.get(path[0]) if len(path) == 1 else None
        return named or ShapeField(".".join(path if path[0] == "data" and len(path) > 1 else ("data", *path)), Kind.ANY)

    sort_field = field

    def relation(self, name: str) -> "UserShape":  # noqa: ARG002 - any name may be a relation
        return self

    def local(self, name: str) -> str:
        return local_of(name)

    def relations(self) -> None:
        return None


USERS = UserShape()


NAMED = {
    "id": ID,
    "created_at": ShapeField("created_at", Kind.DATETIME, single=True),
    "updated_at": ShapeField("updated_at", Kind.DATETIME, single=True),
}
# Kinds of what may be an array, or have one inside.
LOOSE = frozenset({Kind.OBJECT, Kind.ANY})


class DocumentShape:
    """The documents of one collection. `shapes` finds the shape of another one, or of `users`, by its declared name."""

    listed = ("data", "created_at", "updated_at", "version")
    related = ("data",)
    nested = NESTED
    match = Match()
    view = None

    def __init__(self, collection: str, fields: declared.Fields, shapes: Callable[[str], Shape | None]) -> None:
        self.collection = collection
        self._fields = fields
        self._targets = declared.references(fields)
        self._locals = {declared.relation(name): f"data.{name}" for name in declared.targets(fields)}
        self._shapes = shapes

    def names(self) -> Iterable[str]:
        return (*self._fields, *NAMED)

    def field(self, path: tuple[str, ...]) -> ShapeField | None:
        """A declared field hides none of the record's own: `data.id` is the one inside `data`."""
        if len(path) == 1 and path[0] in NAMED:
            return NAMED[path[0]]
        names = path[1:] if path[0] == "data" and len(path) > 1 else path
        found = _find(self._fields, names)
        if found is None:
            return None
        kind, many = found
        return ShapeField(".".join(("data", *names)), kind, single=not many and kind not in LOOSE, many=many)

    sort_field = field

    def relation(self, name: str) -> Shape | None:
        target = self._targets.get(name)
        return self._shapes(target) if target is not None else None

    def local(self, name: str) -> str:
        return self._locals.get(name) or local_of(name)

    def relations(self) -> tuple[str, ...]:
        return tuple(self._targets)


def _find(fields: declared.Fields, names: tuple[str, ...], *, many: bool = False) -> tuple[Kind, bool] | None:
    """The kind of the values at a path, and True if an array holds them; None if the path is not declared."""
    field = fields.get(names[0])
    return _within(field, names[1:], many=many) if field is not None else None


def _within(field: declared.Field, names: tuple[str, ...], *, many: bool) -> tuple[Kind, bool] | None:
    """An array is asked for by its elements. Inside what declares no parts, a value may be anything."""
    if field.kind is Kind.ARRAY:
        return _within(field.items, names, many=True) if field.items is not None else (Kind.ANY, True)
    if not names:
        return field.kind, many
    if field.properties is not None:
        return _find(field.properties, names, many=many)
    return (Kind.ANY, many) if field.kind in LOOSE else None

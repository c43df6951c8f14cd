"""The names of a query on a collection's documents: what its schema declares, typed, and nothing else."""

from collections.abc import Callable, Iterable

from service.query.nodes import Match
from service.query.shapes import ID, NESTED, Shape, ShapeField
from service.schema import fields as declared
from service.schema.values import Kind

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

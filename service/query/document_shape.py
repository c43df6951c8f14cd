"""The names of a query on a collection's documents: what its schema declares, typed, and nothing else."""

from collections.abc import Callable

from service.query.nodes import Match
from service.query.shapes import ID, Field, Shape
from service.schema import fields as declared
from service.schema.values import Kind

NAMED = {
    "id": ID,
    "created_at": Field("created_at", Kind.DATETIME, single=True),
    "updated_at": Field("updated_at", Kind.DATETIME, single=True),
}


class DocumentShape:
    """The documents of one collection. `shapes` finds the shape of another one, or of `users`, by its declared name."""

    listed = ("data", "created_at", "updated_at", "version")
    related = ("data",)
    match = Match()
    view = None

    def __init__(self, collection: str, fields: declared.Fields, shapes: Callable[[str], Shape | None]) -> None:
        self.collection = collection
        self._fields = fields
        self._targets = declared.references(fields)
        self._shapes = shapes

    def field(self, path: tuple[str, ...]) -> Field | None:
        """A declared field hides none of the record's own: `data.id` is the one inside `data`."""
        if len(path) == 1 and path[0] in NAMED:
            return NAMED[path[0]]
        names = path[1:] if path[0] == "data" and len(path) > 1 else path
        found = _kind(self._fields, names)
        return Field(".".join(("data", *names)), found[0], single=found[1]) if found is not None else None

    sort_field = field

    def relation(self, name: str) -> Shape | None:
        target = self._targets.get(name)
        return self._shapes(target) if target is not None else None

    def relations(self) -> tuple[str, ...]:
        return tuple(self._targets)


def _kind(fields: declared.Fields, names: tuple[str, ...]) -> tuple[Kind, bool] | None:
    """What the values at a path are, and whether there is at most one; None where nothing is declared there."""
    field = fields.get(names[0])
    return _within(field, names[1:]) if field is not None else None


def _within(field: declared.Field, names: tuple[str, ...]) -> tuple[Kind, bool] | None:
    """An array is asked for by its elements. Inside what declares no parts, a value may be anything."""
    if field.kind is Kind.ARRAY:
        found = _within(field.items, names) if field.items is not None else (Kind.ANY, False)
        return found and (found[0], False)
    if not names:
        return field.kind, field.kind not in {Kind.OBJECT, Kind.ANY}
    if field.properties is not None:
        return _kind(field.properties, names)
    return (Kind.ANY, False) if field.kind in {Kind.OBJECT, Kind.ANY} else None

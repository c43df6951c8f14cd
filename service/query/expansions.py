"""Relations to populate, and the chosen fields, of the records and of the related ones."""

from collections.abc import Iterable, Sequence

from service.errors import Violation
from service.query.conditions import describe_no_relation, relation_name
from service.query.names import Path, describe_nearest
from service.query.nodes import EVERY_RELATION, Expansion
from service.query.selection import Selection, select
from service.query.shapes import Shape
from service.schema.strict_json import shown

Paths = Sequence[Path] | None


def bind_expansions(
    populate: Sequence[Path], fields: Paths, shape: Shape, violations: list[Violation]
) -> tuple[Expansion, ...]:
    """The trie of `populate`: a.b and a.c are one expansion of a with two inside."""
    if not populate:
        return ()
    names = dict.fromkeys(path[0] for path in populate)
    if EVERY_RELATION in names:
        return _every(fields, shape, violations)
    found = []
    for name in names:
        target = shape.relation(name)
        if target is None:
            msg = describe_no_relation(name, shape, violations)
            violations.append(Violation(("query", "populate"), msg, "value_error"))
            continue
        inner = [path[1:] for path in populate if path[0] == name and path[1:]]
        found.append(_expansion(name, target, inner, _behind(name, fields, shape), violations))
    return tuple(found)


def _every(fields: Paths, shape: Shape, violations: list[Violation]) -> tuple[Expansion, ...]:
    names = shape.relations()
    if names is None:
        return (_expansion(EVERY_RELATION, shape, (), None, violations),)
    targets = ((name, shape.relation(name)) for name in names)
    return tuple(
        _expansion(name, target, (), _behind(name, fields, shape), violations)
        for name, target in targets
        if target is not None
    )


def _expansion(
    name: str, target: Shape, inner: Sequence[Path], fields: Paths, violations: list[Violation]
) -> Expansion:
    return Expansion(
        name,
        target.collection,
        tuple(target.related),
        bind_expansions(inner, fields, target, violations),
        target.match,
        target.view,
        choose(fields, inner, target, violations),
    )


def _behind(name: str, fields: Paths, shape: Shape) -> Paths:
    """The fields chosen of the records that a relation leads to; None for all of them, if none was chosen."""
    found = [path[1:] for path in fields or () if relation_name(path, shape.nested) == name]
    return found or None


def choose(fields: Paths, populate: Iterable[Path], shape: Shape, violations: list[Violation]) -> Selection | None:
    """The chosen paths in `data` of the records themselves; None for all of it. A populated relation is shown in any
    case.
    """
    if fields is None:
        return None
    names = {path[0] for path in populate}
    if EVERY_RELATION in names:
        names = set(shape.relations() or ())
    chosen = []
    for path in fields:
        if (relation := relation_name(path, shape.nested)) is not None:
            violations += [] if relation in names else [_unpopulated(relation)]
        elif path[0] not in names or len(path) > 1:
            chosen += _data_path(path, shape, violations)
    return select(chosen)


def _data_path(path: Path, shape: Shape, violations: list[Violation]) -> list[Path]:
    """The path of a field in `data`; empty for fields that always come, and for hidden ones."""
    field = shape.field(path)
    if field is None:
        nearest = describe_nearest(path[0], shape.names()) if len(path) == 1 and not violations else ""
        msg = f"There is no such field in this collection: {shown('.'.join(path))}{nearest}"
        violations.append(Violation(("query", "fields"), msg, "value_error"))
    if field is None or not field.path.startswith("data."):
        return []
    return [tuple(field.path.split(".")[1:])]


def _unpopulated(relation: str) -> Violation:
    msg = f"Name the relation {shown(relation)} in populate to choose fields of it"
    return Violation(("query", "fields"), msg, "value_error")

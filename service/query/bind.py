"""ListQuery + Shape → BoundQuery: names get their meaning, texts become values, and what does not fit is refused."""

from collections.abc import Iterable

from service.errors import Invalid, Violation
from service.query.conditions import and_match, bind_where, to_match
from service.query.nodes import EVERY_RELATION, BoundQuery, Expansion, ListQuery, Match, Where
from service.query.shapes import Field, Shape

NO_RELATION = Violation(("query", "populate"), "There is no such relation in this collection", "value_error")


def bind(query: ListQuery, shape: Shape) -> BoundQuery:
    """The query as MongoDB can run it on records of `shape`. Raises Invalid naming all parameters that do not fit."""
    violations: list[Violation] = []
    bound = BoundQuery(
        collection=shape.collection,
        match=_match(query, shape, violations),
        sort=_sort(query, shape, violations),
        limit=query.limit,
        offset=query.offset,
        count=query.count,
        expansions=_expansions(query.populate, shape, violations),
        fields=tuple(shape.listed),
        view=shape.view,
    )
    if violations:
        raise Invalid(violations)
    return bound


def _match(query: ListQuery, shape: Shape, violations: list[Violation]) -> Match:
    """What the filters of the query string demand, and its `where`, of records that the shape has at all."""
    trees = [bind_where(where, shape, violations) for where in (Where(query.conditions), query.where)]
    return and_match(shape.match, to_match(trees))


def _sort(query: ListQuery, shape: Shape, violations: list[Violation]) -> tuple[tuple[str, int], ...]:
    field = _sort_field(query.sort_by, shape)
    if field is None:
        violations.append(Violation(("query", "sort_by"), "Not a field that can be sorted by", "value_error"))
        return ()
    direction = -1 if query.descending else 1
    return ((field.path, direction),) if field.path == "_id" else ((field.path, direction), ("_id", direction))


def _sort_field(path: tuple[str, ...], shape: Shape) -> Field | None:
    return None if len(path) > 1 and path[0] != "data" else shape.sort_field(path)


def _expansions(paths: Iterable[tuple[str, ...]], shape: Shape, violations: list[Violation]) -> tuple[Expansion, ...]:
    """The trie of `paths`: a.b and a.c are one expansion of a with two inside."""
    names = dict.fromkeys(path[0] for path in paths)
    if EVERY_RELATION in names:
        return _every(shape)
    found = []
    for name in names:
        target = shape.relation(name)
        if target is None:
            violations.append(NO_RELATION)
            continue
        inner = _expansions([path[1:] for path in paths if path[0] == name and path[1:]], target, violations)
        found.append(_expansion(name, target, inner))
    return tuple(found)


def _every(shape: Shape) -> tuple[Expansion, ...]:
    names = shape.relations()
    if names is None:
        return (_expansion(EVERY_RELATION, shape),)
    targets = ((name, shape.relation(name)) for name in names)
    return tuple(_expansion(name, target) for name, target in targets if target is not None)


def _expansion(name: str, target: Shape, inner: tuple[Expansion, ...] = ()) -> Expansion:
    return Expansion(name, target.collection, tuple(target.related), inner, target.match, target.view)

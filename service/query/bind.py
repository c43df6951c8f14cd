"""ListQuery + Shape → BoundQuery: names get their meaning, texts become values, and what does not fit is refused."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from service.errors import Invalid, Violation
from service.query.nodes import EVERY_RELATION, BoundQuery, Condition, Expansion, ListQuery, Match, RelationMatch
from service.query.operators import OPERATORS, Filter
from service.query.shapes import Field, Shape
from service.query.tree import Tree
from service.schema.values import BadValue


def bind(query: ListQuery, shape: Shape) -> BoundQuery:
    """The query as MongoDB can run it on records of `shape`. Raises Invalid naming all parameters that do not fit."""
    violations: list[Violation] = []
    bound = BoundQuery(
        collection=shape.collection,
        match=_match(query.conditions, shape, 0, violations),
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


def _match(conditions: Sequence[Condition], shape: Shape, depth: int, violations: list[Violation]) -> Match:
    """`depth` is how many relations were followed to come here: the parts of each path already used."""
    if not conditions:
        return shape.match
    own = [condition for condition in conditions if _relation_name(condition, depth) is None]
    bound = [_filter(condition, shape, depth, violations) for condition in own]
    hops = sorted((c for c in conditions if _relation_name(c, depth) is not None), key=lambda c: c.path[depth])
    relations = (
        _relation_match(name, list(group), shape, depth, violations)
        for name, group in groupby(hops, key=lambda condition: condition.path[depth])
    )
    found = tuple(each for each in relations if each is not None)
    guards = (*(guard for _, guard in bound), *(_guard(each, shape) for each in found))
    filters = tuple(each for each, _ in bound if each is not None)
    return Match(filters, found, (*shape.match.trees, *(guard for guard in guards if guard is not True)))


def _guard(relation: RelationMatch, shape: Shape) -> Tree:
    """Of which records the id of a relation may be seen."""
    field = shape.field(tuple(relation.local.split(".")))
    return field.guard if field is not None else True


def _relation_name(condition: Condition, depth: int) -> str | None:
    rest = condition.path[depth:]
    return rest[0] if len(rest) > 1 and rest[0] != "data" else None


def _filter(condition: Condition, shape: Shape, depth: int, violations: list[Violation]) -> tuple[Filter | None, Tree]:
    """The condition, and of which records its field may be seen at all."""
    field = shape.field(condition.path[depth:])
    if field is None:
        violations.append(
            Violation(("query", condition.parameter), "There is no such field in this collection", "value_error")
        )
        return None, True
    try:
        found = OPERATORS[condition.operator](field.path, field.kind, condition.text)
    except BadValue as error:
        violations.append(Violation(("query", condition.parameter), f"The value {error}", "value_error"))
        return None, True
    return found, field.guard


def _relation_match(
    name: str, conditions: Sequence[Condition], shape: Shape, depth: int, violations: list[Violation]
) -> RelationMatch | None:
    target = shape.relation(name)
    if target is None:
        violations.extend(_no_relation(condition.parameter) for condition in conditions)
        return None
    return RelationMatch(f"data.{name}_id", target.collection, _match(conditions, target, depth + 1, violations))


def _no_relation(parameter: str) -> Violation:
    return Violation(("query", parameter), "There is no such relation in this collection", "value_error")


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
            violations.append(_no_relation("populate"))
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

"""ListQuery + Shape → BoundQuery: names get their meaning, texts become values, and what does not fit is refused.

A shape says what the names mean for one kind of record; it knows no grammar. A hidden field (`password`, `oauth_id`,
`token_version`) has no name there: what is not `id`, `email` or a time is looked for inside `data`, where no hidden field is
kept. So it answers as any field that does not exist, on every hop.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from service.errors import Invalid, Violation
from service.query.nodes import EVERY_RELATION, BoundQuery, Condition, Expansion, ListQuery, Match, RelationMatch, View
from service.query.operators import OPERATORS, Filter
from service.query.tree import Tree
from service.schema.values import BadValue, Kind

# Which fields of `data` hold files is read with them, and never shown.
FILES = "files"


@dataclass(frozen=True, slots=True)
class Field:
    """Where a field is kept, as a dotted MongoDB path, and what its values are.

    `guard` says of which records the field may be seen at all: of the others, no condition on it holds.
    """

    path: str
    kind: Kind
    guard: Tree = True


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
    def match(self) -> Match:
        """What a record must satisfy to be there at all."""

    @property
    def view(self) -> View | None:
        """What may be shown of a record, where that is not all of it."""

    def field(self, path: tuple[str, ...]) -> Field | None:
        """The field `("email",)`, or `("data", "address", "city")`; None where there is no such field."""

    def sort_field(self, path: tuple[str, ...]) -> Field | None:
        """The same where records can be sorted by it: its values must be there to be seen in all of them."""

    def relation(self, name: str) -> "Shape | None":
        """The shape of the records that `data.<name>_id` names; None where there is no such relation."""

    def relations(self) -> Sequence[str] | None:
        """The names of all relations; None where any `_id` field may be one."""


class UserShape:
    """Users: four named fields, and free-form `data` in which every `<name>_id` may name another user."""

    collection = "users"
    listed = ("email", "data", FILES, "created_at")
    related = ("email", "data", FILES)
    match = Match()
    view = None
    _named: Mapping[str, Field] = {
        "id": Field("_id", Kind.ID),
        "email": Field("email", Kind.EMAIL),
        "created_at": Field("created_at", Kind.DATETIME),
        "updated_at": Field("updated_at", Kind.DATETIME),
    }

    def field(self, path: tuple[str, ...]) -> Field:
        named = self._named.get(path[0]) if len(path) == 1 else None
        return named or Field(".".join(path if path[0] == "data" and len(path) > 1 else ("data", *path)), Kind.ANY)

    sort_field = field

    def relation(self, name: str) -> "UserShape":  # noqa: ARG002 - any name may be a relation
        return self

    def relations(self) -> None:
        return None


USERS = UserShape()


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
    filters = (*shape.match.filters, *(each for each, _ in bound if each is not None))
    return Match(filters, found, (*shape.match.trees, *(guard for guard in guards if guard is not True)))


def _guard(relation: RelationMatch, shape: Shape) -> Tree:
    """Of which records the id of a relation may be seen: of none where its name leads to no such field."""
    field = shape.field(tuple(relation.local.split(".")))
    return field is not None and field.path == relation.local and field.guard


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

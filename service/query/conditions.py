"""`Where` + `Shape` → `Tree`: each condition gets its meaning on one kind of record; and the Match that a tree is run as.

The guard of a field restricts the records on which it may be seen; it must hold for negated conditions too.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from service.errors import Violation
from service.query.names import Path
from service.query.nodes import AnyCondition, Condition, Joined, Match, RelationMatch, Where
from service.query.operators import OPERATORS
from service.query.shapes import Shape
from service.query.tree import All, Related, Tree, all_of, any_of, negate
from service.schema.nearest import describe_nearest
from service.schema.values import BadValue

NO_FIELD = "There is no such field in this collection"
NO_RELATION = "There is no such relation in this collection"


def bind_where(where: Where, shape: Shape, violations: list[Violation], *, negated: bool = False) -> Tree:
    """The tree of `where`, or of its complement, for records of `shape`. Faults are added to `violations`.

    Conditions of one object on one relation are of the same related record.
    """
    own = [*_bind_conditions(where.conditions, shape, 0, violations, negated=negated)]
    joined = [_bind_joined(each, shape, violations, negated=negated) for each in where.joined]
    trees = [*own, *joined]
    if len(trees) == 1:
        return trees[0]
    return any_of(trees) if negated else all_of(trees)


def _bind_joined(joined: Joined, shape: Shape, violations: list[Violation], *, negated: bool) -> Tree:
    if joined.word == "not":
        return bind_where(joined.parts[0], shape, violations, negated=not negated)
    parts = [bind_where(part, shape, violations, negated=negated) for part in joined.parts]
    return any_of(parts) if (joined.word == "or") is not negated else all_of(parts)


def _bind_conditions(
    conditions: Sequence[AnyCondition], shape: Shape, depth: int, violations: list[Violation], *, negated: bool
) -> Iterator[Tree]:
    """A tree for each condition on the record itself, and for all that are on one relation.

    `depth` is how many relations were followed to come here: the parts of each path already used.
    """
    hops = []
    for condition in conditions:
        if relation_name(condition.path, shape.nested, depth) is None:
            yield _bind_own(condition, shape, depth, violations, negated=negated)
        else:
            hops.append(condition)
    if not hops:
        return
    hops.sort(key=lambda condition: condition.path[depth])
    for name, group in groupby(hops, key=lambda condition: condition.path[depth]):
        yield _bind_relation(name, list(group), shape, depth, violations, negated=negated)


def relation_name(path: tuple[str, ...], nested: frozenset[str], depth: int = 0) -> str | None:
    """The relation that a path follows next; None where it names a field of the record itself, as `nested` of a shape says."""
    rest = path[depth:]
    return rest[0] if len(rest) > 1 and rest[0] not in nested else None


def _bind_own(condition: AnyCondition, shape: Shape, depth: int, violations: list[Violation], *, negated: bool) -> Tree:
    path = condition.path[depth:]
    field = shape.field(path)
    if field is None:
        violations.append(Violation(condition.place, describe_unknown(path, shape, violations), "value_error"))
        return True
    operator = (field.operators or OPERATORS).get(condition.operator)
    if operator is None:
        known = ", ".join(f"_{name}" for name in field.operators or OPERATORS)
        violations.append(Violation(condition.place, f"This field takes {known} only", "value_error"))
        return True
    try:
        if isinstance(condition, Condition):
            found = operator.from_text(field.path, field.kind, condition.text)
        else:
            found = operator.from_json(field.path, field.kind, condition.value)
    except BadValue as error:
        violations.append(Violation(condition.place, f"The value {error}", "value_error"))
        return True
    found = negate(found) if negated else found
    return found if field.guard is True else all_of((field.guard, found))


def describe_unknown(path: Path, shape: Shape, violations: Sequence[Violation], msg: str = NO_FIELD) -> str:
    """The sentence about a field that there is not; the first one of a refusal proposes the nearest name."""
    return msg if violations or len(path) > 1 else msg + describe_nearest(path[0], shape.names())


def _bind_relation(
    name: str,
    conditions: Sequence[AnyCondition],
    shape: Shape,
    depth: int,
    violations: list[Violation],
    *,
    negated: bool,
) -> Tree:
    target = shape.relation(name)
    if target is None:
        for condition in conditions:
            msg = describe_no_relation(name, shape, violations)
            violations.append(Violation(condition.place, msg, "value_error"))
        return True
    inner = _bind_conditions(conditions, target, depth + 1, violations, negated=False)
    local = shape.local(name)
    tree = all_of((*target.match.trees, *inner))
    found: Tree = tree and Related(local, target.collection, tree)
    return all_of((_guard(local, shape), negate(found) if negated else found))


def describe_no_relation(name: str, shape: Shape, violations: Sequence[Violation]) -> str:
    """Returns the sentence about an unknown relation; the first one of a refusal proposes the nearest name."""
    return NO_RELATION if violations else NO_RELATION + describe_nearest(name, shape.relations() or ())


def _guard(local: str, shape: Shape) -> Tree:
    """The records on which the id of a relation may be seen: none if its name leads to no such field."""
    field = shape.field(tuple(local.split(".")))
    return field is not None and field.path == local and field.guard


def to_match(trees: Sequence[Tree]) -> Match:
    """The conjunction of the trees.

    Relations that must be satisfied stand apart: their ids are listed, or records looked up.
    """
    relations: list[RelationMatch] = []
    rest: list[Tree] = []
    for tree in trees:
        for part in tree.parts if isinstance(tree, All) else () if tree is True else (tree,):
            if isinstance(part, Related) and not part.negated:
                relations.append(_to_relation(part))
            else:
                rest.append(part)
    return Match(relations=tuple(relations), trees=tuple(rest))


def _to_relation(related: Related) -> RelationMatch:
    return RelationMatch(related.local, related.collection, to_match((related.tree,)))


def and_match(match: Match, more: Match) -> Match:
    return Match(match.filters, (*match.relations, *more.relations), (*match.trees, *more.trees))

"""Conditions joined by and, or and not, on one kind of record: as values, and as the filter that MongoDB runs.

A tree is true, false, a leaf, or trees joined. Negation stands at the leaves only, so that a leaf that must never hold is
simply false, under whatever `not` it was written.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Filter = dict[str, Any]


class Node:
    """A part of a tree, besides true and false. A leaf has `negated`."""

    __slots__ = ()


Tree = bool | Node


@dataclass(frozen=True, slots=True)
class Leaf(Node):
    """One condition on the field at a dotted MongoDB path. `value` is typed: a tuple for `in`, a boolean for `isnull`.

    `same`, which no query says, takes any value but null: the field is just that, where for `eq` an element is enough.
    """

    path: str
    operator: str
    value: Any
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Related(Node):
    """True if the id at `local` names a record of `collection` that satisfies `tree`."""

    local: str
    collection: str
    tree: Tree
    negated: bool = False


@dataclass(frozen=True, slots=True)
class All(Node):
    """Holds where all of at least two parts do."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Node):
    """Holds where one of at least two parts does."""

    parts: tuple[Tree, ...]


def all_of(trees: Iterable[Tree]) -> Tree:
    """True for no trees; a part that is false makes all of it false."""
    return _joined(trees, All, neutral=True)


def any_of(trees: Iterable[Tree]) -> Tree:
    """False for no trees; a part that is true makes all of it true."""
    return _joined(trees, AnyOf, neutral=False)


def _joined(trees: Iterable[Tree], kind: type[All] | type[AnyOf], *, neutral: bool) -> Tree:
    parts: list[Tree] = []
    for tree in trees:
        if isinstance(tree, bool):
            if tree is not neutral:
                return tree
        else:
            parts += tree.parts if isinstance(tree, All | AnyOf) and isinstance(tree, kind) else (tree,)
    if not parts:
        return neutral
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def negate(tree: Tree) -> Tree:
    """The exact complement: it holds where `tree` does not, also where a field is absent."""
    match tree:
        case bool():
            return not tree
        case All(parts):
            return any_of(map(negate, parts))
        case AnyOf(parts):
            return all_of(map(negate, parts))
    return replace(tree, negated=not tree.negated)  # type: ignore[type-var, attr-defined]


def leaves(tree: Tree) -> Iterable[Node]:
    """The leaves of `tree` itself; conditions on a related record belong to its relation."""
    match tree:
        case bool():
            return
        case All(parts) | AnyOf(parts):
            for part in parts:
                yield from leaves(part)
        case _:
            yield tree


def has_relations(tree: Tree) -> bool:
    return not isinstance(tree, Leaf) and any(isinstance(leaf, Related) for leaf in leaves(tree))


def at_path(tree: Tree, path: str) -> Tree:
    """`tree` of the object at a dotted path, for a tree without relations."""
    match tree:
        case Leaf():
            return replace(tree, path=f"{path}.{tree.path}")
        case All(parts) | AnyOf(parts):
            return type(tree)(tuple(at_path(part, path) for part in parts))
    return tree


def to_filter(tree: Tree) -> Filter:
    """The filter of a tree without relations. MongoDB finds nothing by that of a false one."""
    if isinstance(tree, Leaf):
        expression = EXPRESSIONS[tree.operator](tree.value)
        return {tree.path: {"$not": expression} if tree.negated else expression}
    match tree:
        case bool():
            return {} if tree else {"$alwaysFalse": 1}
        case All(parts):
            return {"$and": [to_filter(part) for part in parts]}
        case AnyOf(parts):
            return {"$or": [to_filter(part) for part in parts]}
    raise TypeError(f"{tree!r} is no condition on one record")


# MongoDB's `null` also matches an array that holds a null; a field with an array in it is not null.
NULL: Filter = {"$eq": None, "$not": {"$type": "array"}}


def escape(text: str) -> str:
    """`text` as a pattern that matches just itself (PCRE gives no letter or digit a meaning without a backslash)."""
    return re.sub(r"([\\^$.|?*+()\[\]{}#\-/\s])", r"\\\1", text)


EXPRESSIONS: Mapping[str, Any] = {
    "eq": lambda value: {"$eq": value},
    # An array that has `value` as an element is not `value`.
    "same": lambda value: {"$eq": value, "$not": {"$elemMatch": {"$eq": value}}},
    "ne": lambda value: {"$ne": value},
    "gt": lambda value: {"$gt": value},
    "gte": lambda value: {"$gte": value},
    "lt": lambda value: {"$lt": value},
    "lte": lambda value: {"$lte": value},
    "in": lambda values: {"$in": list(values)},
    "nin": lambda values: {"$nin": list(values)},
    # Nothing has all of no values.
    "hasall": lambda values: {"$all": list(values)},
    "contains": lambda text: {"$regex": escape(text), "$options": ""},
    "icontains": lambda text: {"$regex": escape(text), "$options": "i"},
    "pattern": lambda pattern: {"$regex": pattern[0], "$options": pattern[1]},
    # An index is read from the first text that begins so to the last.
    "startswith": lambda text: {"$regex": f"^{escape(text)}", "$options": ""},
    "isnull": lambda wanted: NULL if wanted else {"$not": NULL},
}

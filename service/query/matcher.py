"""Judges records in memory one at a time, as MongoDB would, without asking it.

To judge many records by one tree, or one record by many, `closures` and `reading` do each part of the work once.
"""

from collections.abc import Callable
from typing import Any

from service.query.closures import compile_tree
from service.query.reading import ABSENT, Reading, Record
from service.query.tree import All, AnyOf, Node, Tree, all_of, any_of


def matches(tree: Tree, record: Record) -> bool:
    """True if `record`, as it is stored, satisfies `tree`, which has no relations."""
    return tree if isinstance(tree, bool) else compile_tree(tree)(Reading(record))


def decide(tree: Tree, judge: Callable[[Node], Tree]) -> Tree:
    """`tree` with each leaf replaced by what `judge` makes of it."""
    match tree:
        case bool():
            return tree
        case All(parts):
            return all_of(decide(part, judge) for part in parts)
        case AnyOf(parts):
            return any_of(decide(part, judge) for part in parts)
    return judge(tree)


def values_at(record: Record, path: str) -> list[Any]:
    """The values that a condition on `path` compares: those there, and the elements of those that are arrays."""
    return [value for value in Reading(record).at(path).each() if value is not ABSENT]

"""Trees made into functions, for those that judge many records: the same meaning as `matcher.matches`, and as the filter.

`tests/query/test_matcher.py` and `scripts/fuzz matcher` compare all three on random records and conditions.
"""

from collections.abc import Callable
from typing import Any

from service.query.matcher import OPERATORS, Record, values_found
from service.query.tree import All, AnyOf, Leaf, Tree

Judge = Callable[[Record], bool]


def compile_tree(tree: Tree) -> Judge:
    """Whether a record, as it is stored, satisfies `tree`, which has no relations."""
    match tree:
        case bool():
            return _always if tree else _never
        case All(parts):
            return _all(tuple(map(compile_tree, parts)))
        case AnyOf(parts):
            return _any(tuple(map(compile_tree, parts)))
        case Leaf():
            return _leaf(tree)
    raise TypeError("a relation cannot be judged by the record alone")


def _always(_record: Record) -> bool:
    return True


def _never(_record: Record) -> bool:
    return False


def _all(judges: tuple[Judge, ...]) -> Judge:
    def judge(record: Record) -> bool:
        return all(each(record) for each in judges)

    return judge


def _any(judges: tuple[Judge, ...]) -> Judge:
    def judge(record: Record) -> bool:
        return any(each(record) for each in judges)

    return judge


def _leaf(leaf: Leaf) -> Judge:
    path, holds, value, negated = leaf.path.split("."), OPERATORS[leaf.operator], leaf.value, leaf.negated

    def judge(record: Record) -> bool:
        return holds(_find(record, path), value) is not negated

    return judge


def _find(record: Record, path: list[str]) -> list[Any]:
    """What stands at `path`. Most records have objects on the way to it, and nothing else; all others take the long way."""
    value: Any = record
    for name in path:
        if type(value) is not dict or name not in value:
            return values_found(record, path)
        value = value[name]
    return [value]

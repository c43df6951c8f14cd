"""Trees found by the values that a record has: only those that it may satisfy are judged. Pure.

The anchor of a tree is a set of equalities, of which each record that satisfies the tree has one.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from service.query.reading import Reading, find_bracket
from service.query.tree import All, AnyOf, Leaf, Tree

# A path, the bracket of a value, and the value. To Python 1 and true are one value; their brackets are not.
Equality = tuple[str, str, Any]
Anchor = frozenset[Equality]
T = TypeVar("T", bound=Hashable)


def find_anchor(tree: Tree) -> Anchor | None:
    """None if no set of equalities covers all records that satisfy the tree."""
    match tree:
        case Leaf(path, "eq", value, negated=False):
            return _equalities(path, (value,))
        case Leaf(path, "in", values, negated=False):
            return _equalities(path, values)
        case Leaf(path, "hasall", [value, *_], negated=False):
            return _equalities(path, (value,))
        case All(parts):
            found = [anchor for part in parts if (anchor := find_anchor(part)) is not None]
            return min(found, key=_weigh, default=None)
        case AnyOf(parts):
            anchors = [find_anchor(part) for part in parts]
            return None if None in anchors else frozenset[Equality]().union(*filter(None, anchors))
        case False:
            return frozenset()
    return None


def _equalities(path: str, values: Iterable[Any]) -> Anchor:
    """No record is equal to a value of no bracket."""
    brackets = ((find_bracket(type(value)), value) for value in values)
    return frozenset((path, bracket, value) for bracket, value in brackets if bracket is not None)


def _weigh(anchor: Anchor) -> tuple[int, int]:
    """Half of all records have a boolean; else the fewer values, the fewer records."""
    return sum(bracket == "boolean" for _, bracket, _ in anchor), len(anchor)


class AnchorIndex(Generic[T]):
    """Items by their anchors; those without one are found by every record."""

    def __init__(self) -> None:
        self._by_path: dict[str, dict[str, dict[Any, set[T]]]] = {}
        self._others: set[T] = set()

    def add(self, anchor: Anchor | None, item: T) -> None:
        if anchor is None:
            self._others.add(item)
        for path, bracket, value in anchor or ():
            self._by_path.setdefault(path, {}).setdefault(bracket, {}).setdefault(value, set()).add(item)

    def discard(self, anchor: Anchor | None, item: T) -> None:
        """`anchor` is that with which the item was added. Nothing is left of it."""
        self._others.discard(item)
        for path, bracket, value in anchor or ():
            by_bracket = self._by_path[path]
            holders = by_bracket[bracket][value]
            holders.discard(item)
            if not holders:
                del by_bracket[bracket][value]
            if not by_bracket[bracket]:
                del by_bracket[bracket]
            if not by_bracket:
                del self._by_path[path]

    def find(self, readings: Collection[Reading]) -> Iterator[Iterable[T]]:
        """The items that one of the readings may satisfy, path by path; one may come more than once."""
        yield list(self._others)
        for path, index in list(self._by_path.items()):
            for reading in readings:
                for holders in reading.at(path).look_up(index):
                    yield list(holders)
            yield ()

"""The sources of sets' values: finds the subscriptions that a write there may concern.

Each condition of a set is judged once for all subscriptions that are bound to it, and only if the record has one of the
values that it looks for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import thread_time
from typing import Generic, TypeVar

from service.domain.realtime.channels import Images
from service.query.anchors import AnchorIndex, find_anchor
from service.query.closures import compile_tree, find_searches
from service.query.reading import Reading
from service.query.tree import Tree
from service.storage.change_feed import Namespace, RecordChange

F = TypeVar("F")
# CPU of judging one moment. Past it all subscriptions of the source count as concerned: rights are never late.
JUDGE_SECONDS = 0.02
# Conditions that are judged between two looks at the clock.
BETWEEN_LOOKS = 64


@dataclass(frozen=True, slots=True, eq=False)
class WatchedSet:
    """The collection that a set is taken from, and the condition on its records. Equal conditions have one `key`."""

    namespace: Namespace
    tree: Tree
    key: str


class _Condition(Generic[F]):
    """The condition of a set, and those who are bound to it."""

    __slots__ = ("_judge", "_searches", "anchor", "followers", "key")

    def __init__(self, watched: WatchedSet) -> None:
        self.key = watched.key
        self.followers: set[F] = set()
        self.anchor = find_anchor(watched.tree)
        self._judge = compile_tree(watched.tree)
        self._searches = find_searches(watched.tree)

    def may_hold(self, reading: Reading) -> bool:
        """True if the condition holds, or if long texts would have to be searched to decide."""
        return any(reading.at(path).is_long for path, _ in self._searches) or self._judge(reading)


class SetSource(Generic[F]):
    """One collection that sets are taken from. A moment is judged for at most `judge_seconds` of CPU."""

    def __init__(self, judge_seconds: float = JUDGE_SECONDS) -> None:
        self._judge_seconds = judge_seconds
        self._conditions: dict[str, _Condition[F]] = {}
        self._index = AnchorIndex[_Condition[F]]()
        # Subscriptions that are bound for the first time, maybe by older values.
        self._unbound: set[F] = set()

    def __bool__(self) -> bool:
        return bool(self._conditions)

    def watch(self, watched: WatchedSet, follower: F, *, is_bound: bool) -> None:
        condition = self._conditions.get(watched.key)
        if condition is None:
            condition = self._conditions[watched.key] = _Condition(watched)
            self._index.add(condition.anchor, condition)
        condition.followers.add(follower)
        if not is_bound:
            self._unbound.add(follower)

    def unwatch(self, watched: WatchedSet, follower: F) -> None:
        self._unbound.discard(follower)
        condition = self._conditions.get(watched.key)
        if condition is None:
            return
        condition.followers.discard(follower)
        if not condition.followers:
            del self._conditions[watched.key]
            self._index.discard(condition.anchor, condition)

    def find_concerned(self, changes: Iterable[RecordChange]) -> set[F]:
        """The subscriptions whose sets may have other values now: all, if an image of the record is unknown."""
        found, ends = set[_Condition[F]](), thread_time() + self._judge_seconds
        for number, (condition, images) in enumerate(self._find_pairs(changes)):
            if images.missing is not None or (number % BETWEEN_LOOKS == 0 and thread_time() > ends):
                found = set(self._conditions.values())
                break
            if condition not in found and any(map(condition.may_hold, images.readings)):
                found.add(condition)
        return self._unbound.union(*(condition.followers for condition in found))

    def _find_pairs(self, changes: Iterable[RecordChange]) -> Iterator[tuple[_Condition[F], Images]]:
        """The changes, each with the conditions that may hold of the record before it or after it."""
        for change in changes:
            images = Images(change)
            if images.missing is not None:
                yield from ((condition, images) for condition in self._conditions.values())
            for conditions in self._index.find(images.readings):
                yield from ((condition, images) for condition in conditions)

"""Rows V1 and V15: subscriptions times conditions times values, in short steps of the loop and in bounded memory."""

import asyncio
import gc
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest
from bson import CodecOptions, encode

from service.bounds import MAX_BACKLOG_BYTES
from service.domain.realtime.backlog import STEP_SECONDS as TURN_SECONDS
from service.domain.realtime.backlog import Backlog
from service.domain.realtime.channels import TOO_LARGE, Channel, ChannelIndex, Images
from service.domain.realtime.forms import FORM_OF_DOCUMENTS
from service.domain.realtime.sources import JUDGE_SECONDS, SetSource, WatchedSet
from service.query.tree import Leaf, Tree, all_of, any_of
from service.schema.steps import Steps
from service.storage.changes import Encoded, RecordChange

CHANNELS, LEAVES, VALUES = 1_000, 50, 50_000
NAMESPACE = ("p", "c_things")
# The CPU of one step: row V1.
STEP_SECONDS = 0.05


class Follower:
    """A subscription that notes its frames."""

    def __init__(self) -> None:
        self.told: list[tuple[int, bytes]] = []
        self.resyncs: list[str] = []

    def deliver(self, at: int, changes: bytes) -> bool:
        self.told.append((at, changes))
        return True

    def resync(self, reason: str) -> None:
        self.resyncs.append(reason)


def record_of(**data: Any) -> dict[str, Any]:
    return {"_id": "d" * 24, "data": data}


def change_of(after: dict[str, Any] | None, before: dict[str, Any] | None = None) -> RecordChange:
    return RecordChange(NAMESPACE, "d" * 24, before, after)


def follow(trees: Iterable[Tree]) -> tuple[ChannelIndex, list[Follower]]:
    index, followers = ChannelIndex(), list[Follower]()
    for number, tree in enumerate(trees):
        follower = Follower()
        index.join(Channel(str(number), tree, FORM_OF_DOCUMENTS, None, None), follower)
        followers.append(follower)
    return index, followers


def trees_of(leaf: Callable[[int], Leaf], channels: int = CHANNELS) -> Iterator[Tree]:
    for number in range(channels):
        yield any_of(leaf(number * LEAVES + each) for each in range(LEAVES))


@pytest.fixture(autouse=True)
def _no_collection_of_garbage() -> Iterator[None]:
    """It goes through all that the suite holds, and would count as a step's time."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def longest_step(steps: Steps[bool]) -> float:
    """CPU seconds of the longest of them."""
    longest, started = 0.0, time.thread_time()
    for _ in steps:
        longest, started = max(longest, time.thread_time() - started), time.thread_time()
    return max(longest, time.thread_time() - started)


NUMBERS = list(range(VALUES))
OBJECTS = [{f"x{number % 100}": number} for number in range(VALUES // 2)]
LAST = CHANNELS * LEAVES - 1
# The values, and the leaf of a number: that of LAST holds, and no other.
SHAPES: dict[str, tuple[Any, Callable[[int], Leaf]]] = {
    "eq": ([*NUMBERS, f"x{LAST}"], lambda number: Leaf("data.a", "eq", f"x{number}")),
    "in": ([*NUMBERS, f"x{LAST}"], lambda number: Leaf("data.a", "in", (f"x{number}", f"y{number}"))),
    "nin": (NUMBERS, lambda number: Leaf("data.a", "nin", ("x" if number == LAST else 7, f"x{number}"))),
    "gt": (NUMBERS[:10_001], lambda number: Leaf("data.a", "gt", 9_999 if number == LAST else 10_000)),
    "hasall": ([*NUMBERS, f"x{LAST}"], lambda number: Leaf("data.a", "hasall", (7, f"x{number}"))),
    "isnull": (NUMBERS, lambda number: Leaf("data.a", "isnull", number != LAST)),
    "startswith": ([*map(str, NUMBERS), f"x{LAST}."], lambda number: Leaf("data.a", "startswith", f"x{number}.")),
    "distinct paths": ([*OBJECTS, {f"y{LAST}": 1}], lambda number: Leaf(f"data.a.y{number}", "eq", 1)),
    "distinct paths, startswith": (
        [{f"y{LAST}": ["z1"]}, *OBJECTS],
        lambda number: Leaf(f"data.a.y{number}", "startswith", "z"),
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_v1_each_step_of_telling_a_thousand_channels_is_short(shape: str) -> None:
    values, leaf = SHAPES[shape]
    index, followers = follow(trees_of(leaf))
    before, after = record_of(a=values, n=1), record_of(a=values, n=2)
    started = time.thread_time()
    assert longest_step(index.tell(1, [change_of(before)])) < STEP_SECONDS
    assert longest_step(index.tell(2, [change_of(after, before)])) < STEP_SECONDS
    assert time.thread_time() - started < 2
    assert [json.loads(changes)["op"] for _, changes in followers.pop().told] == ["enter", "change"]
    assert not any(follower.told for follower in followers)


def test_v1_searches_in_a_long_text_are_a_step_each() -> None:
    text = "y" * 1_000_000 + "x"
    index, followers = follow(search_trees())
    assert longest_step(index.tell(1, [change_of(record_of(a=f"{text}{10 * LEAVES - 1}."))])) < STEP_SECONDS
    assert [len(follower.told) for follower in followers] == [0] * 9 + [1]


def test_v1_only_channels_whose_values_a_record_has_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[Channel] = []
    read = Channel.read

    def reading(self: Channel, images: Images) -> bytes | None:
        judged.append(self)
        return read(self, images)

    monkeypatch.setattr(Channel, "read", reading)
    rooms = [
        any_of((Leaf("data.room", "eq", f"r{number}"), all_of((Leaf("data.n", "eq", number), Leaf("data.b", "gt", 0)))))
        for number in range(100)
    ]
    index, followers = follow(rooms)
    for _ in index.tell(
        1, [change_of(record_of(room="r7", n=8, b=1)), change_of(record_of(room=["r9", "r9"], n=True))]
    ):
        pass
    assert [number for number, follower in enumerate(followers) if follower.told] == [7, 8, 9]
    assert len(judged) == 3


class Stage:
    """A backlog whose collections each have followers of all records."""

    def __init__(self, trees: Iterable[Tree] = (True,), **bounds: Any) -> None:
        self.index, self.followers = follow(trees)
        self.other, (self.bystander,) = follow((True,))
        self.backlog = Backlog(lambda _namespace: self.index.resync(TOO_LARGE), **bounds)

    def write(self, at: int, *changes: RecordChange) -> None:
        self.backlog.tell(NAMESPACE, at, self.index.tell(at, changes), changes)

    def write_slowly(self, at: int, *changes: RecordChange) -> None:
        """The first step outlasts a turn, on a fast machine too."""

        def steps() -> Steps[bool]:
            time.sleep(2 * TURN_SECONDS)
            yield
            return (yield from self.index.tell(at, changes))

        self.backlog.tell(NAMESPACE, at, steps(), changes)

    def write_elsewhere(self, at: int, project: str = "q") -> None:
        changes = [change_of(record_of())]
        self.backlog.tell((project, "c_things"), at, self.other.tell(at, changes), changes)

    async def settle(self) -> float:
        """Waits until nothing waits any more; the CPU seconds of the longest turn."""
        longest, started = 0.0, time.thread_time()
        while self.backlog.find_first(NAMESPACE) is not None:
            await asyncio.sleep(0)
            longest, started = max(longest, time.thread_time() - started), time.thread_time()
        return longest


def search_trees(channels: int = 10) -> Iterator[Tree]:
    return trees_of(lambda number: Leaf("data.a", "contains", f"x{number}."), channels)


async def test_v1_moments_of_a_collection_wait_in_order_and_others_do_not() -> None:
    stage = Stage([*search_trees(), True])
    for at in (1, 2, 3):
        stage.write_slowly(at, change_of(record_of(a=f"yx{at}.")))
    stage.write_elsewhere(4)
    assert [at for at, _ in stage.bystander.told] == [4]
    assert stage.followers[-1].told == []
    assert stage.backlog.find_first(NAMESPACE) == 1
    await stage.settle()
    assert [at for at, _ in stage.followers[-1].told] == [1, 2, 3]
    assert [at for at, _ in stage.followers[0].told] == [1, 2, 3]
    assert stage.followers[1].told == []


async def test_v1_projects_have_their_turns_by_turns() -> None:
    """Two collections of one project have half of the turns, and not two thirds."""
    stage = Stage()
    taken: list[str] = []

    def steps(name: str) -> Steps[bool]:
        for _ in range(4):
            taken.append(name)
            started = time.monotonic()
            while time.monotonic() - started < TURN_SECONDS:
                pass
            yield
        return True

    for namespace in (("p", "c_1"), ("p", "c_2"), ("q", "c_1")):
        stage.backlog.tell(namespace, 1, steps(f"{namespace[0]}{namespace[1]}"), [])
    while len(taken) < 12:  # noqa: ASYNC110 - each turn of the loop is one of theirs
        await asyncio.sleep(0)
    assert taken[3:9] == ["pc_1", "qc_1", "pc_2", "qc_1", "pc_1", "qc_1"]


async def test_v1_two_hundred_large_writes_are_told_or_begin_again_within_bytes() -> None:
    stage = Stage(search_trees(1), most_bytes=MAX_BACKLOG_BYTES // 4)
    image = Encoded(encode(record_of(a="y" * 1_000_000)), CodecOptions())
    stage.write_slowly(1, change_of(record_of()))
    for at in range(2, 201):
        stage.write(at, RecordChange(NAMESPACE, "d", image, image))
        assert stage.backlog.size <= MAX_BACKLOG_BYTES // 4
    assert await stage.settle() < STEP_SECONDS
    assert all(TOO_LARGE in follower.resyncs for follower in stage.followers)


async def test_v1_a_collection_that_is_too_far_behind_begins_again() -> None:
    stage = Stage([*search_trees(), True], most_seconds=0.05)
    for at in (1, 2):
        stage.write_slowly(at, change_of(record_of(a="y")))
    time.sleep(0.06)  # noqa: ASYNC251 - the loop takes no turn meanwhile
    await stage.settle()
    assert [follower.resyncs for follower in stage.followers] == [[TOO_LARGE]] * 11
    stage.write(3, change_of(record_of(a=f"x{7 * LEAVES}.")))
    await stage.settle()
    assert [at for at, _ in stage.followers[7].told] == [3]


async def test_v1_steps_that_fail_make_the_collection_begin_again() -> None:
    stage = Stage()

    def steps() -> Steps[bool]:
        time.sleep(2 * TURN_SECONDS)
        yield
        raise ValueError

    stage.backlog.tell(NAMESPACE, 1, steps(), [])
    await stage.settle()
    assert stage.followers[0].resyncs == [TOO_LARGE]


def watch(conditions: Sequence[Tree], judge_seconds: float = JUDGE_SECONDS) -> SetSource[int]:
    source = SetSource[int](judge_seconds)
    for number, tree in enumerate(conditions):
        source.watch(WatchedSet(NAMESPACE, tree, repr(tree)), number, is_bound=True)
    return source


MEMBER = record_of(list=[*range(45_000), "u7"], room="r")


@pytest.mark.parametrize("followers", [100, 10_000])
def test_v15_a_write_to_the_source_of_a_set_is_judged_by_index(followers: int) -> None:
    source = watch([Leaf("data.list", "eq", f"u{number}") for number in range(followers)])
    started = time.thread_time()
    assert source.find_concerned([change_of(record_of(list=["u7", "u8"]))]) == {7, 8}
    assert time.thread_time() - started < 0.005
    assert source.find_concerned([change_of(MEMBER)]) == {7}
    assert source.find_concerned([change_of(MEMBER, record_of(list="u9"))]) == {7, 9}


def test_v15_equal_conditions_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source = watch([Leaf("data.n", "gt", 1)] * 10_000)
    started = time.thread_time()
    assert len(source.find_concerned([change_of(record_of(n=2))])) == 10_000
    assert source.find_concerned([change_of(record_of(n=1))]) == set()
    assert time.thread_time() - started < 0.005


def test_v15_judging_of_many_conditions_ends_at_its_time() -> None:
    slow = [Leaf(f"data.x{number}", "gt", 0) for number in range(LEAVES)]
    source = watch([any_of((*slow, Leaf("data.n", "gt", number))) for number in range(5_000)])
    started = time.thread_time()
    source.find_concerned([change_of(record_of(n=0))])
    assert time.thread_time() - started < JUDGE_SECONDS + STEP_SECONDS / 2


def test_v15_what_takes_too_long_to_judge_concerns_all() -> None:
    """Rights are looked at again too often rather than too late."""
    source = watch([Leaf("data.n", "gt", number) for number in range(100)], judge_seconds=0.0)
    assert source.find_concerned([change_of(record_of(n=0))]) == set(range(100))
    searched = watch([Leaf("data.a", "contains", "x"), Leaf("data.b", "contains", "x"), Leaf("data.n", "eq", 1)])
    assert searched.find_concerned([change_of(record_of(a="y" * 1_000_000, b="y"))]) == {0}


def test_v15_a_change_without_images_and_a_first_binding_concern_all() -> None:
    source = watch([Leaf("data.list", "eq", "u1"), Leaf("data.list", "eq", "u2")])
    assert source.find_concerned([RecordChange(NAMESPACE, "d", None, None, is_complete=False)]) == {0, 1}
    watched = WatchedSet(NAMESPACE, Leaf("data.list", "eq", "u3"), "u3")
    source.watch(watched, 3, is_bound=False)
    assert source.find_concerned([change_of(record_of(list="u1"))]) == {0, 3}
    source.unwatch(watched, 3)
    assert source.find_concerned([change_of(record_of(list=["u1", "u3"]))]) == {0}

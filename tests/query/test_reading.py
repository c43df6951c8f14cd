"""One reading of a record serves any number of conditions: values and conditions add up, and do not multiply."""

import re
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from service.query.closures import compile_tree
from service.query.matcher import matches, values_at
from service.query.reading import Reading, fold
from service.query.tree import Leaf, any_of

VALUES = 20_000
TREES, LEAVES = 100, 48
NUMBERS = list(range(VALUES))
TEXTS = [f"text {number}" for number in NUMBERS]
OBJECTS = [{f"x{number % 100}": number} for number in range(VALUES // 2)]

# For each: the values at `data.a`, and the leaf of a number, which does not hold of them.
SHAPES: dict[str, tuple[list[Any], Callable[[int], Leaf]]] = {
    "eq": (NUMBERS, lambda number: Leaf("data.a", "eq", f"x{number}")),
    "ne": (NUMBERS, lambda number: Leaf("data.a", "ne", number)),
    "in": (TEXTS, lambda number: Leaf("data.a", "in", tuple(f"x{number}_{each}" for each in range(20)))),
    "nin": (TEXTS, lambda number: Leaf("data.a", "nin", (TEXTS[number], "x"))),
    "hasall": (TEXTS, lambda number: Leaf("data.a", "hasall", (TEXTS[number], f"x{number}"))),
    "gt": (NUMBERS, lambda number: Leaf("data.a", "gt", VALUES + number)),
    "lte": (NUMBERS, lambda number: Leaf("data.a", "lte", -1 - number)),
    "gt a text": (TEXTS, lambda number: Leaf("data.a", "gt", f"z{number}")),
    "isnull": (NUMBERS, lambda _number: Leaf("data.a", "isnull", True)),
    "startswith": (TEXTS, lambda number: Leaf("data.a", "startswith", f"x{number}")),
    "a name in each object": (OBJECTS, lambda number: Leaf(f"data.a.x{number % 100}", "eq", -1 - number)),
    "a name in no object": (OBJECTS, lambda number: Leaf(f"data.a.y{number}", "isnull", False)),
    "names below": (OBJECTS, lambda number: Leaf(f"data.a.x{number % 100}.y{number}", "eq", 1)),
    "equal hashes": (
        [each << 44 for each in NUMBERS],
        lambda number: Leaf("data.a", "eq", (VALUES + number) << 42 | 1),
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_v1_values_and_conditions_add_up(shape: str) -> None:
    """Leaf by leaf over all values, each of these takes longer than ten seconds."""
    values, leaf = SHAPES[shape]
    judges = [compile_tree(any_of(leaf(number * LEAVES + each) for each in range(LEAVES))) for number in range(TREES)]
    reading = Reading({"_id": "x", "data": {"a": values}})
    started = time.thread_time()
    assert not any(judge(reading) for judge in judges)
    assert time.thread_time() - started < 1


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("data.a", [[{"b": [1, 2]}, {}, 3], {"b": [1, 2]}, {}, 3]),
        ("data.a.b", [[1, 2], 1, 2]),
        ("data.c", []),
        ("data.a.b.c", []),
        ("data.d.e", [None]),
    ],
)
def test_the_values_that_a_condition_compares(path: str, found: list[Any]) -> None:
    assert values_at({"data": {"a": [{"b": [1, 2]}, {}, 3], "d": {"e": None}}}, path) == found


def test_texts_that_are_searched_together_do_not_run_into_each_other() -> None:
    record = {"data": {"a": ["one", "two", 3]}}
    assert matches(Leaf("data.a", "contains", "ne"), record)
    assert not matches(Leaf("data.a", "contains", "onetwo"), record)
    assert not matches(Leaf("data.a", "icontains", "ETW"), record)
    assert not matches(Leaf("data.a", "startswith", "wo"), record)


def test_texts_are_folded_as_patterns_compare_letters() -> None:
    """For each letter, the one that it is folded to and those of which the other case is the same."""
    for number in range(sys.maxunicode + 1):
        letter = chr(number)
        folded = fold(letter)
        assert len(folded) == 1
        others = {folded, *letter.lower(), *letter.upper(), *letter.swapcase()} - {letter}
        # Most letters have no case; to compile a pattern for each of them would take ten seconds.
        if others:
            pattern = re.compile(re.escape(letter), re.IGNORECASE)
            assert all((fold(other) == folded) == bool(pattern.fullmatch(other)) for other in others), hex(number)


def test_searches_in_any_case_add_up_with_the_text() -> None:
    reading = Reading({"data": {"t": "a" * 1_000_000 + "é"}})
    tree = any_of(Leaf("data.t", "icontains", f"{'a' * 250}{number}") for number in range(LEAVES))
    began = time.thread_time()
    assert not compile_tree(tree)(reading)
    assert time.thread_time() - began < 1.0
    assert compile_tree(Leaf("data.t", "icontains", "AÉ"))(reading)

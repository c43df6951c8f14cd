"""Patterns are RE2's: what it does not know is refused by name, and what one document may cost is bounded."""

from itertools import islice
from typing import Any

import pytest

from service.bounds import MAX_PATTERN_PROGRAM, MAX_PATTERN_WORK
from service.schema.fields import parse
from service.schema.patterns import (
    KEPT_PROGRAMS,
    SMALL_TEXTS,
    PatternText,
    Programs,
    check_patterns,
    find_texts,
    judge,
    patterned,
    unknown_patterns,
)
from service.schema.steps import take_steps
from tests.schema.cases import Path

LOC = ("body", "data")


def text(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern}


def mismatches(definition: dict[str, Any], value: Any) -> list[tuple[Path, str]]:
    fields = parse({"f": definition})
    found = take_steps(judge(find_texts({"f": value}, patterned(fields), LOC), Programs()))
    return [(violation.loc[2:], violation.type) for violation in found or []]


@pytest.mark.parametrize(
    "pattern", ["(", "a++", r"(a)\1", "(?=a)", "(?<!a)b", "[z-a]", "(*LIMIT_MATCH=9)a", r"\pL{900}"]
)
def test_a_pattern_that_re2_does_not_know_is_refused_at_its_place(pattern: str) -> None:
    fields = parse({"f": {"type": "array", "items": text(pattern)}})
    (violation,) = take_steps(check_patterns(fields)) or []
    assert violation.loc == ("body", "schema", "f", "items", "pattern")
    assert violation.msg.startswith("Not a regular expression of RE2's syntax")
    assert unknown_patterns(fields) == [("f", pattern)]


def test_the_patterns_of_a_schema_have_a_size_together() -> None:
    many = {f"f{number}": text(rf"\pL{{12}}{number}") for number in range(40)}
    found = take_steps(check_patterns(parse(many))) or []
    assert [violation.type for violation in found] == ["too_long"]
    assert MAX_PATTERN_PROGRAM < 2**20
    assert take_steps(check_patterns(parse({name: text(r"\pL{4}") for name in many}))) == []


MISMATCHES: list[tuple[str, dict[str, Any], Any, list[tuple[Path, str]]]] = [
    ("found anywhere", text("b"), "abc", []),
    ("not found", text("^b"), "abc", [(("f",), "string_pattern_mismatch")]),
    ("no text", text("^b"), 1, []),
    ("null", text("^b"), None, []),
    ("empty", text("^$"), "", []),
    ("NUL", text("^a.b$"), "a\x00b", []),
    ("first item", {"type": "array", "items": text("a")}, ["a", "b", "c"], [(("f", 1), "string_pattern_mismatch")]),
    (
        "first item of the outermost array",
        {"type": "array", "items": {"type": "array", "items": text("a")}},
        [["a"], ["b", "c"], ["d"]],
        [(("f", 1, 0), "string_pattern_mismatch")],
    ),
    (
        "in objects",
        {"type": "object", "properties": {"a": text("a"), "b": text("b"), "c": {"type": "string"}}},
        {"a": "x", "b": "x", "c": "x", "d": "x"},
        [(("f", "a"), "string_pattern_mismatch"), (("f", "b"), "string_pattern_mismatch")],
    ),
]


@pytest.mark.parametrize(
    ("definition", "value", "expected"), [r[1:] for r in MISMATCHES], ids=[r[0] for r in MISMATCHES]
)
def test_texts_are_matched_with_their_patterns(
    definition: dict[str, Any], value: Any, expected: list[tuple[Path, str]]
) -> None:
    assert mismatches(definition, value) == expected


def test_n17_the_work_is_summed_over_all_texts_of_a_document() -> None:
    """Each text alone is far below the bound; what is past it is not matched any more."""
    program = Programs().get(r"(?:a?){1000}c")
    assert program is not None
    size = MAX_PATTERN_WORK // program.programsize // 10
    array = {"type": "array", "items": text(r"(?:a?){1000}c")}
    taken: list[PatternText] = []

    def texts() -> Any:
        for each in find_texts({"f": ["c" + "a" * size] * 1_000}, parse({"f": array}), LOC):
            taken.append(each)
            yield each

    (violation,) = take_steps(judge(texts(), Programs())) or []
    assert (violation.loc, violation.type) == ((*LOC, "f", 9), "pattern_budget")
    assert len(taken) == 10


def test_only_so_many_patterns_stay_compiled_and_only_those_are_small() -> None:
    programs = Programs()
    first = [PatternText("p0", b"p0", LOC)]
    assert not programs.are_small(first)
    for number in range(KEPT_PROGRAMS):
        programs.get(f"p{number}")
    assert programs.are_small(first)
    programs.get("one more")
    programs.get("and another")
    assert not programs.are_small([PatternText("p1", b"", LOC)])
    assert programs.are_small(first)
    assert not programs.are_small(first * (SMALL_TEXTS + 1))
    assert not programs.are_small([PatternText("p0", b"x" * 2**17, LOC)])


def test_a_pattern_from_before_that_re2_does_not_know_judges_nothing() -> None:
    assert mismatches(text("(?=a)a"), "b") == []


def test_texts_are_found_one_at_a_time() -> None:
    fields = parse({"f": {"type": "array", "items": text("a")}})
    assert len(list(islice(find_texts({"f": ["a"] * 10**6}, fields, LOC), 3))) == 3


def test_n17_judging_can_be_left_after_each_text_and_gone_on_with() -> None:
    """Nothing is judged past the moment at which it shall give way, and the end is the same."""
    taken: list[PatternText] = []

    def texts() -> Any:
        for each in find_texts({"f": ["ab", "b", "c"]}, parse({"f": {"type": "array", "items": text("a")}}), LOC):
            taken.append(each)
            yield each

    steps = judge(texts(), Programs())
    assert take_steps(steps, 0) is None
    assert taken == []
    next(steps)
    assert len(taken) == 1
    assert [violation.loc for violation in take_steps(steps) or []] == [(*LOC, "f", 1)]


def test_of_an_array_with_a_mismatch_no_further_text_is_matched() -> None:
    searched: list[bytes] = []

    class Program:
        programsize = 1

        def search(self, found: bytes) -> None:
            searched.append(found)

    class Compiled(Programs):
        def get(self, _pattern: str) -> Any:
            return Program()

    array = {"type": "array", "items": text("^a")}
    texts = find_texts({"f": ["b"] * 100, "g": ["c"]}, parse({"f": array, "g": array}), LOC)
    found = take_steps(judge(texts, Compiled())) or []
    assert [violation.loc[2:] for violation in found] == [("f", 0), ("g", 0)]
    assert searched == [b"b", b"c"]

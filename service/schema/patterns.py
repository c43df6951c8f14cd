"""Patterns of declared fields, judged by RE2: its time grows with the length of a text, for any pattern.

They are in no validator, for MongoDB cannot be stopped while it judges a document, and keeps all writes waiting. The
cost of one document is bounded: an instruction of a pattern's program and a byte of a text are one unit of work, ten
nanoseconds where RE2 is at its slowest.

Source: https://github.com/google/re2/wiki/Syntax
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import re2

from service.bounds import MAX_PATTERN_PROGRAM, MAX_PATTERN_WORK
from service.errors import Location, Violation
from service.schema.fields import Field, Fields, patterns
from service.schema.steps import Steps
from service.schema.violations import mismatch

# A step is one text or pattern.
Judgement = Steps[list[Violation]]

# Bytes that RE2 may use for one pattern: its program, and the states that it remembers while it matches.
PROGRAM_BYTES = 512 * 1024
KEPT_PROGRAMS = 128
# To begin to match a text takes as long as so many bytes of it.
BYTES_OF_A_START = 64
# So many texts with so much work, about a millisecond, may be judged without a thread.
SMALL_TEXTS = 64
SMALL_WORK = 2**17

TOO_MUCH = Violation((), "Too much text to be matched with the patterns of this schema", "pattern_budget")
TOO_LARGE = Violation(
    (), "The patterns of a schema are too large together; max_length bounds a text, and needs no pattern", "too_long"
)
UNKNOWN = "Not a regular expression of RE2's syntax, which has no lookaround and no references back"


@dataclass(frozen=True, slots=True)
class PatternText:
    """A text of a document, as UTF-8, with the pattern that must be found in it."""

    pattern: str
    text: bytes
    loc: Location


class BadPattern(ValueError):
    """RE2 does not know a pattern; the message has the place of the fault."""


class Programs:
    """The compiled patterns of a worker, as many as were used last. Any thread may ask."""

    __slots__ = ("_kept", "_lock")

    def __init__(self) -> None:
        self._kept: dict[str, re2._Regexp | None] = {}
        self._lock = Lock()

    def get(self, pattern: str) -> "re2._Regexp | None":
        """None for a pattern that RE2 does not know."""
        with self._lock:
            if pattern in self._kept:
                # Put in again, so that the dict's order is that of use.
                program = self._kept.pop(pattern)
            else:
                program = _compile_or_none(pattern)
                if len(self._kept) >= KEPT_PROGRAMS:
                    del self._kept[next(iter(self._kept))]
            self._kept[pattern] = program
        return program

    def are_small(self, texts: Sequence[PatternText]) -> bool:
        """True if judging `texts` takes about a millisecond at most: nothing is compiled for it."""
        if len(texts) > SMALL_TEXTS or not all(text.pattern in self._kept for text in texts):
            return False
        return sum(_work(self.get(text.pattern), text) for text in texts) <= SMALL_WORK


def check_patterns(fields: Fields) -> Judgement:
    """The patterns that RE2 does not know, and the first that makes the schema's patterns too large together.

    Compiles each of them: a millisecond or two for 1,000 instructions of its program.
    """
    found: list[Violation] = []
    sizes: dict[str, int] = {}
    for loc, pattern in patterns(fields):
        yield
        try:
            sizes[pattern] = sizes.get(pattern) or _compile(pattern).programsize
        except BadPattern as error:
            found.append(Violation(loc, f"{UNKNOWN}: {error}", "value_error"))
        if sum(sizes.values()) > MAX_PATTERN_PROGRAM:
            return [*found, TOO_LARGE.under(*loc)]
    return found


def unknown_patterns(fields: Fields) -> list[tuple[str, str]]:
    """The patterns RE2 does not know, as (the top-level field, the pattern): declared before RE2 judged them.

    They judge no text.
    """
    found = ((name, pattern) for name, field in fields.items() for _, pattern in patterns({name: field}))
    return [(name, pattern) for name, pattern in found if _compile_or_none(pattern) is None]


def patterned(fields: Fields) -> Fields:
    """The fields with patterns, in themselves or further in."""
    return {name: field for name, field in fields.items() if _has_pattern(field)}


def find_texts(data: Mapping[str, Any], fields: Fields, loc: Location) -> Iterator[PatternText]:
    """The texts in `data` that must match a pattern of `fields`; the validator refuses values that are no texts."""
    for name, field in fields.items():
        if name in data:
            yield from _find_texts(data[name], field, (*loc, name))


def judge(texts: Iterable[PatternText], programs: Programs) -> Judgement:
    """The texts that do not match; of an array, as MongoDB reports it, the first. In place of those, TOO_MUCH."""
    found: dict[Location, Violation] = {}
    work = 0
    for text in texts:
        yield
        program = programs.get(text.pattern)
        work += _work(program, text)
        if work > MAX_PATTERN_WORK:
            return [TOO_MUCH.under(*text.loc)]
        if program is None or (outermost := _outermost(text.loc)) in found:
            continue
        if program.search(text.text) is None:
            found[outermost] = mismatch(text.pattern).under(*text.loc)
    return list(found.values())


def _work(program: "re2._Regexp | None", text: PatternText) -> int:
    return (program.programsize if program is not None else 1) * (BYTES_OF_A_START + len(text.text))


def _outermost(loc: Location) -> Location:
    """The way to the outermost array on it, or all of it."""
    for number, part in enumerate(loc):
        if isinstance(part, int):
            return loc[:number]
    return loc


def _has_pattern(field: Field) -> bool:
    inner = (field.properties or {}).values()
    return (
        field.pattern is not None
        or (field.items is not None and _has_pattern(field.items))
        or any(map(_has_pattern, inner))
    )


def _find_texts(value: Any, field: Field, loc: Location) -> Iterator[PatternText]:
    match value:
        case str() if field.pattern is not None:
            yield PatternText(field.pattern, value.encode(errors="replace"), loc)
        case dict() if field.properties is not None:
            yield from find_texts(value, field.properties, loc)
        case list() if field.items is not None and _has_pattern(field.items):
            for position, each in enumerate(value):
                yield from _find_texts(each, field.items, (*loc, position))


def _compile_or_none(pattern: str) -> "re2._Regexp | None":
    try:
        return _compile(pattern)
    except BadPattern:
        return None


def _compile(pattern: str) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False
    # The text of a group is never used, and remembering it slows RE2 down.
    options.never_capture = True
    options.max_mem = PROGRAM_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        raise BadPattern(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from None

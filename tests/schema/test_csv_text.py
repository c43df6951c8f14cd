"""CSV that comes in pieces: whatever the cells hold, the same records come out as went in."""

import random
from itertools import pairwise

import orjson
import pytest

from service.schema.csv_text import QUOTED_CELLS, BadRecord, is_open_after, parse_record, write_record
from service.schema.lines import LineCutter, RecordJoiner, TextLine

PARTS = ["a", "é", '"', '""', ",", "\n", "\r\n", " ", '",', ',"']


def records_of(raw: bytes, cuts: list[int]) -> list[TextLine]:
    cutter, joiner = LineCutter(), RecordJoiner()
    pieces = [raw[start:stop] for start, stop in pairwise([0, *sorted(cuts), len(raw)])]
    lines = [line for piece in pieces for line in cutter.feed(piece)] + list(cutter.end())
    return [record for line in lines for record in joiner.feed(line)] + list(joiner.end())


def test_what_is_written_is_read_however_it_is_cut() -> None:
    chance = random.Random(14)  # noqa: S311 - repeatable on purpose
    for _ in range(300):
        rows = [["".join(chance.choices(PARTS, k=chance.randrange(6))) or "x" for _ in range(3)] for _ in range(4)]
        raw = "".join(write_record(row, orjson.dumps) for row in rows).encode()
        found = records_of(raw, [chance.randrange(len(raw)) for _ in range(5)])
        assert [parse_record((record.raw or b"").decode()) for record in found] == rows
        ends = [sum(cell.count("\n") for cell in row) + 1 for row in rows]
        assert [record.number for record in found] == [1 + sum(ends[:number]) for number in range(4)]


@pytest.mark.parametrize(
    ("line", "is_open", "expected"),
    [
        ("a,b", False, False),
        ('a,"b', False, True),
        ('a,"b""', False, True),
        ('"a","b"', False, False),
        ('a"b,c', False, False),
        ("a,b", True, True),
        ('a",b', True, False),
        ('a"",b', True, True),
        ('a","b', True, True),
        ('"', False, True),
        ('""', False, False),
        ("", True, True),
    ],
)
def test_where_a_cell_goes_on(line: str, is_open: bool, expected: bool) -> None:
    for delimiter in QUOTED_CELLS:
        assert is_open_after(line.replace(",", delimiter), delimiter, is_open=is_open) is expected


def test_a_record_is_cut_at_its_delimiter_only() -> None:
    assert parse_record('a,b;"c;d"', ";") == ["a,b", "c;d"]
    assert parse_record('a\t"b\tc"\t', "\t") == ["a", "b\tc", ""]


@pytest.mark.parametrize("text", ['"a"b,c', '"a', "a\rb"])
def test_a_bad_record_is_refused(text: str) -> None:
    with pytest.raises(BadRecord):
        parse_record(text)


def test_a_record_that_is_never_closed_is_held_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.schema.lines.MAX_ROW_BYTES", 100)
    joiner = RecordJoiner()
    for number in range(1_000):
        assert not list(joiner.feed(TextLine(number + 1, b'"a' if number == 0 else b"b" * 10)))
        assert sum(map(len, joiner._held)) <= 100  # noqa: SLF001 - nothing else tells
    assert list(joiner.end()) == [TextLine(1, None)]

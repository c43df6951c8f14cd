"""The readings of a text, the names and depths that `data` may have, and the reading and writing of times."""

from datetime import datetime
from typing import Any

import pytest

from service.schema.values import BadValue, Kind, bound, check_data, read_time, readings, write_time

READINGS: list[tuple[str, str, Kind, tuple[Any, ...]]] = [
    ("a number may be text", "33", Kind.ANY, (33, "33")),
    ("a decimal", "3.5", Kind.ANY, (3.5, "3.5")),
    ("a leading zero is text only", "007", Kind.ANY, ("007",)),
    ("past 64 bits is text only", "9223372036854775808", Kind.ANY, ("9223372036854775808",)),
    ("the largest integer", "9223372036854775807", Kind.ANY, (9223372036854775807, "9223372036854775807")),
    ("an endless decimal is text only", "1e999", Kind.ANY, ("1e999",)),
    ("a boolean may be text", "true", Kind.ANY, (True, "true")),
    ("true with a capital is text", "True", Kind.ANY, ("True",)),
    ("null is a word", "null", Kind.ANY, ("null",)),
    ("a declared string stays text", "33", Kind.STRING, ("33",)),
    ("a declared integer is a number", "33", Kind.INTEGER, (33,)),
    ("an integer written as a decimal", "33.0", Kind.INTEGER, (33.0,)),
    ("an e-mail is lower-cased", "Bob@X.com", Kind.EMAIL, ("bob@x.com",)),
    ("an id stays text", "6560", Kind.ID, ("6560",)),
    ("a time is a moment", "2026-01-31", Kind.DATETIME, (datetime(2026, 1, 31),)),  # noqa: DTZ001 - stored without a zone
]


@pytest.mark.parametrize(("text", "kind", "expected"), [row[1:] for row in READINGS], ids=[row[0] for row in READINGS])
def test_readings(text: str, kind: Kind, expected: tuple[Any, ...]) -> None:
    found = readings(text, kind)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("yes", Kind.BOOLEAN),
        ("x", Kind.INTEGER),
        ("1.5", Kind.INTEGER),
        ("nan", Kind.NUMBER),
        ("today", Kind.DATETIME),
        ("x", Kind.OBJECT),
    ],
)
def test_readings_refuses_what_does_not_fit(text: str, kind: Kind) -> None:
    with pytest.raises(BadValue):
        readings(text, kind)


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("30", Kind.ANY, 30),
        ("-1.5e3", Kind.ANY, -1500.0),
        ("2026-01-31", Kind.ANY, "2026-01-31"),
        ("2026-01-31", Kind.STRING, "2026-01-31"),
        ("30", Kind.INTEGER, 30),
        ("2026-01-31T12:00:00+02:00", Kind.DATETIME, datetime(2026, 1, 31, 10)),  # noqa: DTZ001
    ],
)
def test_bound(text: str, kind: Kind, expected: Any) -> None:
    assert bound(text, kind) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tall", Kind.ANY),
        ("30", Kind.DATETIME),
        ("a", Kind.ID),
        ("1", Kind.EMAIL),
        ("true", Kind.BOOLEAN),
        ("2026", Kind.STRING),
    ],
)
def test_bound_refuses_what_has_no_order(text: str, kind: Kind) -> None:
    with pytest.raises(BadValue):
        bound(text, kind)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-20", "2026-11-20T00:00:00.000Z"),
        ("2026-11-20T10:11:12.345678Z", "2026-11-20T10:11:12.345Z"),
        ("2026-11-20T10:11:12+05:30", "2026-11-20T04:41:12.000Z"),
        ("2026-11-20T10:11:12 05:30", "2026-11-20T04:41:12.000Z"),
        ("2026-11-20 10:11", "2026-11-20T10:11:00.000Z"),
    ],
)
def test_times_are_read_as_utc_milliseconds(text: str, expected: str) -> None:
    assert write_time(read_time(text)) == expected


@pytest.mark.parametrize(
    "text", ["", "2026", "20261120", "2026-13-01", "2026-02-30", "0001-01-01T00:00:00+01:00", "2026-W01-1", "x" * 5000]
)
def test_read_time_refuses(text: str) -> None:
    with pytest.raises(BadValue):
        read_time(text)


def nested(depth: int) -> Any:
    return {"a": nested(depth - 1)} if depth > 1 else {}


@pytest.mark.parametrize(
    ("data", "locs"),
    [
        ({"fine": 1, "with space": {"ünï": [1, {"x": None}]}}, []),
        ({"$gt": 1}, [("body", "$gt")]),
        ({"a.b": 1}, [("body", "a.b")]),
        ({"": 1}, [("body", "")]),
        ({"n\u0000l": 1}, [("body", "n\\u0000l")]),
        ({"a": {"ok": 1}, "list": [0, {"deep": {"$x": 1}}]}, [("body", "list", 1, "deep", "$x")]),
        ({"x" * 129: 1}, [("body", "x" * 40 + "...")]),
        ({"x" * 128: 1}, []),
        (nested(32), []),
        (nested(33), [("body", *("a",) * 32)]),
    ],
)
def test_check_data_names_the_path(data: Any, locs: list[tuple[str | int, ...]]) -> None:
    assert [violation.loc for violation in check_data(data)] == locs

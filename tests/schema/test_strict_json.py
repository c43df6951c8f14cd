"""JSON is read strictly: what would be stored differently from how it was written is refused."""

from typing import Any

import pytest

from service.errors import Invalid
from service.schema.strict_json import loads

ACCEPTED: list[tuple[bytes, Any]] = [
    (b'{"a": [1, 2.5, true, null, "x"]}', {"a": [1, 2.5, True, None, "x"]}),
    (b"9223372036854775807", 2**63 - 1),
    (b"-9223372036854775808", -(2**63)),
    (b"[999999999999999999, -0]", [10**18 - 1, 0]),
    ('"\\ud83d\\ude00 é"'.encode(), "\U0001f600 é"),
    (b'"\\u0000"', "\x00"),
    (b'"\\\\ud800"', "\\ud800"),
]
REFUSED: list[tuple[str, bytes]] = [
    ("empty", b""),
    ("broken", b'{"a": '),
    ("two values", b"1 2"),
    ("bad UTF-8", b'"\xff"'),
    ("UTF-16", '{"a": 1}'.encode("utf-16")),
    ("byte order mark", b"\xef\xbb\xbf{}"),
    ("NaN", b"[NaN]"),
    ("Infinity", b"[-Infinity]"),
    ("1e999", b"[1e999]"),
    ("2^63", b"9223372036854775808"),
    ("-2^63-1", b"-9223372036854775809"),
    ("2^63 after text that ends with digits", b'["1", "x12345678901", 9223372036854775808]'),
    ("5,000 digits", b"1" * 5000),
    ("repeated name", b'{"a": 1, "b": {"c": 1, "c": 2}}'),
    ("lone surrogate", b'"\\ud800"'),
    ("lone surrogate as a name", b'{"\\udfff": 1}'),
    ("surrogates in the wrong order", b'"\\ude00\\ud83d"'),
    ("100,000 brackets", b"[" * 100_000),
    ("raw control character", b'"\x01"'),
]


@pytest.mark.parametrize(("raw", "value"), ACCEPTED)
def test_loads(raw: bytes, value: Any) -> None:
    assert loads(raw) == value


@pytest.mark.parametrize("raw", [row[1] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_loads_refuses(raw: bytes) -> None:
    with pytest.raises(Invalid) as caught:
        loads(raw, loc=("body", "data"))
    (violation,) = caught.value.violations
    assert violation.loc == ("body", "data")
    assert violation.type == "json_invalid"
    assert violation.msg

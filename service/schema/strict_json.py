"""JSON as the service accepts it: UTF-8, every number representable in BSON, no name twice. Stricter than RFC 8259."""

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

from service.errors import Invalid, Location

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
# An int64 has at most 19 digits and a sign; longer text is refused before Python converts it.
INT64_TEXT = 20
# Each digit becomes 0, and each other byte a space.
DIGITS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else ord(" ") for byte in range(256))
# Any shorter number is an int64.
LONG = b"0" * 19
# A text of JSON, in bytes; possessive, so that a text without an end is read once.
TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class NotJson(ValueError):
    """The text breaks a rule; the message names it, for the person who sent the text."""


def loads(raw: bytes, *, loc: Location = ("body",), max_values: int | None = None) -> Any:
    """The value of a JSON text. Raises Invalid with `loc` for anything that is not strict JSON.

    Numbers outside 64 bits, NaN, Infinity, 1e999, repeated names, lone surrogates and other encodings than UTF-8 are
    refused, for each of them is stored differently from how it was written, or cannot be sent back. So are more than
    `max_values` values, before any of them is made.
    """
    if max_values is not None and _has_more_values(raw, max_values):
        raise Invalid.one(loc, f"At most {max_values:,} values are allowed in one text", type_="too_many_values")
    try:
        value = (_DECODER if _has_long_number(raw) else _QUICK_DECODER).decode(_text(raw))
    except NotJson as error:
        raise Invalid.one(loc, str(error), type_="json_invalid") from None
    except json.JSONDecodeError as error:
        msg = f"Not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise Invalid.one(loc, msg, type_="json_invalid") from None
    except RecursionError:
        raise Invalid.one(loc, "Not valid JSON: nested too deeply", type_="json_invalid") from None
    return value


def load_object(raw: bytes, what: str, *, loc: Location = ("body",), max_values: int | None = None) -> dict[str, Any]:
    """As `loads`. Raises Invalid also where `what`, as "The body", is no object."""
    value = loads(raw, loc=loc, max_values=max_values)
    if not isinstance(value, dict):
        raise Invalid.one(loc, f"{what} must be a JSON object", type_="dict_type")
    return value


def _text(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise NotJson("Not valid JSON: the text must be UTF-8") from None
    if "\\u" in text and _has_lone_surrogate(text):
        raise NotJson("Not valid JSON: an unpaired surrogate (\\ud800 to \\udfff) is not a character")
    return text


def _has_lone_surrogate(text: str) -> bool:
    """Only escapes can make one, UTF-8 cannot. The tolerant parser pairs surrogates; one left over does not encode."""
    try:
        json.dumps(json.loads(text, parse_int=str, parse_float=str), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False  # The strict pass reports it.
    return False


def _has_more_values(raw: bytes, most: int) -> bool:
    """True if a JSON text has more than `most` values: each comma and each container that is not empty adds one.

    Counting bytes may find too many, for text has commas too; only then the text is taken out, in linear time.
    """
    if _count_values(raw) <= most:
        return False
    bare = TEXT.sub(b'""', raw).translate(None, b" \t\r\n")
    return _count_values(bare) - bare.count(b"{}") - bare.count(b"[]") > most


def _count_values(raw: bytes) -> int:
    return 1 + raw.count(b",") + raw.count(b"{") + raw.count(b"[")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise NotJson(f"The name {shown(_first_repeated(pairs))} occurs twice in one object")
    return result


def _first_repeated(pairs: list[tuple[str, Any]]) -> str:
    times = Counter(name for name, _ in pairs)
    return next(name for name, _ in pairs if times[name] > 1)


def _has_long_number(raw: bytes) -> bool:
    """True if the text has so many digits in a row that an integer may not be an int64."""
    return LONG in raw.translate(DIGITS)


def _integer(text: str) -> int:
    if len(text) > INT64_TEXT or not INT64_MIN <= (number := int(text)) <= INT64_MAX:
        raise NotJson("An integer must be between -9223372036854775808 and 9223372036854775807")
    return number


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJson("A number must be between -1.8e308 and 1.8e308")
    return number


def _constant(text: str) -> NoReturn:
    raise NotJson(f"{text} is not a JSON number")


# Made once: json.loads makes one for each text.
_HOOKS: dict[str, Any] = {"object_pairs_hook": _object, "parse_float": _float, "parse_constant": _constant}
_DECODER = json.JSONDecoder(parse_int=_integer, **_HOOKS)
# Without a call for each integer: 45,000 of them cost 12 ms of the event loop less.
_QUICK_DECODER = json.JSONDecoder(**_HOOKS)


def shown(name: str) -> str:
    """A name as an error message repeats it: short, and with nothing that a terminal or a log would act on."""
    return json.dumps(name[:40] + ("..." if len(name) > 40 else ""), ensure_ascii=True)

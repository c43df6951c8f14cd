"""The rules that the document says in words only, so that schemathesis does not take keeping them for refusing valid data.

JSON Schema cannot say some; what others become in the clients that generators make does not compile.
"""

import re
from typing import Any

import schemathesis

MAX_PASSWORD_BYTES = 72
INT64 = 2**63
MAX_DEPTH = 32
MAX_RELATIONS = 5
FIELD_NAME = re.compile(r"[^$.\x00-\x1f\x7f][^.\x00-\x1f\x7f]{0,127}")


@schemathesis.hook
def filter_case(_context: Any, case: Any) -> bool:
    """Whether the data keeps the rules: of names, depth and integers, of passwords (measured in bytes) and of files."""
    body = case.body
    kept = _fits(body, MAX_DEPTH) and _has_short_password(body) and _has_no_file(case) and _follows_few(case.query)
    return kept and _has_no_conditions(body) and _has_no_conditions(case.query)


def _fits(value: Any, depth: int) -> bool:
    """Whether an integer that is written without exponent fits in 64 bits, and every name is one."""
    if isinstance(value, dict):
        return depth > 0 and all(FIELD_NAME.fullmatch(name) and _fits(each, depth - 1) for name, each in value.items())
    if isinstance(value, list):
        return depth > 0 and all(_fits(each, depth - 1) for each in value)
    return not isinstance(value, int | float) or -INT64 <= value < INT64


def _follows_few(query: Any) -> bool:
    """Whether the filters go along few relations; a dot is taken for one."""
    names: list[str] = list(query or ())
    return sum(name.count(".") for name in names) <= MAX_RELATIONS


def _has_no_conditions(asked: Any) -> bool:
    """No made-up key of a `where` ends in an operator, whose value then must be of its kind."""
    return not isinstance(asked, dict) or asked.get("where", {}) in ({}, "{}")


def _has_short_password(body: Any) -> bool:
    fields = [body, body.get("data")] if isinstance(body, dict) else []
    passwords = [each.get("password") for each in fields if isinstance(each, dict)]
    return all(len(each.encode()) <= MAX_PASSWORD_BYTES for each in passwords if isinstance(each, str))


def _has_no_file(case: Any) -> bool:
    """Made-up bytes are of no type that is accepted, and have no name."""
    form = case.media_type == "multipart/form-data" and isinstance(case.body, dict)
    return not form or case.body.keys() <= {"data"}

"""The rules that JSON Schema cannot say, so that schemathesis does not take keeping them for refusing valid data."""

from typing import Any

import schemathesis

MAX_PASSWORD_BYTES = 72
INT64 = 2**63


@schemathesis.hook
def filter_case(_context: Any, case: Any) -> bool:
    """A password is measured in bytes, an integer that is written without exponent fits in 64 bits, and a file is one."""
    return _fits(case.body) and _has_short_password(case.body) and _has_no_file(case)


def _fits(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_fits, value.values()))
    if isinstance(value, list):
        return all(map(_fits, value))
    return not isinstance(value, int | float) or -INT64 <= value < INT64


def _has_short_password(body: Any) -> bool:
    fields = [body, body.get("data")] if isinstance(body, dict) else []
    passwords = [each.get("password") for each in fields if isinstance(each, dict)]
    return all(len(each.encode()) <= MAX_PASSWORD_BYTES for each in passwords if isinstance(each, str))


def _has_no_file(case: Any) -> bool:
    """Made-up bytes are of no type that is accepted, and have no name."""
    form = case.media_type == "multipart/form-data" and isinstance(case.body, dict)
    return not form or case.body.keys() <= {"data"}

"""The rules that the document says in words only, so that schemathesis does not take keeping them for refusing valid data.

JSON Schema cannot say some; what others become in the clients that generators make does not compile.
"""

import os
import re
from typing import Any

import schemathesis

MAX_PASSWORD_BYTES = 72
INT64 = 2**63
MAX_DEPTH = 32
MAX_RELATIONS = 5
# A project's document types the conditions of a `where`, so they are made up as well.
HAS_TYPES = "FUZZ_HAS_TYPES" in os.environ
FIELD_NAME = re.compile(r"[^$.\x00-\x1f\x7f][^.\x00-\x1f\x7f]{0,127}")


@schemathesis.hook
def filter_case(_context: Any, case: Any) -> bool:
    """True if the data keeps the rules: of names, depth and integers, of passwords (measured in bytes) and of files."""
    body = case.body
    kept = _fits(body, MAX_DEPTH) and _has_short_password(body) and _has_no_file(case) and _follows_few(case.query)
    return kept and _asks_plainly(body) and _asks_plainly(case.query)


def _fits(value: Any, depth: int) -> bool:
    """True if an integer that is written without exponent fits in 64 bits, and every name is one."""
    if isinstance(value, dict):
        return depth > 0 and all(FIELD_NAME.fullmatch(name) and _fits(each, depth - 1) for name, each in value.items())
    if isinstance(value, list):
        return depth > 0 and all(_fits(each, depth - 1) for each in value)
    return not isinstance(value, int | float) or -INT64 <= value < INT64


def _follows_few(query: Any) -> bool:
    """True if the filters go along few relations; a dot counts as one."""
    names: list[str] = list(query or ())
    return sum(name.count(".") for name in names) <= MAX_RELATIONS


def _asks_plainly(asked: Any) -> bool:
    """No key of a `where` without types ends in an operator, no made-up cursor is one; and what is sent goes together."""
    if not isinstance(asked, dict):
        return True
    sort, fields = _names(asked.get("sort_by", [])), _names(asked.get("fields", []))
    bare = [name.removeprefix("-").removeprefix("data.") for name in sort]
    if HAS_TYPES and not _asks_by_types(asked):
        return False
    return (
        (HAS_TYPES or asked.get("where", {}) in ({}, "{}"))
        and asked.get("cursor", "*") == "*"
        and not {"cursor", "offset"} <= asked.keys()
        and not ("sort_order" in asked and (len(sort) > 1 or any(name.startswith("-") for name in sort)))
        and len(set(bare)) == len(bare)
        and not any("." in name for name in fields)
    )


def _asks_by_types(asked: dict[str, Any]) -> bool:
    """No made-up names of fields; no 0.0, which JSON Schema takes for a whole number."""
    names = ("sort_by", "fields", "populate")
    return not any(asked.get(name) for name in names) and not any(
        isinstance(asked.get(name), float) for name in ("limit", "offset")
    )


def _names(value: Any) -> list[str]:
    found = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [name for name in found if isinstance(name, str)]


def _has_short_password(body: Any) -> bool:
    fields = [body, body.get("data")] if isinstance(body, dict) else []
    passwords = [each.get("password") for each in fields if isinstance(each, dict)]
    return all(len(each.encode()) <= MAX_PASSWORD_BYTES for each in passwords if isinstance(each, str))


def _has_no_file(case: Any) -> bool:
    """Made-up bytes are of no type that is accepted, and have no name."""
    form = case.media_type == "multipart/form-data" and isinstance(case.body, dict)
    return not form or case.body.keys() <= {"data"}

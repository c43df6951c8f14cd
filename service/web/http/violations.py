"""How broken rules are listed: the first hundred of them, in an answer of bounded size, whatever the client sent."""

from typing import Any

import orjson

from service.bounds import MAX_NAME, MAX_REFUSAL_BYTES, MAX_VIOLATIONS
from service.errors import Invalid, Violation

# The longest sentence of ours; a longer one repeats what the client wrote.
MAX_SENTENCE = 500
# What stands around the list: the code, and how many are omitted.
ENVELOPE_BYTES = 256


def list_violations(error: Invalid) -> dict[str, Any]:
    """The body of the refusal; `omitted` says how many rules more were broken, where it is not none."""
    listed: list[dict[str, Any]] = []
    room = MAX_REFUSAL_BYTES - ENVELOPE_BYTES
    for violation in error.violations[:MAX_VIOLATIONS]:
        shown = _shorten(violation).as_dict()
        room -= len(orjson.dumps(shown)) + 1
        if room < 0:
            break
        listed.append(shown)
    omitted = len(error.violations) - len(listed) + error.omitted
    return {"detail": listed, "code": error.code} | ({"omitted": omitted} if omitted else {})


def _shorten(violation: Violation) -> Violation:
    loc = tuple(_cut(part, MAX_NAME) if isinstance(part, str) else part for part in violation.loc)
    return Violation(loc, _cut(violation.msg, MAX_SENTENCE), violation.type)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"

"""Lists broken rules: the first hundred, in an answer of bounded size for any request."""

from typing import Any

import orjson

from service.bounds import MAX_NAME, MAX_REFUSAL_BYTES, MAX_VIOLATIONS
from service.errors import Invalid, Violation

# The longest sentence of ours; a longer one repeats what the client wrote.
MAX_SENTENCE = 500
# Bytes around the list: the code, and the number of omitted ones.
ENVELOPE_BYTES = 256


class Refusals:
    """The refusals of one answer, which share what may be listed; each lists the first rule that was broken in any case."""

    __slots__ = ("_bytes", "_rules")

    def __init__(self) -> None:
        self._rules = int(MAX_VIOLATIONS)
        self._bytes = MAX_REFUSAL_BYTES - ENVELOPE_BYTES

    def list(self, error: Invalid) -> dict[str, Any]:
        """The body of a refusal; `omitted` says how many rules more were broken, where it is not none."""
        listed: list[dict[str, Any]] = []
        for violation in error.violations[: max(1, self._rules)]:
            shown = _shorten(violation).as_dict()
            self._bytes -= len(orjson.dumps(shown)) + 1
            if self._bytes < 0 and listed:
                break
            listed.append(shown)
        self._rules -= len(listed)
        omitted = len(error.violations) - len(listed) + error.omitted
        return {"detail": listed, "code": error.code} | ({"omitted": omitted} if omitted else {})


def list_violations(error: Invalid) -> dict[str, Any]:
    """The body of the one refusal of an answer."""
    return Refusals().list(error)


def _shorten(violation: Violation) -> Violation:
    loc = tuple(_cut(part, MAX_NAME) if isinstance(part, str) else part for part in violation.loc)
    return Violation(loc, _cut(violation.msg, MAX_SENTENCE), violation.type)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"

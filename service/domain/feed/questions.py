"""The texts of a question to the feed: a cursor, and patterns of events. Pure."""

import re

from service.bounds import MAX_FEED_PATTERNS
from service.schema.event_patterns import check_pattern
from service.schema.values import BadValue

CURSOR = re.compile("(?:evt_)?([0-9a-f]{22})")


def read_after(text: str) -> str:
    """`now`, `first`, or the cursor in the id of an event or in a cursor. Raises BadValue."""
    if text in ("now", "first"):
        return text
    if (found := CURSOR.fullmatch(text)) is None:
        raise BadValue("must be a cursor of 22 hexadecimal digits, the id of an event, now or first")
    return found[1]


def read_patterns(text: str) -> tuple[str, ...]:
    """Patterns with commas between them. Raises BadValue."""
    patterns = tuple(dict.fromkeys(text.split(",")))
    if len(patterns) > MAX_FEED_PATTERNS:
        raise BadValue(f"must have at most {MAX_FEED_PATTERNS} patterns")
    return tuple(map(check_pattern, patterns))

"""Types of events of the feed, and the patterns that choose some of them: `documents.orders.*`, `users.created`. Pure.

pattern := "*" | kind ".*" | "documents." collection ".*" | type
"""

import re
from collections.abc import Iterable

from service.schema.options import COLLECTION_NAME
from service.schema.values import BadValue

# A reader of a gap must know of it, whatever types it asked for.
GAP = "feed.gap"
DOCUMENTS = "documents"
VERBS = ("created", "updated", "deleted")
# Kind → the last words of its types; None where the journal of accounts names them.
KINDS: dict[str, tuple[str, ...] | None] = {
    "users": VERBS,
    "auth": None,
    "collections": VERBS,
    "rules": ("updated",),
}
WORD = re.compile("[a-z][a-z_]{0,63}")
EXPECTED = "must be patterns such as documents.orders.*, users.created, auth.* or *"


def check_pattern(pattern: str) -> str:
    """The pattern itself. Raises BadValue."""
    if pattern == "*" or _is_of_documents(pattern) or _is_of_kind(pattern):
        return pattern
    raise BadValue(EXPECTED)


def _is_of_documents(pattern: str) -> bool:
    kind, _, rest = pattern.partition(".")
    if kind != DOCUMENTS:
        return False
    name, _, verb = rest.rpartition(".")
    return rest == "*" or (verb in (*VERBS, "*") and COLLECTION_NAME.fullmatch(name) is not None)


def _is_of_kind(pattern: str) -> bool:
    kind, _, word = pattern.partition(".")
    if kind not in KINDS:
        return False
    words = KINDS[kind]
    return word == "*" or (WORD.fullmatch(word) is not None if words is None else word in words)


def matches(patterns: Iterable[str], type_: str) -> bool:
    """True if one of the patterns chooses the type."""
    return any(pattern == "*" or pattern == type_ or _covers(pattern, type_) for pattern in patterns)


def _covers(pattern: str, type_: str) -> bool:
    return pattern.endswith(".*") and type_.startswith(pattern[:-1])


def are_within(asked: Iterable[str], allowed: Iterable[str]) -> bool:
    """True if each type that `asked` chooses is one that `allowed` chooses."""
    kept = tuple(allowed)
    return all(matches(kept, pattern) for pattern in asked)


def wants_kind(patterns: Iterable[str], kind: str) -> bool:
    """True if a pattern chooses a type of the kind: `users`, `auth`, `documents`."""
    return any(pattern == "*" or pattern.partition(".")[0] == kind for pattern in patterns)


def wants_documents(patterns: Iterable[str], collection: str) -> bool:
    """True if a pattern chooses a type of the documents of the collection."""
    own = f"{DOCUMENTS}.{collection}."
    return any(pattern in ("*", f"{DOCUMENTS}.*") or pattern.startswith(own) for pattern in patterns)

"""The claims of a provider that a project keeps in the data of a new user. Pure."""

import math
from collections.abc import Mapping
from typing import Any

from service.schema.strict_json import INT64_MAX, INT64_MIN

MAX_TEXT = 2_048


def keep_claims(claims: Mapping[str, Any], kept: Mapping[str, str]) -> dict[str, Any]:
    """The fields of `kept`, field → claim, whose claim is a text, a number, true or false; others are left out."""
    return {name: claims[claim] for name, claim in kept.items() if _can_be_kept(claims.get(claim))}


def _can_be_kept(value: Any) -> bool:
    match value:
        case bool():
            return True
        case int():
            return INT64_MIN <= value <= INT64_MAX
        case float():
            return math.isfinite(value)
        case str():
            return 0 < len(value) <= MAX_TEXT and "\0" not in value and _is_unicode(value)
    return False


def _is_unicode(text: str) -> bool:
    """An unpaired surrogate is no character, and MongoDB stores none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

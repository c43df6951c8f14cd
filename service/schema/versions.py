"""Versions of records as clients name them: entity tags (RFC 9110 section 8.8.3), `"v17"` for version 17. Pure."""

import re

# Versions, one of which a record must have to be changed; None for any.
Versions = tuple[int, ...] | None

TAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
# Numbers of more digits are past 64 bits, or nearly.
OWN = re.compile(r"v(0|[1-9][0-9]{0,17})")


def version_tag(version: int) -> str:
    return f'"v{version}"'


def read_versions(if_match: str | None) -> Versions:
    """The versions that an If-Match field names, by the strong comparison (section 13.1.1): `"v3", "v4"` → (3, 4).

    None without a field, and for `*`. Any other text is the tag of no record.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    strong = (found.group(2) for found in TAG.finditer(if_match) if not found.group(1))
    return tuple(int(own.group(1)) for tag in strong if (own := OWN.fullmatch(tag)))


def is_one_of(version: int, versions: Versions) -> bool:
    return versions is None or version in versions


def is_tag_named(if_match: str | None, etag: str) -> bool:
    """True if an If-Match field names `etag`, by the strong comparison (RFC 9110 section 13.1.1), or there is none."""
    return if_match is None or if_match.strip() == "*" or etag in (part.strip() for part in if_match.split(","))

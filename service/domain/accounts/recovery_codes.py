"""Recovery codes, for a user that lost the second factor: 120 random bits each, too many to search. Pure."""

import base64
import hashlib
import os
from collections.abc import Iterable

NUMBER, CODE_BYTES, GROUP = 10, 15, 4


def new_codes() -> list[str]:
    """The form for people: base32 in groups, ABCD-EFGH-…"""
    return [_new_code() for _ in range(NUMBER)]


def hash_code(code: str) -> str:
    """The stored digest; the same for any grouping of the code, and for small letters."""
    plain = code.replace("-", "").replace(" ", "").upper()
    return hashlib.sha256(plain.encode(errors="replace")).hexdigest()


def hash_codes(codes: Iterable[str]) -> list[str]:
    return [hash_code(code) for code in codes]


def _new_code() -> str:
    letters = base64.b32encode(os.urandom(CODE_BYTES)).decode()
    return "-".join(letters[start : start + GROUP] for start in range(0, len(letters), GROUP))

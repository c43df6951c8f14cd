"""Password hashes that other programs made: bcrypt and argon2id (RFC 9106), within limits of what checking one may cost."""

import re

from argon2 import PasswordHasher, Type, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError

BCRYPT = re.compile(r"\$2[aby]\$(?:0[4-9]|1[0-6])\$[./A-Za-z0-9]{53}")
ARGON2ID = "$argon2id$"
# A hash sets the cost of its own check: one that would take a gigabyte must be refused.
MAX_MEMORY_KIB = 262_144
MAX_TIME = 16
MAX_LANES = 16

_HASHER = PasswordHasher(type=Type.ID)


def is_argon2id(stored: str) -> bool:
    return stored.startswith(ARGON2ID)


def is_hash(stored: str) -> bool:
    """False for the placeholder of a user without a password."""
    return stored.startswith("$2") or is_argon2id(stored)


def hash_fault(stored: str) -> str | None:
    """Why `stored` cannot be imported as the hash of a password, or None."""
    if BCRYPT.fullmatch(stored):
        return None
    if not is_argon2id(stored):
        return "must be a bcrypt hash of cost 4 to 16, or an argon2id hash"
    try:
        cost = extract_parameters(stored)
    except (InvalidHashError, ValueError):
        return "is not a whole argon2id hash"
    if cost.memory_cost > MAX_MEMORY_KIB or cost.time_cost > MAX_TIME or cost.parallelism > MAX_LANES:
        return f"may cost at most {MAX_MEMORY_KIB} KiB, {MAX_TIME} passes and {MAX_LANES} lanes"
    return None


def matches_argon2id(password: bytes, stored: str) -> bool:
    try:
        return _HASHER.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False

"""Password hashes that other programs made, in five families, within limits of what checking one may cost.

bcrypt; argon2 as PHC strings (RFC 9106); scrypt and PBKDF2 as passlib writes them, with named costs; Firebase's scrypt
as GoTrue writes it, whose signer key is kept once by its name, beside the users.
"""

import hashlib
import hmac
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import bcrypt
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

MAX_PASSWORD_BYTES = 72
# A hash sets the cost of its own check: one that would take a gigabyte must be refused.
MAX_BCRYPT_COST = 16
MAX_MEMORY_KIB = 262_144
MAX_PASSES = 16
MAX_LANES = 16
MAX_SCRYPT_BYTES = 64 * 1_048_576
MAX_SCRYPT_LANES = 4
MAX_ROUNDS = 2_000_000

# Signer keys of Firebase by their names.
SignerKeys = Mapping[str, bytes]
NO_KEYS: SignerKeys = {}

_B64 = r"[A-Za-z0-9+/.]{1,344}={0,2}"
_NUMBER = r"[1-9][0-9]{0,9}"
# Firebase's hash is a key that it encrypts; scrypt's first bytes, so many, encrypt it.
_FIREBASE_KEY_BYTES = 32
_HASHER = PasswordHasher()


@dataclass(frozen=True, slots=True)
class Family:
    """Hashes of one form. `fault` says why a hash of that form costs too much to check, or lacks its key."""

    name: str
    begin: str
    form: re.Pattern[str]
    fault: Callable[[re.Match[str], SignerKeys], str | None]
    matches: Callable[[bytes, str, SignerKeys], bool]


def find_family(stored: str) -> Family | None:
    """The family of a hash by its begin; None for the placeholder of a user without a password."""
    return next((family for family in FAMILIES if stored.startswith(family.begin)), None)


def is_foreign(stored: str) -> bool:
    """True for a hash that is not bcrypt's."""
    return (family := find_family(stored)) is not None and family is not BCRYPT


def is_outdated(stored: str, cost: int) -> bool:
    """True if bcrypt of `cost` should take the place of the hash: one of higher cost stays."""
    return is_foreign(stored) or stored[:4] != "$2b$" or int(stored[4:6]) < cost


def hash_fault(stored: str, keys: SignerKeys = NO_KEYS) -> str | None:
    """Why `stored` cannot be imported as the hash of a password, or None. `keys` are those the project has."""
    family = find_family(stored)
    if family is None:
        return "must be a hash of bcrypt, argon2, scrypt, fbscrypt or pbkdf2"
    match = family.form.fullmatch(stored)
    return family.fault(match, keys) if match and _is_base64(match) else f"is not a whole hash of {family.name}"


def matches(password: bytes, stored: str, keys: SignerKeys = NO_KEYS) -> bool:
    """True if `password` is the one that `stored` was made from. It takes the CPU and the memory that `stored` names."""
    family = find_family(stored)
    return family is not None and family.matches(password, stored, keys)


def _bcrypt_fault(match: re.Match[str], _: SignerKeys) -> str | None:
    return None if 4 <= int(match["cost"]) <= MAX_BCRYPT_COST else f"may have a cost of 4 to {MAX_BCRYPT_COST}"


def _matches_bcrypt(password: bytes, stored: str, _: SignerKeys) -> bool:
    return len(password) <= MAX_PASSWORD_BYTES and b"\0" not in password and bcrypt.checkpw(password, stored.encode())


def _argon2_fault(match: re.Match[str], _: SignerKeys) -> str | None:
    try:
        cost = extract_parameters(match[0])
    except (InvalidHashError, ValueError):
        return "is not a whole hash of argon2"
    if cost.memory_cost > MAX_MEMORY_KIB or cost.time_cost > MAX_PASSES or cost.parallelism > MAX_LANES:
        return f"may cost at most {MAX_MEMORY_KIB} KiB, {MAX_PASSES} passes and {MAX_LANES} lanes"
    return None


def _matches_argon2(password: bytes, stored: str, _: SignerKeys) -> bool:
    try:
        return _HASHER.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False


def _scrypt_fault(match: re.Match[str], _: SignerKeys) -> str | None:
    log_n, block, lanes = (int(match[name]) for name in ("n", "r", "p"))
    if log_n > 30 or 128 * block * (1 << log_n) > MAX_SCRYPT_BYTES or lanes > MAX_SCRYPT_LANES:
        return f"may cost at most {MAX_SCRYPT_BYTES // 1_048_576} MiB and {MAX_SCRYPT_LANES} lanes"
    return None


def _matches_scrypt(password: bytes, stored: str, _: SignerKeys) -> bool:
    match = _SCRYPT.fullmatch(stored)
    if match is None:
        return False
    expected = _decode(match["hash"])
    return hmac.compare_digest(_scrypt(match, password, _decode(match["salt"]), len(expected)), expected)


def _fbscrypt_fault(match: re.Match[str], keys: SignerKeys) -> str | None:
    if fault := _scrypt_fault(match, keys):
        return fault
    return None if match["key"] in keys else "names a signer key that this project does not have"


def _matches_fbscrypt(password: bytes, stored: str, keys: SignerKeys) -> bool:
    match = _FBSCRYPT.fullmatch(stored)
    if match is None or (signer := keys.get(match["key"])) is None:
        return False
    salt = _decode(match["salt"]) + _decode(match["separator"])
    derived = _scrypt(match, password, salt, _FIREBASE_KEY_BYTES)
    encryptor = Cipher(algorithms.AES256(derived), modes.CTR(bytes(16))).encryptor()
    return hmac.compare_digest(encryptor.update(signer), _decode(match["hash"]))


def _scrypt(match: re.Match[str], password: bytes, salt: bytes, length: int) -> bytes:
    log_n, block, lanes = (int(match[name]) for name in ("n", "r", "p"))
    # OpenSSL counts some kilobytes beside the blocks.
    allowed = 2 * MAX_SCRYPT_BYTES
    return hashlib.scrypt(password, salt=salt, n=1 << log_n, r=block, p=lanes, maxmem=allowed, dklen=length)


def _pbkdf2_fault(match: re.Match[str], _: SignerKeys) -> str | None:
    # A hash that is longer than the digest takes all rounds for each digest of it.
    blocks = -(-len(_decode(match["hash"])) // hashlib.new(match["digest"]).digest_size)
    return None if int(match["rounds"]) * blocks <= MAX_ROUNDS else f"may have at most {MAX_ROUNDS:,} rounds"


def _matches_pbkdf2(password: bytes, stored: str, _: SignerKeys) -> bool:
    match = _PBKDF2.fullmatch(stored)
    if match is None:
        return False
    expected, salt = _decode(match["hash"]), _decode(match["salt"])
    found = hashlib.pbkdf2_hmac(match["digest"], password, salt, int(match["rounds"]), len(expected))
    return hmac.compare_digest(found, expected)


def _is_base64(match: re.Match[str]) -> bool:
    try:
        return all(_decode(match[name]) for name in match.re.groupindex if name in {"salt", "hash", "separator"})
    except ValueError:
        return False


def _decode(text: str) -> bytes:
    """Base64 with or without its padding; passlib writes `.` for `+`."""
    bare = text.rstrip("=").replace(".", "+")
    return b64decode(bare + "=" * (-len(bare) % 4))


_SCRYPT = re.compile(
    rf"\$scrypt\$ln=(?P<n>{_NUMBER}),r=(?P<r>{_NUMBER}),p=(?P<p>{_NUMBER})\$(?P<salt>{_B64})\$(?P<hash>{_B64})"
)
_FBSCRYPT = re.compile(
    rf"\$fbscrypt\$v=1,n=(?P<n>{_NUMBER}),r=(?P<r>{_NUMBER}),p=(?P<p>1),ss=(?P<separator>{_B64}),"
    rf"k=(?P<key>[A-Za-z0-9_-]{{1,64}})\$(?P<salt>{_B64})\$(?P<hash>{_B64})"
)
_PBKDF2 = re.compile(
    rf"\$pbkdf2-(?P<digest>sha1|sha256|sha512)\$i=(?P<rounds>{_NUMBER})\$(?P<salt>{_B64})\$(?P<hash>{_B64})"
)

BCRYPT = Family(
    "bcrypt", "$2", re.compile(r"\$2[aby]\$(?P<cost>\d\d)\$[./A-Za-z0-9]{53}"), _bcrypt_fault, _matches_bcrypt
)
FAMILIES = (
    BCRYPT,
    Family("argon2", "$argon2", re.compile(r"\$argon2(?:id|i|d)\$[^\0\n]{1,500}"), _argon2_fault, _matches_argon2),
    Family("scrypt", "$scrypt$", _SCRYPT, _scrypt_fault, _matches_scrypt),
    Family("fbscrypt", "$fbscrypt$", _FBSCRYPT, _fbscrypt_fault, _matches_fbscrypt),
    Family("pbkdf2", "$pbkdf2-", _PBKDF2, _pbkdf2_fault, _matches_pbkdf2),
)

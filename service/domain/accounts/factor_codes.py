"""Codes of second factors: those of authenticator apps (RFC 6238, as all apps know it), and recovery codes. Pure."""

import base64
import hashlib
import os
import re
from collections.abc import Iterable
from hmac import compare_digest
from urllib.parse import quote

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.hotp import HOTP

DIGITS, STEP_SECONDS, SECRET_BYTES = 6, 30, 20
# A phone's clock may be one step off, and a person needs a moment to type.
STEPS_AROUND = 1
FORM = re.compile(r"[0-9]{6}")


def new_secret() -> str:
    """160 random bits (RFC 4226 section 4) in base32, as apps take them."""
    return base64.b32encode(os.urandom(SECRET_BYTES)).decode()


def find_step(secret: str, code: str, moment: float) -> int | None:
    """The time step around `moment` (Unix time) whose code it is."""
    digits = code.replace(" ", "")
    if not FORM.fullmatch(digits):
        return None
    # cryptography calls SHA-1 by itself insecure; RFC 6238 builds on its HMAC.
    codes = HOTP(base64.b32decode(secret), DIGITS, SHA1())  # noqa: S303
    present = int(moment) // STEP_SECONDS
    around = range(present - STEPS_AROUND, present + STEPS_AROUND + 1)
    # All are compared, so that the time taken reveals nothing.
    found = [step for step in around if compare_digest(codes.generate(step), digits.encode())]
    return found[-1] if found else None


def code_at(secret: str, moment: float) -> str:
    """The code that an app shows at `moment`."""
    counter = int(moment) // STEP_SECONDS
    return HOTP(base64.b32decode(secret), DIGITS, SHA1()).generate(counter).decode()  # noqa: S303


def describe(secret: str, issuer: str, email: str) -> str:
    """The URI that apps read from a QR code. A colon ends the issuer there."""
    name = quote(issuer.replace(":", " "), safe="")
    label = f"{name}:{quote(email, safe='@')}"
    return f"otpauth://totp/{label}?secret={secret}&issuer={name}&algorithm=SHA1&digits={DIGITS}&period={STEP_SECONDS}"


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

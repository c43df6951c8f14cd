"""Secrets at rest: AES-256-GCM under SECRET_KEY, each bound to its place, so that one cannot be moved to another.

And the keys that are derived from SECRET_KEY, one for each purpose.
"""

import base64
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from service.errors import ConfigurationError

NONCE_BYTES = 12
DERIVED_BYTES = 32


def derive_key(secret_key: bytes, purpose: str) -> bytes:
    """The 32 bytes that serve one purpose (HKDF, RFC 5869), and tell nothing of those that serve another."""
    return HKDF(SHA256(), DERIVED_BYTES, salt=None, info=purpose.encode()).derive(secret_key)


def place_of_totp(project_id: str, factor_id: str) -> str:
    """The place that the secret of an authenticator app is sealed for, from its enrolment on."""
    return f"{project_id}/totp/{factor_id}"


class SecretBox:
    """Seals and opens short secrets with a 32-byte key, and derives other keys from it."""

    def __init__(self, secret_key: bytes) -> None:
        self._secret_key = secret_key
        self._cipher = AESGCM(secret_key)

    def derive_key(self, purpose: str) -> bytes:
        """As `derive_key`."""
        return derive_key(self._secret_key, purpose)

    def seal(self, secret: str, place: str) -> str:
        """Nonce and ciphertext in base64; they open only with the same `place`, such as "<project>/signing_key"."""
        nonce = os.urandom(NONCE_BYTES)
        return base64.b64encode(nonce + self._cipher.encrypt(nonce, secret.encode(), place.encode())).decode()

    def open(self, sealed: str, place: str) -> str:
        """Raises ConfigurationError when SECRET_KEY is not the one that sealed it."""
        raw = base64.b64decode(sealed)
        try:
            return self._cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], place.encode()).decode()
        except InvalidTag:
            raise ConfigurationError(
                f"SECRET_KEY does not open {place}; set the key with which it was stored"
            ) from None

"""Refresh tokens: `acr_<project>_<base64url(1 ‖ session ‖ count ‖ HMAC)>`.

The HMAC (SHA-256, its first 128 bits) is made with a key of the service's own, of the project's id and all that stands
before. So no part of a token is stored, a reader of the database cannot make one, and a session and a count have
exactly one token.
"""

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from service.errors import InvalidRefreshToken

# HKDF purpose of the key.
PURPOSE = "refresh tokens"
FORM = re.compile(r"acr_([a-z0-9-]{1,40})_([A-Za-z0-9_-]{44})")
KIND = b"\x01"
ID_BYTES, COUNT_BYTES, MAC_BYTES = 12, 4, 16
COUNT_AT = len(KIND) + ID_BYTES
MAC_AT = COUNT_AT + COUNT_BYTES


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """The contents of a genuine token: the session, and the number of its refreshes when the token was made."""

    project_id: str
    sid: str
    count: int


class RefreshTokens:
    """Writes and reads refresh tokens with a key of 32 bytes. Pure."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def write(self, token: RefreshToken) -> str:
        body = KIND + bytes.fromhex(token.sid) + token.count.to_bytes(COUNT_BYTES)
        return f"acr_{token.project_id}_{urlsafe_b64encode(body + self._mac(token.project_id, body)).decode()}"

    def read(self, text: str) -> RefreshToken:
        """Raises InvalidRefreshToken for what this service has not written."""
        found = FORM.fullmatch(text)
        if found is None:
            raise InvalidRefreshToken
        project_id, raw = found[1], urlsafe_b64decode(found[2])
        body, mac = raw[:MAC_AT], raw[MAC_AT:]
        if not hmac.compare_digest(mac, self._mac(project_id, body)) or not body.startswith(KIND):
            raise InvalidRefreshToken
        return RefreshToken(project_id, body[len(KIND) : COUNT_AT].hex(), int.from_bytes(body[COUNT_AT:]))

    def _mac(self, project_id: str, body: bytes) -> bytes:
        # No id has a NUL, so where it ends is certain.
        return hmac.digest(self._key, project_id.encode() + b"\0" + body, "sha256")[:MAC_BYTES]

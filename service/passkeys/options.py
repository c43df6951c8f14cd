"""Options for a browser, in the JSON that PublicKeyCredential.parse…OptionsFromJSON() reads (WebAuthn level 3)."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from service.passkeys.answers import RelyingParty

# The three that WebAuthn recommends: ES256, EdDSA, and RS256 for Windows Hello.
ALGORITHMS = (-7, -8, -257)
# WebAuthn recommends five minutes to ten.
TIMEOUT_MS = 300_000
PUBLIC_KEY = "public-key"
REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class PasskeyOwner:
    """The owner of a new passkey. `handle` is random: only this service can relate it to the user."""

    handle: bytes
    name: str


def creation_options(
    party: RelyingParty, owner: PasskeyOwner, challenge: bytes, existing: Sequence[bytes]
) -> dict[str, Any]:
    """For a new passkey, which signs in without a name and only after a PIN or a finger. One device makes one."""
    return {
        "rp": {"id": party.id, "name": party.name},
        "user": {"id": encode(owner.handle), "name": owner.name, "displayName": owner.name},
        "challenge": encode(challenge),
        "pubKeyCredParams": [{"type": PUBLIC_KEY, "alg": number} for number in ALGORITHMS],
        "timeout": TIMEOUT_MS,
        "excludeCredentials": _describe(existing),
        "authenticatorSelection": {
            "residentKey": REQUIRED,
            "requireResidentKey": True,
            "userVerification": REQUIRED,
        },
        "attestation": "none",
    }


def request_options(party: RelyingParty, challenge: bytes, allowed: Sequence[bytes] = ()) -> dict[str, Any]:
    """For one of the `allowed` passkeys; with none, for any that the user's devices have here."""
    return {
        "challenge": encode(challenge),
        "timeout": TIMEOUT_MS,
        "rpId": party.id,
        "allowCredentials": _describe(allowed),
        "userVerification": REQUIRED,
    }


def encode(raw: bytes) -> str:
    """base64url without padding, as WebAuthn has it in JSON."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Raises ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _describe(ids: Sequence[bytes]) -> list[dict[str, str]]:
    return [{"type": PUBLIC_KEY, "id": encode(each)} for each in ids]

"""An authenticator and its browser, as software: makes passkeys, signs with them, and misbehaves on request."""

import base64
import hashlib
import json
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from fido2 import cbor
from fido2.cose import ES256, RS256, EdDSA

PRESENT, VERIFIED, SYNCABLE, SYNCED, ATTESTED = 0x01, 0x04, 0x08, 0x10, 0x40
Key = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey


def encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def new_key(algorithm: int = -7) -> Key:
    if algorithm == -8:
        return ed25519.Ed25519PrivateKey.generate()
    if algorithm == -257:
        return rsa.generate_private_key(65_537, 2_048)
    return ec.generate_private_key(ec.SECP256R1())


@dataclass
class SoftPasskey:
    """One passkey; `handle` is the user's, as the service gave it at creation."""

    key: Key
    id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    handle: bytes = b""
    counter: int = 0

    @property
    def public_key(self) -> Mapping[int, Any]:
        """As COSE has it."""
        # fido2 gives no types for these.
        kinds: dict[Any, Any] = {ec.EllipticCurvePrivateKey: ES256, ed25519.Ed25519PrivateKey: EdDSA}
        kind = next((cose for type_, cose in kinds.items() if isinstance(self.key, type_)), RS256)
        found: Mapping[int, Any] = kind.from_cryptography_key(self.key.public_key())
        return found

    def sign(self, message: bytes) -> bytes:
        match self.key:
            case ec.EllipticCurvePrivateKey():
                return self.key.sign(message, ec.ECDSA(SHA256()))
            case ed25519.Ed25519PrivateKey():
                return self.key.sign(message)
            case rsa.RSAPrivateKey():
                return self.key.sign(message, padding.PKCS1v15(), SHA256())


@dataclass(frozen=True)
class Page:
    """The page's origin and the browser's client data for it. `says` replaces fields of the client data."""

    origin: str
    rp_id: str | None = None
    says: Mapping[str, Any] = field(default_factory=dict)

    def client_data(self, ceremony: str, challenge: str) -> bytes:
        fields = {"type": ceremony, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps({**fields, **self.says}).encode()


class SoftAuthenticator:
    """`flags` are those of what it signs; with `counting` each passkey counts its uses."""

    def __init__(self, flags: int = PRESENT | VERIFIED, *, counting: bool = True, algorithm: int = -7) -> None:
        self.flags = flags
        self.counting = counting
        self.algorithm = algorithm
        self.passkeys: list[SoftPasskey] = []

    def create(self, options: Mapping[str, Any], page: Page) -> dict[str, Any]:
        """Returns the browser's answer to `publicKey` of a page that makes a passkey."""
        passkey = SoftPasskey(new_key(self.algorithm), handle=decode(options["user"]["id"]))
        self.passkeys.append(passkey)
        key = cbor.encode(passkey.public_key)
        credential = bytes(16) + struct.pack(">H", len(passkey.id)) + passkey.id + key
        data = self._data(page.rp_id or options["rp"]["id"], passkey, self.flags | ATTESTED) + credential
        response = {
            "clientDataJSON": encode(page.client_data("webauthn.create", options["challenge"])),
            "attestationObject": encode(cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})),
            "transports": ["internal"],
        }
        return _credential(passkey, response)

    def get(self, options: Mapping[str, Any], page: Page, passkey: SoftPasskey | None = None) -> dict[str, Any]:
        """Returns the browser's answer to `publicKey` of a page that asks for a passkey; signs with the newest unless
        one is given.
        """
        used = passkey or self.passkeys[-1]
        used.counter += self.counting
        data = self._data(page.rp_id or options["rpId"], used, self.flags)
        client = page.client_data("webauthn.get", options["challenge"])
        response = {
            "clientDataJSON": encode(client),
            "authenticatorData": encode(data),
            "signature": encode(used.sign(data + hashlib.sha256(client).digest())),
            "userHandle": encode(used.handle),
        }
        return _credential(used, response)

    def _data(self, rp_id: str, passkey: SoftPasskey, flags: int) -> bytes:
        return hashlib.sha256(rp_id.encode()).digest() + struct.pack(">BI", flags, passkey.counter)


def _credential(passkey: SoftPasskey, response: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": encode(passkey.id),
        "rawId": encode(passkey.id),
        "type": "public-key",
        "authenticatorAttachment": "platform",
        "clientExtensionResults": {},
        "response": response,
    }

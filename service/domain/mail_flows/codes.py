"""Codes, link tokens and names of accounts, and the digests stored in their place."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

CODE_DIGITS = 6
TOKEN_BYTES = 32
# Maximum length of a link's token and of a sign-in's code; longer ones are not looked up.
MAX_TOKEN = 64


@dataclass(frozen=True, slots=True)
class Proofs:
    """The proofs of one mail."""

    flow_id: str
    code: str = field(repr=False)
    token: str = field(repr=False)


def new_proofs() -> Proofs:
    code = f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"
    return Proofs(secrets.token_urlsafe(16), code, secrets.token_urlsafe(TOKEN_BYTES))


def hash_token(token: str) -> str:
    """256 random bits cannot be searched, so a plain SHA-256 is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def hash_code(key: bytes, flow_id: str, code: str) -> str:
    """Six digits can be searched, but not without the key. One flow's is of no use to another."""
    return _mac(key, f"code/{flow_id}/{code}")


def name_account(key: bytes, project_id: str, email: str) -> str:
    """The name under which an account's mails and mistakes are counted, without the address."""
    return _mac(key, f"account/{project_id}/{email}")[:32]


def _mac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()

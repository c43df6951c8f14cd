"""Proofs of work by ALTCHA v2. They make many requests dear; they tell no people from programs. Pure, but for the clock."""

import json
import time
from base64 import b64decode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import altcha

ALGORITHM, COST, PREFIX = "PBKDF2/SHA-256", 5_000, "00"
LIFE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Challenge:
    """The part of a genuine, solved challenge that is kept: its nonce, until it expires."""

    nonce: str
    expires_at: datetime


def new_challenge(key: bytes, project_id: str, flow: str) -> dict[str, Any]:
    """A challenge as the widget takes it. Browsers try 256 keys in the mean."""
    made = altcha.create_challenge(
        ALGORITHM,
        COST,
        key_prefix=PREFIX,
        expires_at=int(time.time()) + LIFE_SECONDS,
        data={"project": project_id, "flow": flow},
        hmac_secret=key,
    )
    return made.to_dict()


def read_solution(text: str, key: bytes) -> Challenge | None:
    """The challenge that the text solves; None for one that `key` did not sign, that has expired, or is not solved.

    A solved one costs a derivation of the key, about 2 ms. The signature is compared before that.
    """
    try:
        payload = altcha.Payload.from_dict(json.loads(b64decode(text, validate=True)))
        verified = altcha.verify_solution(payload, key).verified
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not verified:
        return None
    parameters = payload.challenge.parameters
    return Challenge(parameters.nonce, datetime.fromtimestamp(parameters.expires_at or 0, UTC))

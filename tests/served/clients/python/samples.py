"""Tokens without a good signature."""

import base64
import json
from collections.abc import Mapping
from typing import Any


def part(value: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def token(claims: Mapping[str, Any]) -> str:
    return f"{part({'alg': 'ES256'})}.{part(claims)}.c2ln"

"""Client secrets that are signed for each request, so that none lies around to expire (Apple: six months at most)."""

import time

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from service.providers.registration import SigningSecret

LIFE_SECONDS = 300
CURVE = "P-256"


def sign_secret(secret: SigningSecret, client_id: str, audience: str) -> str:
    """A JWT that authenticates the client, for five minutes. Raises ValueError for a key that `read_key` refuses."""
    moment = int(time.time())
    claims = {
        "iss": secret.team_id,
        "iat": moment,
        "exp": moment + LIFE_SECONDS,
        "aud": audience,
        "sub": client_id,
    }
    return jwt.encode({"alg": "ES256", "kid": secret.key_id}, claims, read_key(secret.private_key))


def read_key(pem: str) -> ECKey:
    """Raises ValueError for a text that is no private key on that curve, as PEM."""
    try:
        key = ECKey.import_key(pem)
    except (JoseError, ValueError, TypeError):
        raise ValueError("must be a private key on P-256, as PEM") from None
    if not key.is_private or key.curve_name != CURVE:
        raise ValueError("must be a private key on P-256, as PEM")
    return key

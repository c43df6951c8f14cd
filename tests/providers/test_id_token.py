"""ID tokens that are good in less usual ways. The bad ones are in test_gateway, with a provider that makes them."""

import time
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key, KeySet, OKPKey, RSAKey

from service.errors import SignInFailed
from service.providers.openid import ALGORITHMS, verify

ISSUER, CLIENT, NONCE = "https://accounts.example.com", "client", "nonce"
RSA = RSAKey.generate_key(2048, {"kid": "rsa"})
KEYS: dict[str, Key] = {
    "RS256": RSA,
    "PS512": RSA,
    "ES256": ECKey.generate_key("P-256", {"kid": "p256"}),
    "ES384": ECKey.generate_key("P-384", {"kid": "p384"}),
    "Ed25519": OKPKey.generate_key("Ed25519", {"kid": "ed"}),
}


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    usual = {"iss": ISSUER, "aud": CLIENT, "sub": "1", "nonce": NONCE, "iat": now, "exp": now + 300}
    return {**usual, **changes}


def judged(content: dict[str, Any], alg: str = "RS256", **header: Any) -> dict[str, Any]:
    key = KEYS[alg]
    token = jwt.encode({"alg": alg, **header}, content, key, algorithms=[alg])
    return verify(token, KeySet([key]), issuer=ISSUER, client_id=CLIENT, nonce=NONCE)


@pytest.mark.parametrize("alg", KEYS)
def test_verify(alg: str) -> None:
    assert alg in ALGORITHMS
    assert judged(claims(), alg, kid=KEYS[alg].kid)["sub"] == "1"


@pytest.mark.parametrize(
    "change",
    [{"aud": [CLIENT]}, {"aud": [CLIENT, "another"], "azp": CLIENT}, {"azp": CLIENT}],
    ids=["list of one", "two with azp", "azp"],
)
def test_verify_accepts(change: dict[str, Any]) -> None:
    assert judged(claims(**change))["sub"] == "1"


@pytest.mark.parametrize(("name", "seconds"), [("exp", -30), ("iat", 30)])
def test_verify_allows_for_clocks_that_differ(name: str, seconds: int) -> None:
    assert judged(claims(**{name: int(time.time()) + seconds}))["sub"] == "1"


@pytest.mark.parametrize(
    "change",
    [{"aud": []}, {"aud": [CLIENT, "another"]}, {"aud": [CLIENT, 5]}, {"azp": "another"}, {"azp": None}, {"sub": ""}],
    ids=str,
)
def test_verify_refuses(change: dict[str, Any]) -> None:
    with pytest.raises(SignInFailed):
        judged(claims(**change))


def test_no_algorithm_works_without_a_private_key() -> None:
    assert [name for name in ALGORITHMS if name.startswith("HS") or name == "none"] == []


def test_a_token_without_kid_is_good_where_there_is_one_key() -> None:
    assert judged(claims())["sub"] == "1"

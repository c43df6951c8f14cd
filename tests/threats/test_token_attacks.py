"""Rows T1 to T4: forged, foreign, stale and misplaced credentials."""

import base64
import hmac
import json
import time
from typing import Any

import httpx2
import jwt as pyjwt
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from service.domain.projects.lookup import Projects
from tests.conftest import BASE_URL, Api
from tests.threats.conftest import Victim, assert_refused

PROFILE = "/auth-collections/user"
REFUSAL = {"detail": "Invalid token or token expired", "code": "invalid_token"}


def encode(part: Any) -> str:
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    header, payload, signature = token.split(".")
    decoded = [json.loads(base64.urlsafe_b64decode(part + "==")) for part in (header, payload)]
    return decoded[0], decoded[1], signature


async def assert_no_entry(victim: Victim, token: str) -> None:
    response = await victim.api.as_user(token, "GET", PROFILE)
    assert_refused(response, 401)
    assert response.json() == REFUSAL
    assert response.headers["www-authenticate"].startswith("Bearer")


def signed(victim: Victim, header: dict[str, Any] | None = None, **claims: Any) -> str:
    """A token made with the project's real key, with these changes; a claim of None is left out."""
    real_header, real_claims, _ = parts(victim.token)
    changed = {name: value for name, value in (real_claims | claims).items() if value is not None}
    return jwt.encode(real_header | (header or {}), changed, victim.api.project.signing_key, algorithms=["ES256"])


async def test_the_token_made_by_hand_is_a_good_one(victim: Victim) -> None:
    """The other tests change one thing each of a token that is accepted."""
    response = await victim.api.as_user(signed(victim), "GET", PROFILE)
    assert response.status_code == 200


@pytest.mark.parametrize(
    "alg", ["none", "None", "NONE", "nOnE", "", "HS256", "HS384", "RS256", "ES384", "ES256K", "EdDSA", "PS256"]
)
async def test_t1_other_algorithms(victim: Victim, alg: str) -> None:
    header, claims, signature = parts(victim.token)
    for last in ("", signature):
        await assert_no_entry(victim, f"{encode(header | {'alg': alg})}.{encode(claims)}.{last}")


async def test_t1_the_public_key_as_a_shared_secret(victim: Victim, http: httpx2.AsyncClient) -> None:
    header, claims, _ = parts(victim.token)
    (public,) = (await http.get(f"/auth-collections/jwks/{victim.api.project.id}")).json()["keys"]
    pem = ECKey.import_key(public).as_pem(private=False)
    unsigned = f"{encode(header | {'alg': 'HS256'})}.{encode(claims)}"
    for secret in (pem, pem.strip(), json.dumps(public).encode(), public["x"].encode()):
        signature = hmac.digest(secret, unsigned.encode(), "sha256")
        await assert_no_entry(victim, f"{unsigned}.{encode(signature)}")


async def test_t1_a_key_that_the_token_brings_along(victim: Victim) -> None:
    header, claims, _ = parts(victim.token)
    own = ECKey.generate_key("P-256")
    extras: list[dict[str, Any]] = [
        {"jwk": own.as_dict(private=False)},
        {"jku": "http://127.0.0.1:9/keys"},
        {"x5u": "http://127.0.0.1:9/cert"},
        {"kid": own.thumbprint()},
        {"kid": f"{victim.api.project.id}.00000000"},
        {"kid": f"{victim.other.project.id}.x"},
        {"kid": "../../../etc/passwd"},
        {"kid": {"$ne": ""}},
        {"kid": ["a"]},
        {"kid": None},
        {"kid": "x' OR '1'='1"},
    ]
    for extra in extras:
        unsigned = encode({**header, **extra})
        signature = jwt.encode({**header}, claims, own, algorithms=["ES256"]).split(".")[2]
        await assert_no_entry(victim, f"{unsigned}.{encode(claims)}.{signature}")
    rsa = RSAKey.generate_key(2048)
    await assert_no_entry(victim, jwt.encode(header | {"alg": "RS256"}, claims, rsa, algorithms=["RS256"]))


async def test_t1_an_unknown_critical_header(victim: Victim) -> None:
    header, claims, _ = parts(victim.token)
    key = victim.api.project.signing_key.as_pem(private=True)
    forged = pyjwt.encode(claims, key, algorithm="ES256", headers=header | {"crit": ["exp-policy"], "exp-policy": 1})
    await assert_no_entry(victim, forged)


async def test_t1_edited_and_mangled_tokens(victim: Victim) -> None:
    header, claims, _ = parts(victim.token)
    h, p, s = victim.token.split(".")
    other_user = encode(claims | {"sub": "0" * 24})
    mangled = [
        *(
            f"{h}.{other_user}.{s}",
            f"{h}.{p}.",
            f"{h}.{p}",
            f".{p}.{s}",
            h,
            "",
            "..",
            "...",
            "a.b.c",
            f"{h}.{p}.{s}.{s}",
        ),
        *(
            f"{h}.{p}.{s[:-4]}AAAA",
            f"{h}.{p}.{'A' * len(s)}",
            f"{h} {p} {s}",
            f"{encode(b'[' * 1500)}.{p}.{s}",
            f"é.{p}.{s}",
        ),
        *(
            f"{encode(b'null')}.{p}.{s}",
            f"{encode(b'{}')}.{p}.{s}",
            f"{encode(header)}.{encode(b'[]')}.{s}",
            "x" * 1_000_000,
        ),
    ]
    for token in mangled:
        response = await victim.api.http.get(
            PROFILE, headers=[(b"authorization", b"Bearer " + token.encode("latin-1"))]
        )
        assert_refused(response, 401)
        assert response.json() == REFUSAL


async def test_t2_a_token_of_another_project(victim: Victim) -> None:
    theirs = (await victim.other.login("other@example.com", "other's password")).json()["access_token"]
    profile = (await victim.other.as_user(theirs, "GET", PROFILE)).json()
    assert profile["email"] == "other@example.com"
    await assert_no_entry(victim, signed(victim, aud=victim.other.project.id))
    header, claims, _ = parts(victim.token)
    stolen = jwt.encode(header, claims, victim.other.project.signing_key, algorithms=["ES256"])
    await assert_no_entry(victim, stolen)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": None},
        {"exp": int(time.time()) - 1},
        {"exp": "tomorrow"},
        {"exp": True},
        {"nbf": int(time.time()) + 86_400},
        {"iss": "http://elsewhere.example"},
        {"iss": None},
        {"aud": None},
        {"aud": ["x", "y"]},
        {"sub": None},
        {"sub": {"$ne": ""}},
        {"sub": 5},
        {"ver": None},
        {"ver": 2},
        {"ver": {"$gt": 0}},
        {"sub": "0" * 24},
        {"sid": 5},
        {"sid": {"$ne": ""}},
        {"auth_time": "now"},
        {"aal": True},
    ],
)
async def test_t2_claims_that_are_missing_or_wrong(victim: Victim, claims: dict[str, Any]) -> None:
    await assert_no_entry(victim, signed(victim, **claims))


async def test_t2_the_token_of_a_deleted_user_dies_at_once(fresh_victim: Victim) -> None:
    assert (await fresh_victim.as_user("GET")).status_code == 200
    fresh_victim.api.database["users"].delete_one({})
    await assert_no_entry(fresh_victim, fresh_victim.token)
    assert_refused(await fresh_victim.as_user("PUT", json={"x": 1}), 401)
    assert fresh_victim.api.database["users"].count_documents({}) == 0


async def test_t2_a_token_of_an_earlier_version_is_refused(fresh_victim: Victim) -> None:
    fresh_victim.api.database["users"].update_one({}, {"$inc": {"token_version": 1}})
    await assert_no_entry(fresh_victim, fresh_victim.token)


async def test_t3_credentials_in_the_query_string(victim: Victim) -> None:
    key, token, http = victim.api.key, victim.token, victim.api.http
    assert_refused(await http.get(f"/auth-collections/users?x-api-key={key}"), 401)
    assert_refused(await http.get(f"/auth-collections/users?api_key={key}"), 401)
    for name in ("access_token", "token", "authorization"):
        assert_refused(await http.get(f"{PROFILE}?{name}={token}"), 401)


async def test_t3_two_headers_of_one_kind(victim: Victim) -> None:
    http, bearer = victim.api.http, f"Bearer {victim.token}"
    doubled = [("x-api-key", victim.api.key), ("x-api-key", victim.api.key)]
    assert_refused(await http.get("/auth-collections/users", headers=doubled), 401)
    assert_refused(await http.get(PROFILE, headers=[("authorization", bearer), ("authorization", bearer)]), 401)


@pytest.mark.parametrize(
    "key", ["", "ac_", "x", "ac_aaaaaaaa_" + "A" * 32, "ac_aaaaaaaa_" + "A" * 31 + "é", "A" * 100_000, "*"]
)
async def test_t3_a_key_that_is_none(victim: Victim, key: str) -> None:
    response = await victim.api.http.get("/auth-collections/users", headers=[(b"x-api-key", key.encode("latin-1"))])
    assert_refused(response, 401)
    assert response.json() == {"detail": "Invalid API key", "code": "invalid_api_key"}


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer ", "Basic dTpw", "bearer", "Token {token}", "{token}", "Bearer {token} x"]
)
async def test_t3_an_authorization_that_is_no_bearer(victim: Victim, value: str) -> None:
    headers = {"authorization": value.format(token=victim.token)}
    assert_refused(await victim.api.http.get(PROFILE, headers=headers), 401)


async def test_t3_the_scheme_in_any_case(victim: Victim) -> None:
    for scheme in ("bearer", "BEARER"):
        response = await victim.api.http.get(PROFILE, headers={"authorization": f"{scheme} {victim.token}"})
        assert response.status_code == 200


async def test_t4_a_rotated_key_is_refused_when_its_five_seconds_are_over(
    api: Api, services: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await api.users()).status_code == 200
    new_key = (await services.base.keys.rotate(api.project.id)).key
    assert (await api.http.get("/auth-collections/users", headers={"x-api-key": new_key})).status_code == 200
    projects: Projects = services.base.projects
    # As if the promised five seconds had gone by.
    for cache in (projects._by_key, projects._by_id):  # noqa: SLF001 - what this worker remembers is what the test ages
        assert cache.seconds == 5
        monkeypatch.setattr(cache, "seconds", 0)
    assert_refused(await api.users(), 401)


async def test_a_token_verifies_with_another_library_from_the_jwks(victim: Victim) -> None:
    response = await victim.api.http.get(f"/auth-collections/jwks/{victim.api.project.id}")
    assert response.headers["cache-control"] == "public, max-age=300"
    (key,) = response.json()["keys"]
    assert key.keys() == {"kty", "crv", "x", "y", "kid", "use", "alg"}
    assert pyjwt.get_unverified_header(victim.token)["kid"] == key["kid"]
    claims = pyjwt.decode(
        victim.token, pyjwt.PyJWK(key), algorithms=["ES256"], audience=victim.api.project.id, issuer=BASE_URL
    )
    assert claims.keys() == {"iss", "aud", "sub", "iat", "exp", "jti", "ver", "sid", "aal", "amr", "auth_time"}
    assert claims["sub"] == victim.user["id"]
    assert claims["exp"] - claims["iat"] == 30 * 24 * 3600


async def test_the_jwks_of_an_unknown_project(victim: Victim) -> None:
    for name in ("nobody", "A", "x" * 100, "$ne"):
        assert_refused(await victim.api.http.get(f"/auth-collections/jwks/{name}"), 404)


@pytest.mark.parametrize("ahead", [2, 55])
async def test_n32_a_token_of_a_host_whose_clock_is_ahead(victim: Victim, ahead: int) -> None:
    response = await victim.api.as_user(signed(victim, iat=int(time.time()) + ahead), "GET", PROFILE)
    assert response.status_code == 200


async def test_n32_a_token_from_the_future(victim: Victim) -> None:
    await assert_no_entry(victim, signed(victim, iat=int(time.time()) + 3600))


@pytest.mark.parametrize("iat", ["now", True], ids=str)
async def test_n32_a_token_of_no_time(victim: Victim, iat: object) -> None:
    await assert_no_entry(victim, signed(victim, iat=iat))


async def test_n32_the_end_of_a_token_has_no_leeway(victim: Victim) -> None:
    await assert_no_entry(victim, signed(victim, exp=int(time.time()) - 1))

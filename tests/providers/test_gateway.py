"""From a registration to a profile, against a real provider: what each of its faults leads to."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
import pytest_asyncio

from faults.provider import CLIENT_ID, CLIENT_SECRET, Provider
from faults.provider.answers import ANSWERS, SLOW_SECONDS
from faults.provider.tokens import TWISTS
from service.errors import InvalidAuthorizationCode, ProfileNotFetched, SignInFailed, Unavailable
from service.outbound.fetching import Outbound
from service.providers import AuthorizationResponse, Endpoints, FlowSecrets, Gateway, ProviderProfile, Registration

CALLBACK = "http://127.0.0.1:9/callback"
TOTAL_SECONDS = 1.0


@pytest_asyncio.fixture
async def gateway() -> AsyncIterator[Gateway]:
    outbound = Outbound(total_seconds=TOTAL_SECONDS)
    yield Gateway(outbound)
    await outbound.aclose()


def openid(idp: Provider, issuer: str = "standard", **changes: Any) -> Registration:
    registration = Registration(CLIENT_ID, CLIENT_SECRET, CALLBACK, "openid email profile", idp.issuer(issuer))
    return replace(registration, **changes)


def oauth(idp: Provider, **changes: Any) -> Registration:
    base = idp.issuer()
    endpoints = Endpoints(f"{base}/authorize", f"{base}/token", f"{base}/userinfo")
    return openid(idp, **{"scopes": "email", "provider": endpoints, **changes})


PROOFS = FlowSecrets(state="s" * 43, nonce="n" * 43, code_verifier="v" * 43)


async def signed_in(gateway: Gateway, registration: Registration, provider: Provider, account: str) -> ProviderProfile:
    url = await gateway.authorize_url(registration, PROOFS)
    callback = dict(parse_qsl(urlsplit(await asyncio.to_thread(provider.answer, url, account)).query))
    return await gateway.profile(
        registration, proofs=PROOFS, answer=AuthorizationResponse(callback["code"], callback.get("iss"))
    )


async def test_the_authorize_url_carries_state_nonce_and_challenge(gateway: Gateway, provider: Provider) -> None:
    url = await gateway.authorize_url(openid(provider), PROOFS)
    assert url.startswith(f"{provider.issuer()}/authorize?")
    query = parse_qs(urlsplit(url).query)
    # The challenge is the S256 of the verifier, computed with `openssl dgst -sha256`.
    assert query == {
        "response_type": ["code"],
        "client_id": [CLIENT_ID],
        "redirect_uri": [CALLBACK],
        "scope": ["openid email profile"],
        "state": [PROOFS.state],
        "nonce": [PROOFS.nonce],
        "code_challenge": ["7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM"],
        "code_challenge_method": ["S256"],
    }


async def test_the_authorize_url_of_plain_oauth_has_no_nonce(gateway: Gateway, provider: Provider) -> None:
    endpoints = Endpoints("https://provider.example/authorize?tenant=1", "https://x.example", "https://x.example")
    query = parse_qs(urlsplit(await gateway.authorize_url(oauth(provider, provider=endpoints), PROOFS)).query)
    assert query["tenant"] == ["1"]
    assert query["state"] == [PROOFS.state]
    assert "nonce" not in query
    assert provider.calls == {}


PROFILES = [
    ("ada", ProviderProfile("sub-ada", "ada@example.com", True, "Ada Lovelace"), 1),
    ("björn", ProviderProfile("sub-bjorn", "Bjorn@Example.COM", True, "Björn O'Neill"), 0),
    ("nameless", ProviderProfile("sub-nameless", "nameless@example.com", True, None), 1),
    ("no_email", ProviderProfile("sub-no_email", None, None, "No Email"), 1),
    ("no_email_in_id_token", ProviderProfile("sub-no_email", None, None, "No Email"), 1),
    ("blank_email", ProviderProfile("sub-blank_email", None, True, "Blank Email"), 1),
    ("verified_text", ProviderProfile("sub-verified_text", "verified.text@example.com", "false", "Verified Text"), 1),
]


@pytest.mark.parametrize(("account", "profile", "asked"), PROFILES, ids=[row[0] for row in PROFILES])
async def test_profile(
    gateway: Gateway, provider: Provider, account: str, profile: ProviderProfile, asked: int
) -> None:
    assert await signed_in(gateway, openid(provider), provider, account) == profile
    assert provider.calls["userinfo"] == asked


async def test_profile_of_plain_oauth(gateway: Gateway, provider: Provider) -> None:
    profile = await signed_in(gateway, oauth(provider), provider, "ada")
    assert profile == ProviderProfile("sub-ada", "ada@example.com", True, "Ada Lovelace")
    assert (provider.calls["discovery"], provider.calls["jwks"]) == (0, 0)


async def test_profile_without_a_userinfo_endpoint(gateway: Gateway, provider: Provider) -> None:
    profile = await signed_in(gateway, openid(provider, "bare"), provider, "björn")
    assert profile.email == "Bjorn@Example.COM"
    assert (await signed_in(gateway, openid(provider, "bare"), provider, "ada")).email is None


@pytest.mark.parametrize(
    ("issuer", "forced", "used"),
    [
        ("standard", None, "client_secret_basic"),
        ("post", None, "client_secret_post"),
        ("standard", "client_secret_post", "client_secret_post"),
    ],
)
async def test_client_authentication(
    gateway: Gateway, provider: Provider, issuer: str, forced: str | None, used: str
) -> None:
    await signed_in(gateway, openid(provider, issuer, client_auth=forced), provider, "ada")
    assert provider.client_auth == [used]


async def test_a_wrong_secret_is_a_code_that_cannot_be_exchanged(gateway: Gateway, provider: Provider) -> None:
    with pytest.raises(InvalidAuthorizationCode):
        await signed_in(gateway, openid(provider, client_secret="guessed"), provider, "ada")


@pytest.mark.parametrize("twist", TWISTS)
async def test_an_id_token_is_refused(gateway: Gateway, provider: Provider, twist: str) -> None:
    with pytest.raises(SignInFailed) as caught:
        await signed_in(gateway, openid(provider), provider, f"id_token_{twist}")
    assert caught.value.code == "authentication_failed"
    assert provider.calls["userinfo"] == 0


async def test_scopes_without_openid_give_no_id_token(gateway: Gateway, provider: Provider) -> None:
    with pytest.raises(SignInFailed, match="no ID token"):
        await signed_in(gateway, openid(provider, scopes="email"), provider, "ada")


@pytest.mark.parametrize("answer", ANSWERS)
async def test_a_faulty_token_endpoint(gateway: Gateway, provider: Provider, answer: str) -> None:
    started = time.monotonic()
    with pytest.raises(InvalidAuthorizationCode):
        await signed_in(gateway, openid(provider), provider, f"token_{answer}")
    assert time.monotonic() - started < SLOW_SECONDS
    assert (provider.calls["userinfo"], provider.calls["elsewhere"]) == (0, 0)


@pytest.mark.parametrize("answer", [answer for answer in ANSWERS if answer != "refused_with_200"])
async def test_a_faulty_userinfo_endpoint(gateway: Gateway, provider: Provider, answer: str) -> None:
    code = "authentication_failed" if answer == "empty_object" else "failed_to_get_user_info"
    with pytest.raises(SignInFailed) as caught:
        await signed_in(gateway, openid(provider), provider, f"userinfo_{answer}")
    assert caught.value.code == code
    assert provider.calls["elsewhere"] == 0


async def test_a_profile_without_a_subject_is_none(gateway: Gateway, provider: Provider) -> None:
    with pytest.raises(ProfileNotFetched):
        await signed_in(gateway, oauth(provider), provider, "userinfo_empty_object")


async def test_the_userinfo_of_another_subject_is_refused(gateway: Gateway, provider: Provider) -> None:
    with pytest.raises(SignInFailed, match="another subject"):
        await signed_in(gateway, openid(provider), provider, "other_userinfo")


async def test_the_answer_must_name_the_issuer_that_promised_to(gateway: Gateway, provider: Provider) -> None:
    profile = await signed_in(gateway, openid(provider, "named"), provider, "ada")
    assert profile.subject == "sub-ada"
    provider.forget()
    for named in (None, "https://issuer.example", provider.issuer("standard")):
        with pytest.raises(SignInFailed, match="another issuer"):
            await gateway.profile(openid(provider, "named"), proofs=PROOFS, answer=AuthorizationResponse("code", named))
    assert provider.calls == {}


async def test_another_issuer_in_the_answer_is_refused_also_without_a_promise(
    gateway: Gateway, provider: Provider
) -> None:
    with pytest.raises(SignInFailed, match="another issuer"):
        await gateway.profile(
            openid(provider), proofs=PROOFS, answer=AuthorizationResponse("code", "https://issuer.example")
        )
    assert provider.calls["token"] == 0


@pytest.mark.parametrize("issuer", ["mislabelled", "outside", "down", "unknown"])
async def test_an_unusable_configuration(gateway: Gateway, provider: Provider, issuer: str) -> None:
    with pytest.raises(Unavailable):
        await gateway.authorize_url(openid(provider, issuer), PROOFS)
    with pytest.raises(SignInFailed) as caught:
        await gateway.profile(openid(provider, issuer), proofs=PROOFS, answer=AuthorizationResponse("code"))
    assert caught.value.code == "authentication_failed"


async def test_a_provider_that_is_not_there(gateway: Gateway, provider: Provider) -> None:
    registration = openid(provider, provider="http://127.0.0.1:9/closed")
    with pytest.raises(Unavailable):
        await gateway.authorize_url(registration, PROOFS)


async def test_documents_and_keys_are_read_once(gateway: Gateway, provider: Provider) -> None:
    registration = openid(provider)
    await asyncio.gather(*(gateway.authorize_url(registration, PROOFS) for _ in range(20)))
    for _ in range(3):
        await signed_in(gateway, registration, provider, "ada")
    assert (provider.calls["discovery"], provider.calls["jwks"]) == (1, 1)


async def test_new_keys_are_read_for_an_unknown_kid_but_rarely(gateway: Gateway, provider: Provider) -> None:
    await signed_in(gateway, openid(provider), provider, "ada")
    provider.rotate_key()
    await signed_in(gateway, openid(provider), provider, "ada")
    assert provider.calls["jwks"] == 2
    for _ in range(5):
        with pytest.raises(SignInFailed, match="unknown key"):
            await signed_in(gateway, openid(provider), provider, "id_token_unknown_kid")
    assert provider.calls["jwks"] == 2


async def test_no_cookie_of_a_provider_is_sent_back(gateway: Gateway, provider: Provider) -> None:
    for _ in range(2):
        await signed_in(gateway, openid(provider), provider, "ada")
    assert provider.cookies == []


async def test_no_failure_repeats_what_was_sent(gateway: Gateway, provider: Provider) -> None:
    for account in ("token_refused", "userinfo_500", "id_token_other_key", "id_token_wrong_nonce"):
        with pytest.raises(SignInFailed) as caught:
            await signed_in(gateway, openid(provider), provider, account)
        text = repr(caught.value) + repr(openid(provider)) + repr(PROOFS) + repr(AuthorizationResponse("secret-code"))
        for secret in (CLIENT_SECRET, PROOFS.state, PROOFS.nonce, PROOFS.code_verifier, "secret-code", "<script>"):
            assert secret not in text

"""The authorization code grant with one provider: the URL where it begins, the exchange of the code, and whom it names.

The two messages are written with Authlib; the profile is read from claims that were already verified.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol
from urllib.parse import quote_plus

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc.jwk import KeySet

from service.errors import InvalidAuthorizationCode, ProfileNotFetched, SignInFailed
from service.outbound.fetching import FetchFailed, Outbound
from service.providers.openid import USUAL, Tolerances, UnknownKey, verify
from service.providers.registration import CLIENT_AUTH_METHODS, CLIENT_SECRET_POST, Endpoints, Registration
from service.providers.signed_secrets import sign_secret

# RFC 6749 appendix A.12: visible characters, so that a token can never break the header it is sent in.
ACCESS_TOKEN = re.compile(r"[\x21-\x7e]+")
# OpenID Connect Core 1.0 section 2: `sub` has at most 255 characters.
MAX_SUBJECT = 255
WANTED = frozenset({"email", "email_verified", "name"})


@dataclass(frozen=True, slots=True)
class FlowSecrets:
    """Secrets that bind an answer to its request; each random, used once, of at least 128 bits (RFC 9700 section 2.1)."""

    state: str = field(repr=False)
    nonce: str = field(repr=False)
    code_verifier: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ProviderProfile:
    """`subject` names the person at the provider for ever. `email_verified` is the value that was sent, of any type.

    `issuer` is whose subject it is, where the provider is several. An `is_authoritative` provider itself assigns the
    address. `claims` are all claims of the provider; a project may keep some.
    """

    subject: str
    email: str | None
    email_verified: object
    name: str | None
    issuer: str | None = None
    is_authoritative: bool = False
    claims: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ProviderTokens:
    """The answer of the token endpoint. `id_token` is unverified, and None at a plain OAuth 2.0 provider."""

    access_token: str = field(repr=False)
    id_token: str | None = field(repr=False)


class FindKeys(Protocol):
    """An issuer's keys; others than `unlike`, which did not serve, if there are."""

    async def __call__(self, *, unlike: KeySet | None = None) -> KeySet: ...


@dataclass(frozen=True, slots=True)
class Exchange:
    """The requests of one sign-in, which all end by `deadline`, a time of the event loop."""

    outbound: Outbound
    registration: Registration
    endpoints: Endpoints
    proofs: FlowSecrets
    deadline: float

    async def tokens(self, code: str) -> ProviderTokens:
        """The tokens for `code` (RFC 6749 section 4.1.3). Raises InvalidAuthorizationCode."""
        verifier = self.proofs.code_verifier
        form, headers = token_request(self.registration, self.endpoints, code=code, code_verifier=verifier)
        try:
            answer = await self.outbound.post_form(self.endpoints.token, form, deadline=self.deadline, headers=headers)
        except FetchFailed as error:
            raise InvalidAuthorizationCode(str(error)) from None
        return read_tokens(answer)

    async def claims(
        self, token: str | None, issuer: str, find_keys: FindKeys, accepted: Tolerances = USUAL
    ) -> dict[str, Any]:
        """The claims of the ID token. Keys are fetched again if it names an unknown one. Raises SignInFailed."""
        if token is None:
            raise SignInFailed("the token answer has no ID token; does IDP_SCOPES name openid?")
        judge = partial(
            verify,
            issuer=issuer,
            client_id=self.registration.client_id,
            nonce=self.proofs.nonce,
            accepted=accepted,
        )
        try:
            keys = await find_keys()
            with suppress(UnknownKey):
                return judge(token, keys)
            return judge(token, await find_keys(unlike=keys))
        except FetchFailed as error:
            raise SignInFailed(f"the keys cannot be read: {error}") from None
        except UnknownKey:
            raise SignInFailed("the ID token is signed with an unknown key") from None

    async def userinfo(self, access_token: str) -> dict[str, Any]:
        """The answer of the userinfo endpoint (OpenID Connect Core 1.0 section 5.3). Raises ProfileNotFetched."""
        headers = {"authorization": f"Bearer {access_token}"}
        try:
            return await self.outbound.get_json(str(self.endpoints.userinfo), deadline=self.deadline, headers=headers)
        except FetchFailed as error:
            raise ProfileNotFetched(str(error)) from None

    async def addresses(self, access_token: str) -> list[Any] | None:
        """The list of addresses at the provider; None if it has no such list. Raises ProfileNotFetched."""
        path = self.registration.quirks.emails_path
        if path is None:
            return None
        headers = {"authorization": f"Bearer {access_token}"}
        try:
            return await self.outbound.get_list(
                f"{self.endpoints.userinfo}{path}", deadline=self.deadline, headers=headers
            )
        except FetchFailed as error:
            raise ProfileNotFetched(str(error)) from None


def read_tokens(answer: dict[str, Any]) -> ProviderTokens:
    """The tokens in the answer of a token endpoint (RFC 6749 section 5.1). Raises InvalidAuthorizationCode."""
    access_token, kind, id_token = (
        answer.get("access_token"),
        answer.get("token_type", "bearer"),
        answer.get("id_token"),
    )
    if not isinstance(access_token, str) or not ACCESS_TOKEN.fullmatch(access_token):
        raise InvalidAuthorizationCode("the token answer has no access token")
    # RFC 6749 section 7.1: a client must not use a token of a type it does not understand.
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise InvalidAuthorizationCode("the token answer is of another type than bearer")
    return ProviderTokens(access_token, id_token if isinstance(id_token, str) else None)


def authorize_url(registration: Registration, endpoints: Endpoints, *, proofs: FlowSecrets) -> str:
    """The URL to which the browser goes to sign in (RFC 6749 section 4.1.1, RFC 7636 section 4.3).

    `nonce` is sent to OpenID providers only (OpenID Connect Core 1.0 section 3.1.2.1).
    """
    return str(
        prepare_grant_uri(
            endpoints.authorize,
            registration.client_id,
            "code",
            redirect_uri=registration.redirect_url,
            scope=registration.scopes,
            state=proofs.state,
            code_challenge=create_s256_code_challenge(proofs.code_verifier),
            code_challenge_method="S256",
            nonce=proofs.nonce if endpoints.is_openid else None,
            response_mode=registration.quirks.response_mode,
        )
    )


def token_request(
    registration: Registration, endpoints: Endpoints, *, code: str, code_verifier: str
) -> tuple[str, dict[str, str]]:
    """The form and the headers that exchange `code` (RFC 6749 section 4.1.3), with the client's authentication."""
    form: dict[str, Any] = {"redirect_uri": registration.redirect_url, "code": code, "code_verifier": code_verifier}
    headers: dict[str, str] = {}
    if _method(registration, endpoints) == CLIENT_SECRET_POST:
        form |= {"client_id": registration.client_id, "client_secret": _secret(registration)}
    else:
        headers["authorization"] = _basic(registration)
    return str(prepare_token_request("authorization_code", **form)), headers


def _method(registration: Registration, endpoints: Endpoints) -> str:
    """The forced method, else the first of ours that the provider takes, else basic, which every provider must take."""
    offered = [method for method in CLIENT_AUTH_METHODS if method in endpoints.client_auth_methods]
    return registration.client_auth or next(iter(offered), CLIENT_AUTH_METHODS[0])


def _secret(registration: Registration) -> str:
    if registration.quirks.secret is None:
        return registration.client_secret
    return sign_secret(registration.quirks.secret, registration.client_id, registration.provider_name)


def _basic(registration: Registration) -> str:
    # RFC 6749 section 2.3.1 encodes both parts first, so that a colon in the id cannot move the boundary.
    pair = f"{quote_plus(registration.client_id)}:{quote_plus(_secret(registration))}"
    return "Basic " + b64encode(pair.encode()).decode()


def is_complete(claims: Mapping[str, Any], registration: Registration) -> bool:
    """True if an ID token already has the claims that the userinfo endpoint would give."""
    return claims.keys() >= {*WANTED, *registration.kept_claims.values()}


def openid_profile(claims: Mapping[str, Any], userinfo: Mapping[str, Any] | None) -> ProviderProfile:
    """The profile in an ID token and the answer of the userinfo endpoint, None when it was not asked.

    Raises SignInFailed when the two are not about the same subject (OpenID Connect Core 1.0 section 5.3.2).
    """
    subject = _subject(claims["sub"])
    if subject is None:
        raise SignInFailed("the ID token's subject is too long")
    if userinfo is None:
        userinfo = claims
    if userinfo.get("sub") != claims["sub"]:
        raise SignInFailed("the userinfo answer is about another subject")
    # An address and the word on it must come from one document, else one could vouch for the other's address.
    source = userinfo if userinfo.get("email") else claims
    name = _name(userinfo) or _name(claims)
    said = {**claims, **userinfo}
    return ProviderProfile(subject, _text(source.get("email")), source.get("email_verified"), name, claims=said)


def oauth_profile(userinfo: Mapping[str, Any]) -> ProviderProfile:
    """The profile in the answer of a plain OAuth 2.0 provider, whose subject is `sub` or `id`.

    Raises ProfileNotFetched when it names no subject.
    """
    subject = _subject(userinfo.get("sub", userinfo.get("id")))
    if subject is None:
        raise ProfileNotFetched("the profile has no subject")
    email, is_verified = _text(userinfo.get("email")), userinfo.get("email_verified")
    return ProviderProfile(subject, email, is_verified, _name(userinfo), claims=userinfo)


def _subject(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and 0 < len(value) <= MAX_SUBJECT else None


def _name(document: Mapping[str, Any]) -> str | None:
    return _text(document.get("name")) or _text(document.get("preferred_username"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None

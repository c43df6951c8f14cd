"""The door to every provider: from a registration to an authorize URL, and from the browser's answer to a profile."""

import re
from dataclasses import dataclass, field
from typing import Any

from cachetools import LRUCache

from service.errors import InvalidAuthorizationCode, ProfileNotFetched, SignInFailed, Unavailable
from service.providers.authorization import Proofs, authorize_url, token_request
from service.providers.id_token import UnknownKey, verify
from service.providers.issuer import Issuer
from service.providers.outbound import FetchFailed, Outbound
from service.providers.profile import Profile, is_complete, oauth_profile, openid_profile
from service.providers.registration import Endpoints, Registration

MAX_ISSUERS = 256
# RFC 6749 appendix A.12: visible characters, so that a token can never break the header it is sent in.
ACCESS_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the browser brought back from the provider: `code`, and `iss` where the provider names itself."""

    code: str = field(repr=False)
    issuer: str | None = None


class Gateway:
    """Holds the pooled client and the documents of the issuers. Give it the registration of each call."""

    def __init__(self, outbound: Outbound | None = None) -> None:
        self._outbound = outbound or Outbound()
        self._issuers: LRUCache[str, Issuer] = LRUCache(MAX_ISSUERS)

    async def authorize_url(self, registration: Registration, proofs: Proofs) -> str:
        """Where to send the browser. Raises Unavailable when the issuer's configuration cannot be read."""
        try:
            endpoints = await self._endpoints(registration, self._outbound.deadline())
        except FetchFailed as error:
            raise Unavailable(f"The identity provider cannot be used: {error}") from error
        return authorize_url(registration, endpoints, proofs)

    async def profile(self, registration: Registration, proofs: Proofs, answer: Answer) -> Profile:
        """Who signed in. Takes 10 s at most, all requests together.

        Raises InvalidAuthorizationCode when the code cannot be exchanged, ProfileNotFetched when the profile cannot be
        read, and SignInFailed for everything else.
        """
        deadline = self._outbound.deadline()
        try:
            endpoints = await self._endpoints(registration, deadline)
        except FetchFailed as error:
            raise SignInFailed(str(error)) from None
        check_issuer(endpoints, answer.issuer)
        tokens = await self._exchange(registration, endpoints, proofs, answer.code, deadline)
        if endpoints.issuer is None:
            return oauth_profile(await self._userinfo(endpoints, tokens, deadline))
        claims = await self._claims(registration, endpoints, proofs, tokens, deadline)
        complete = is_complete(claims) or endpoints.userinfo is None
        return openid_profile(claims, None if complete else await self._userinfo(endpoints, tokens, deadline))

    async def aclose(self) -> None:
        await self._outbound.aclose()

    def _issuer(self, name: str) -> Issuer:
        if name not in self._issuers:
            self._issuers[name] = Issuer(name, self._outbound)
        return self._issuers[name]

    async def _endpoints(self, registration: Registration, deadline: float) -> Endpoints:
        if registration.issuer is not None:
            return await self._issuer(registration.issuer).endpoints(deadline=deadline)
        assert registration.endpoints is not None  # noqa: S101 - a registration has one or the other
        return registration.endpoints

    async def _exchange(
        self, registration: Registration, endpoints: Endpoints, proofs: Proofs, code: str, deadline: float
    ) -> dict[str, Any]:
        form, headers = token_request(registration, endpoints, code=code, code_verifier=proofs.code_verifier)
        try:
            tokens = await self._outbound.post_form(endpoints.token, form, deadline=deadline, headers=headers)
        except FetchFailed as error:
            raise InvalidAuthorizationCode(str(error)) from None
        access_token, kind = tokens.get("access_token"), tokens.get("token_type", "bearer")
        if not isinstance(access_token, str) or not ACCESS_TOKEN.fullmatch(access_token):
            raise InvalidAuthorizationCode("the token answer has no access token")
        # RFC 6749 section 7.1: a client must not use a token of a type it does not understand.
        if not isinstance(kind, str) or kind.lower() != "bearer":
            raise InvalidAuthorizationCode("the token answer is of another type than bearer")
        return tokens

    async def _userinfo(self, endpoints: Endpoints, tokens: dict[str, Any], deadline: float) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {tokens['access_token']}"}
        try:
            return await self._outbound.get_json(str(endpoints.userinfo), deadline=deadline, headers=headers)
        except FetchFailed as error:
            raise ProfileNotFetched(str(error)) from None

    async def _claims(
        self, registration: Registration, endpoints: Endpoints, proofs: Proofs, tokens: dict[str, Any], deadline: float
    ) -> dict[str, Any]:
        """The verified claims of the ID token; its keys are read anew when it names one that is not known yet."""
        issuer, token = str(endpoints.issuer), tokens.get("id_token")
        if not isinstance(token, str):
            raise SignInFailed("the token answer has no ID token; does IDP_SCOPES name openid?")
        wanted = {"issuer": issuer, "client_id": registration.client_id, "nonce": proofs.nonce}
        try:
            keys = await self._issuer(issuer).keys(str(endpoints.jwks), deadline=deadline)
            try:
                return verify(token, keys, **wanted)
            except UnknownKey:
                keys = await self._issuer(issuer).keys(str(endpoints.jwks), deadline=deadline, unlike=keys)
                return verify(token, keys, **wanted)
        except FetchFailed as error:
            raise SignInFailed(f"the keys cannot be read: {error}") from None
        except UnknownKey:
            raise SignInFailed("the ID token is signed with an unknown key") from None


def check_issuer(endpoints: Endpoints, named: str | None) -> None:
    """Refuses an answer of another issuer than the one asked (RFC 9207 section 2.4). Raises SignInFailed."""
    if endpoints.issuer is None:
        return
    if named is None and not endpoints.names_itself:
        return
    if named != endpoints.issuer:
        raise SignInFailed("the answer comes from another issuer")

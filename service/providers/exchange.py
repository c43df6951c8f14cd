"""One authorization code on its way to a profile: the token request, the ID token's proof, the userinfo request."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from joserfc.jwk import KeySet

from service.errors import InvalidAuthorizationCode, ProfileNotFetched, SignInFailed
from service.providers.authorization import FlowSecrets, token_request
from service.providers.id_token import UnknownKey, verify
from service.providers.issuer import Issuer
from service.providers.outbound import FetchFailed, Outbound
from service.providers.registration import Endpoints, Registration

# RFC 6749 appendix A.12: visible characters, so that a token can never break the header it is sent in.
ACCESS_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class ProviderTokens:
    """What the token endpoint gave. `id_token` is unverified, and None at a plain OAuth 2.0 provider."""

    access_token: str = field(repr=False)
    id_token: str | None = field(repr=False)


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

    async def claims(self, token: str | None, issuer: Issuer) -> dict[str, Any]:
        """The claims of the ID token. The keys are read anew when it names one not known yet. Raises SignInFailed."""
        if token is None:
            raise SignInFailed("the token answer has no ID token; does IDP_SCOPES name openid?")
        keys = await self._keys(issuer)
        with suppress(UnknownKey):
            return self._verify(token, issuer, keys=keys)
        try:
            return self._verify(token, issuer, keys=await self._keys(issuer, unlike=keys))
        except UnknownKey:
            raise SignInFailed("the ID token is signed with an unknown key") from None

    async def userinfo(self, access_token: str) -> dict[str, Any]:
        """The answer of the userinfo endpoint (OpenID Connect Core 1.0 section 5.3). Raises ProfileNotFetched."""
        headers = {"authorization": f"Bearer {access_token}"}
        try:
            return await self.outbound.get_json(str(self.endpoints.userinfo), deadline=self.deadline, headers=headers)
        except FetchFailed as error:
            raise ProfileNotFetched(str(error)) from None

    async def _keys(self, issuer: Issuer, unlike: KeySet | None = None) -> KeySet:
        try:
            return await issuer.keys(str(self.endpoints.jwks), deadline=self.deadline, unlike=unlike)
        except FetchFailed as error:
            raise SignInFailed(f"the keys cannot be read: {error}") from None

    def _verify(self, token: str, issuer: Issuer, *, keys: KeySet) -> dict[str, Any]:
        client_id, nonce = self.registration.client_id, self.proofs.nonce
        return verify(token, keys, issuer=issuer.name, client_id=client_id, nonce=nonce)


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

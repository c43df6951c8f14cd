"""The door to every provider: from a registration to an authorize URL, and from the browser's answer to a profile."""

from dataclasses import dataclass, field

from service.errors import SignInFailed, Unavailable
from service.providers.grant import (
    Exchange,
    FlowSecrets,
    Profile,
    authorize_url,
    is_complete,
    oauth_profile,
    openid_profile,
)
from service.providers.issuer import Issuer
from service.providers.outbound import FetchFailed, Outbound
from service.providers.registration import Endpoints, Registration

MAX_ISSUERS = 256


@dataclass(frozen=True, slots=True)
class AuthorizationResponse:
    """What the browser brought back from the provider: `code`, and `iss` where the provider names itself."""

    code: str = field(repr=False)
    issuer: str | None = None


class Gateway:
    """Holds the pooled client and the documents of the issuers. Give it the registration of each call."""

    def __init__(self, outbound: Outbound | None = None) -> None:
        self._outbound = outbound or Outbound()
        self._issuers: dict[str, Issuer] = {}

    def knows(self, registration: Registration) -> bool:
        """Whether the authorize URL can be made without asking the provider for its configuration."""
        provider = registration.provider
        return isinstance(provider, Endpoints) or self._issuer(provider).known_endpoints is not None

    async def authorize_url(self, registration: Registration, proofs: FlowSecrets) -> str:
        """Where to send the browser. Raises Unavailable when the issuer's configuration cannot be read."""
        try:
            endpoints = await self._endpoints(registration, self._outbound.deadline())
        except FetchFailed as error:
            raise Unavailable(f"The identity provider cannot be used: {error}") from error
        return authorize_url(registration, endpoints, proofs=proofs)

    async def profile(
        self, registration: Registration, *, proofs: FlowSecrets, answer: AuthorizationResponse
    ) -> Profile:
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
        exchange = Exchange(self._outbound, registration, endpoints, proofs, deadline)
        tokens = await exchange.tokens(answer.code)
        if endpoints.issuer is None:
            return oauth_profile(await exchange.userinfo(tokens.access_token))
        claims = await exchange.claims(tokens.id_token, self._issuer(endpoints.issuer))
        if is_complete(claims) or endpoints.userinfo is None:
            return openid_profile(claims, None)
        return openid_profile(claims, await exchange.userinfo(tokens.access_token))

    async def aclose(self) -> None:
        await self._outbound.aclose()

    def _issuer(self, name: str) -> Issuer:
        """Kept by name. The one that was longest unused makes room for one too many."""
        issuer = self._issuers.pop(name, None) or Issuer(name, self._outbound)
        self._issuers[name] = issuer
        if len(self._issuers) > MAX_ISSUERS:
            del self._issuers[next(iter(self._issuers))]
        return issuer

    async def _endpoints(self, registration: Registration, deadline: float) -> Endpoints:
        if isinstance(registration.provider, Endpoints):
            return registration.provider
        return await self._issuer(registration.provider).endpoints(deadline=deadline)


def check_issuer(endpoints: Endpoints, named: str | None) -> None:
    """Refuses an answer of another issuer than the one asked (RFC 9207 section 2.4). Raises SignInFailed.

    A plain OAuth 2.0 provider has no issuer to compare with, and an issuer that promised nothing may stay silent.
    """
    if endpoints.issuer is None or (named is None and not endpoints.names_itself):
        return
    if named != endpoints.issuer:
        raise SignInFailed("the answer comes from another issuer")

"""The door to every provider: from a registration to an authorize URL, and from the browser's answer to a profile.

An OpenID issuer's documents, its configuration and its keys, are read when first needed and kept for an hour.
"""

import asyncio
import re
import time
from dataclasses import dataclass, field, replace
from functools import partial

from joserfc.jwk import KeySet

from service.errors import SignInFailed, Unavailable
from service.outbound.fetching import FetchFailed, Outbound, until
from service.providers.grant import (
    Exchange,
    FlowSecrets,
    ProviderProfile,
    authorize_url,
    is_complete,
    oauth_profile,
    openid_profile,
)
from service.providers.odd_profiles import odd_oauth_profile, odd_profile
from service.providers.openid import TENANT, TENANT_ID, USUAL, Tolerances, read_configuration, usable_keys
from service.providers.registration import NO_QUIRKS, Endpoints, Quirks, Registration

MAX_ISSUERS = 256
KEPT_SECONDS = 3600.0
# A token with an unknown key has the keys read again, but many such tokens must not become as many requests.
REFRESH_SECONDS = 60.0
WELL_KNOWN = "/.well-known/openid-configuration"
# In place of a tenant: Microsoft's name for all of them.
ANY_TENANT = "common"


@dataclass(frozen=True, slots=True)
class AuthorizationResponse:
    """The parameters the browser brought back from the provider: `code`, and `iss` if the provider names itself."""

    code: str = field(repr=False)
    issuer: str | None = None


class Issuer:
    """Reads and keeps the documents of `name`, which may call itself by `others`; callers at once share one request."""

    def __init__(self, name: str, outbound: Outbound, others: tuple[str, ...] = ()) -> None:
        self.name = name
        self._others = others
        self._outbound = outbound
        self._lock = asyncio.Lock()
        self._endpoints: Endpoints | None = None
        self._keys: KeySet | None = None
        self._kept_until = {"endpoints": 0.0, "keys": 0.0}
        self._refresh_after = 0.0

    @property
    def known_endpoints(self) -> Endpoints | None:
        """The URLs, where they were read less than an hour ago."""
        return self._endpoints if time.monotonic() < self._kept_until["endpoints"] else None

    @property
    def _known_keys(self) -> KeySet | None:
        return self._keys if time.monotonic() <= self._kept_until["keys"] else None

    async def endpoints(self, *, deadline: float) -> Endpoints:
        """The URLs that the issuer's configuration names. Raises FetchFailed, also when it names another issuer."""
        if (known := self.known_endpoints) is not None:
            return known
        async with until(deadline), self._lock:
            if (known := self.known_endpoints) is not None:
                return known
            self._endpoints = await self._read_endpoints(deadline)
            self._kept_until["endpoints"] = time.monotonic() + KEPT_SECONDS
            return self._endpoints

    async def keys(self, url: str, *, deadline: float, unlike: KeySet | None = None) -> KeySet:
        """The signing keys at `url`. `unlike`, keys that did not serve, are read again once a minute at most."""
        if unlike is None and (known := self._known_keys) is not None:
            return known
        async with until(deadline), self._lock:
            if self._known_keys is None or self._keys is None or self._may_refresh(unlike):
                self._keys = usable_keys(await self._outbound.get_json(url, deadline=deadline))
                self._kept_until["keys"] = time.monotonic() + KEPT_SECONDS
            return self._keys

    def _may_refresh(self, unlike: KeySet | None) -> bool:
        if unlike is None or self._keys is not unlike or time.monotonic() < self._refresh_after:
            return False
        self._refresh_after = time.monotonic() + REFRESH_SECONDS
        return True

    async def _read_endpoints(self, deadline: float) -> Endpoints:
        document = await self._outbound.get_json(place_of(self.name) + WELL_KNOWN, deadline=deadline)
        named = next((other for other in self._others if document.get("issuer") == other), self.name)
        return replace(read_configuration(document, named), issuer=self.name)


def place_of(issuer: str) -> str:
    """The URL below which the documents of an issuer stand."""
    return issuer.replace(TENANT, ANY_TENANT).rstrip("/")


class Gateway:
    """Holds the documents of the issuers. Give it the registration of each call."""

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._issuers: dict[tuple[str, tuple[str, ...]], Issuer] = {}

    def knows(self, registration: Registration) -> bool:
        """True if the authorize URL can be made without a request for the provider's configuration."""
        provider = registration.provider
        return isinstance(provider, Endpoints) or self._issuer(registration).known_endpoints is not None

    async def authorize_url(self, registration: Registration, proofs: FlowSecrets) -> str:
        """Returns the URL to send the browser to. Raises Unavailable if the issuer's configuration cannot be read."""
        try:
            endpoints = await self._endpoints(registration, self._deadline())
        except FetchFailed as error:
            raise Unavailable(f"The identity provider cannot be used: {error}") from error
        return authorize_url(registration, endpoints, proofs=proofs)

    async def profile(
        self, registration: Registration, *, proofs: FlowSecrets, answer: AuthorizationResponse
    ) -> ProviderProfile:
        """The profile of the user that signed in. Takes 10 s at most, all requests together.

        Raises InvalidAuthorizationCode if the code cannot be exchanged, ProfileNotFetched if the profile cannot be
        read, and SignInFailed for everything else.
        """
        deadline, quirks = self._deadline(), registration.quirks
        try:
            endpoints = await self._endpoints(registration, deadline)
        except FetchFailed as error:
            raise SignInFailed(str(error)) from None
        check_issuer(endpoints, answer.issuer, quirks.issuers)
        exchange = Exchange(self._outbound, registration, endpoints, proofs, deadline)
        issuer = None if isinstance(registration.provider, Endpoints) else self._issuer(registration)
        accepted = accepted_of(quirks)
        tokens = await exchange.tokens(answer.code)
        if issuer is None:
            found = await exchange.userinfo(tokens.access_token)
            if quirks is NO_QUIRKS:
                return oauth_profile(found)
            return odd_oauth_profile(found, await exchange.addresses(tokens.access_token), registration)
        keys = partial(issuer.keys, str(endpoints.jwks), deadline=deadline)
        claims = await exchange.claims(tokens.id_token, issuer.name, keys, accepted)
        if is_complete(claims, registration) or endpoints.userinfo is None or not quirks.has_userinfo:
            userinfo = None
        else:
            userinfo = await exchange.userinfo(tokens.access_token)
        return openid_profile(claims, userinfo) if quirks is NO_QUIRKS else odd_profile(claims, userinfo, registration)

    async def judge_token(self, registration: Registration, token: str, nonce: str) -> ProviderProfile:
        """The profile in an ID token that an app of the project received. Raises SignInFailed, Unavailable."""
        deadline = self._deadline()
        try:
            endpoints = await self._endpoints(registration, deadline)
        except FetchFailed as error:
            raise Unavailable(f"The identity provider cannot be used: {error}") from error
        proofs = FlowSecrets(state="", nonce=nonce, code_verifier="")
        exchange = Exchange(self._outbound, registration, endpoints, proofs, deadline)
        accepted = replace(accepted_of(registration.quirks), audiences=registration.quirks.audiences, is_native=True)
        issuer = self._issuer(registration)
        keys = partial(issuer.keys, str(endpoints.jwks), deadline=deadline)
        return odd_profile(await exchange.claims(token, issuer.name, keys, accepted), None, registration)

    def _deadline(self) -> float:
        """The time of the event loop at which all requests of one sign-in must have ended."""
        return asyncio.get_running_loop().time() + self._outbound.total_seconds

    def _issuer(self, registration: Registration) -> Issuer:
        """Kept by all its names, which others may not know. The one that was longest unused makes room for one too many."""
        name, others = str(registration.provider), registration.quirks.issuers
        issuer = self._issuers.pop((name, others), None) or Issuer(name, self._outbound, others)
        self._issuers[name, others] = issuer
        if len(self._issuers) > MAX_ISSUERS:
            del self._issuers[next(iter(self._issuers))]
        return issuer

    async def _endpoints(self, registration: Registration, deadline: float) -> Endpoints:
        if isinstance(registration.provider, Endpoints):
            return registration.provider
        return await self._issuer(registration).endpoints(deadline=deadline)


def accepted_of(quirks: Quirks) -> Tolerances:
    return USUAL if quirks is NO_QUIRKS else Tolerances(issuers=quirks.issuers, tenants=quirks.tenants)


def check_issuer(endpoints: Endpoints, named: str | None, others: tuple[str, ...] = ()) -> None:
    """Refuses an answer of another issuer than the one asked (RFC 9207 section 2.4). Raises SignInFailed.

    A plain OAuth 2.0 provider has no issuer to compare with, and an issuer that promised nothing may stay silent.
    """
    if endpoints.issuer is None or (named is None and not endpoints.names_itself):
        return
    if named != endpoints.issuer and named not in others and not _is_tenant(named, endpoints.issuer):
        raise SignInFailed("the answer comes from another issuer")


def _is_tenant(named: str | None, issuer: str) -> bool:
    """True if `named` is one of the tenants of an issuer with tenants; the ID token decides which."""
    before, tenant, after = issuer.partition(TENANT)
    pattern = re.escape(before) + TENANT_ID.pattern + re.escape(after)
    return bool(tenant) and named is not None and re.fullmatch(pattern, named) is not None

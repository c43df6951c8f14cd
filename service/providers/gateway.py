"""The door to every provider: from a registration to an authorize URL, and from the browser's answer to a profile.

An OpenID issuer's documents, its configuration and its keys, are read when first needed and kept for an hour.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet

from service.bounds import MAX_PROVIDER_KEYS
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
from service.providers.outbound import FetchFailed, Outbound, until
from service.providers.registration import CLIENT_SECRET_BASIC, Endpoints, Registration, is_allowed_url, is_loopback

MAX_ISSUERS = 256
KEPT_SECONDS = 3600.0
# A token with an unknown key has the keys read again, but many such tokens must not become as many requests.
REFRESH_SECONDS = 60.0
WELL_KNOWN = "/.well-known/openid-configuration"
ASYMMETRIC = frozenset({"RSA", "EC", "OKP"})


@dataclass(frozen=True, slots=True)
class AuthorizationResponse:
    """What the browser brought back from the provider: `code`, and `iss` where the provider names itself."""

    code: str = field(repr=False)
    issuer: str | None = None


class Issuer:
    """Reads and keeps the documents of `name`; callers that come at once share one request."""

    def __init__(self, name: str, outbound: Outbound) -> None:
        self.name = name
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
        document = await self._outbound.get_json(self.name.rstrip("/") + WELL_KNOWN, deadline=deadline)
        return read_configuration(document, self.name)


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
            endpoints = await self._endpoints(registration, self._deadline())
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
        deadline, provider = self._deadline(), registration.provider
        issuer = self._issuer(provider) if isinstance(provider, str) else None
        try:
            endpoints = await self._endpoints(registration, deadline)
        except FetchFailed as error:
            raise SignInFailed(str(error)) from None
        check_issuer(endpoints, answer.issuer)
        exchange = Exchange(self._outbound, registration, endpoints, proofs, deadline)
        tokens = await exchange.tokens(answer.code)
        if issuer is None:
            return oauth_profile(await exchange.userinfo(tokens.access_token))
        keys = partial(issuer.keys, str(endpoints.jwks), deadline=deadline)
        claims = await exchange.claims(tokens.id_token, issuer.name, keys)
        if is_complete(claims) or endpoints.userinfo is None:
            return openid_profile(claims, None)
        return openid_profile(claims, await exchange.userinfo(tokens.access_token))

    async def aclose(self) -> None:
        await self._outbound.aclose()

    def _deadline(self) -> float:
        """The time of the event loop at which all requests of one sign-in must have ended."""
        return asyncio.get_running_loop().time() + self._outbound.total_seconds

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


def read_configuration(document: Mapping[str, Any], issuer: str) -> Endpoints:
    """The endpoints in an OpenID configuration document (OpenID Connect Discovery 1.0 section 3).

    Raises FetchFailed when its `issuer` is not exactly the configured one (section 4.3), or when a URL is missing or is
    one the service does not go to. Only an issuer on this machine may name http URLs of this machine.
    """
    if document.get("issuer") != issuer:
        raise FetchFailed("the configuration document names another issuer")
    urls = {key: document.get(f"{key}_endpoint") for key in ("authorization", "token", "userinfo")}
    urls["jwks"] = document.get("jwks_uri")
    for key, url in urls.items():
        # The userinfo endpoint alone is optional.
        if (url is not None or key != "userinfo") and not _is_usable(url, issuer):
            raise FetchFailed(f"the configuration document has no usable {key} URL")
    methods = document.get("token_endpoint_auth_methods_supported")
    return Endpoints(
        authorize=str(urls["authorization"]),
        token=str(urls["token"]),
        userinfo=urls["userinfo"],
        issuer=issuer,
        jwks=str(urls["jwks"]),
        client_auth_methods=tuple(methods) if isinstance(methods, list) else (CLIENT_SECRET_BASIC,),
        names_itself=document.get("authorization_response_iss_parameter_supported") is True,
    )


def _is_usable(url: object, issuer: str) -> bool:
    return isinstance(url, str) and is_allowed_url(url, loopback=is_loopback(issuer))


def usable_keys(document: Mapping[str, Any]) -> KeySet:
    """The public signing keys among the first of a JWK Set; what cannot be used is passed over (RFC 7517 section 5)."""
    entries = document.get("keys")
    found = [_key(entry) for entry in entries[:MAX_PROVIDER_KEYS]] if isinstance(entries, list) else []
    return KeySet([key for key in found if key is not None])


def _key(entry: object) -> Key | None:
    try:
        if not isinstance(entry, dict) or entry.get("kty") not in ASYMMETRIC or entry.get("use", "sig") != "sig":
            return None
        return JWKRegistry.import_key(entry)
    except (JoseError, ValueError, TypeError, KeyError):
        return None

"""Profiles of providers that say things in their own way: put into the standard's words, and judged as any other. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from service.errors import NoEmailProvided
from service.providers.grant import ProviderProfile, oauth_profile, openid_profile
from service.providers.openid import TENANT
from service.providers.registration import Quirks, Registration

Claims = Mapping[str, Any]
GMAIL = "@gmail.com"


def odd_profile(claims: Claims, userinfo: Claims | None, registration: Registration) -> ProviderProfile:
    """The profile in an ID token and the answer of the userinfo endpoint. Raises SignInFailed."""
    quirks = registration.quirks
    standard = in_standard_words(claims, quirks)
    more = None if userinfo is None else in_standard_words(userinfo, quirks)
    profile = openid_profile(standard, more)
    # The address was taken from there.
    source = more if more is not None and more.get("email") else standard
    has_tenants = TENANT in registration.provider_name
    issuer = str(claims["iss"]) if has_tenants else registration.provider_name
    return replace(profile, issuer=issuer, is_authoritative=_is_authoritative(source, quirks))


def odd_oauth_profile(userinfo: Claims, addresses: Sequence[Any] | None, registration: Registration) -> ProviderProfile:
    """The profile of a plain OAuth 2.0 provider; `addresses` where those are at a place of their own.

    Raises ProfileNotFetched, and NoEmailProvided where none of the addresses is the primary one.
    """
    quirks = registration.quirks
    document = dict(userinfo)
    if addresses is not None:
        document |= primary_address(addresses)
    standard = in_standard_words(document, quirks)
    profile = oauth_profile(standard)
    return replace(profile, issuer=registration.provider_name, is_authoritative=_is_authoritative(standard, quirks))


def in_standard_words(document: Claims, quirks: Quirks) -> dict[str, Any]:
    """`document` with the claims of OpenID. A claim that has another name there is read by that name alone."""
    standard = {**document, **{ours: document.get(theirs) for ours, theirs in quirks.claims.items()}}
    verified = standard.get("email_verified")
    # By type as well: 1 equals True here, and is another thing in JSON.
    if any(type(verified) is type(true) and verified == true for true in quirks.true_values):
        standard["email_verified"] = True
    elif verified is not None:
        standard["email_verified"] = False
    return standard


def primary_address(addresses: Sequence[Any]) -> dict[str, Any]:
    """`email` and `email_verified` of the primary one of {email, primary, verified}. Raises NoEmailProvided."""
    for address in addresses:
        if isinstance(address, dict) and address.get("primary") is True:
            return {"email": address.get("email"), "email_verified": address.get("verified")}
    raise NoEmailProvided("none of the addresses is the primary one")


def _is_authoritative(standard: Claims, quirks: Quirks) -> bool:
    """True if the provider itself assigns the address, so that no other person can have it now."""
    if standard.get("email_verified") is not True:
        return False
    if quirks.trust == "google":
        hosted = standard.get("hd")
        return str(standard.get("email")).lower().endswith(GMAIL) or (isinstance(hosted, str) and bool(hosted))
    return quirks.trust == "verified"

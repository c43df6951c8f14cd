"""Trying a provider as a sign-in would use it: its configuration, its name, its keys and its endpoints."""

import asyncio

from service.outbound.fetching import FetchFailed, Outbound
from service.providers.gateway import WELL_KNOWN, place_of
from service.providers.openid import read_configuration, usable_keys
from service.providers.registration import Endpoints, Registration, is_allowed_url, is_loopback
from service.schema.outcomes import Trial

DISCOVERY, ISSUER, KEYS, ENDPOINTS = "discovery", "issuer", "keys", "endpoints"


async def try_provider(outbound: Outbound, registration: Registration) -> Trial:
    """The outcome of each step, within the time of a sign-in. A failure of the provider raises nothing.

    A plain OAuth 2.0 provider publishes nothing, so its addresses alone are judged.
    """
    trial, provider = Trial(), registration.provider
    if isinstance(provider, Endpoints):
        _judge_addresses(trial, provider)
        return trial
    deadline = asyncio.get_running_loop().time() + outbound.total_seconds
    step = DISCOVERY
    try:
        document = await outbound.get_json(place_of(provider) + WELL_KNOWN, deadline=deadline)
        trial.passed(DISCOVERY)
        names = (provider, *registration.quirks.issuers)
        if (named := document.get("issuer")) not in names:
            trial.failed(ISSUER, "the configuration document names another issuer")
            return trial
        trial.passed(ISSUER)
        step = KEYS
        await _judge_keys(trial, outbound, document.get("jwks_uri"), provider, deadline)
        step = ENDPOINTS
        if trial.ok:
            read_configuration(document, str(named))
            trial.passed(ENDPOINTS)
    except FetchFailed as error:
        trial.failed(step, str(error))
    return trial


async def _judge_keys(trial: Trial, outbound: Outbound, url: object, issuer: str, deadline: float) -> None:
    if not isinstance(url, str) or not is_allowed_url(url, loopback=is_loopback(issuer)):
        trial.failed(KEYS, "the configuration document has no usable jwks URL")
        return
    number = len(usable_keys(await outbound.get_json(url, deadline=deadline)).keys)
    if number:
        trial.passed(KEYS, f"{number} usable")
    else:
        trial.failed(KEYS, "the key set has no usable key")


def _judge_addresses(trial: Trial, endpoints: Endpoints) -> None:
    urls = {"authorize": endpoints.authorize, "token": endpoints.token, "userinfo": endpoints.userinfo}
    bad = [name for name, url in urls.items() if url is not None and not is_allowed_url(url)]
    if bad:
        trial.failed(ENDPOINTS, f"not usable: {', '.join(bad)}")
    else:
        trial.passed(ENDPOINTS)

"""A provider that hangs, or publishes odd keys, costs its own projects only."""

import asyncio

import httpx2

from faults.provider import Provider
from faults.provider.tokens import new_key
from faults.waiting import waiting_for
from service.bounds import MAX_PROVIDER_KEYS, MAX_SIGN_INS
from service.providers.openid import usable_keys
from tests.web.sign_in.conftest import MakeSite
from tests.web.sign_in.site import Site, ending

# More than a pool of connections for all providers would have.
SIGN_INS = 60
Requests = list[asyncio.Task[httpx2.Response]]


async def refusals(requests: Requests) -> list[httpx2.Response]:
    """The answers of all but those that the provider keeps waiting, which are cancelled."""
    waiting = set(requests)
    async with waiting_for("the refusals of all but those that the provider keeps waiting"):
        while len(waiting) > MAX_SIGN_INS:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for request in waiting:
        request.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    return [request.result() for request in requests if request not in waiting]


async def test_n25_a_provider_that_hangs_stops_nobody_elsewhere(
    site: Site, make_site: MakeSite, provider: Provider
) -> None:
    elsewhere = await make_site(IDP_ISSUER=provider.issuer("named"))
    assert (await elsewhere.sign_in("ada")).error is None
    answers = [await site.answer(await site.begin(), "token_slow") for _ in range(SIGN_INS)]
    provider.calls.clear()
    requests = [asyncio.create_task(site.finish(parameters)) for parameters in answers]
    # The provider keeps the others waiting for longer.
    async with waiting_for("a sign-in elsewhere", 5):
        assert (await elsewhere.sign_in("björn")).error is None
    refused = await refusals(requests)
    # One call is that of the sign-in elsewhere.
    assert provider.calls["token"] == MAX_SIGN_INS + 1
    assert [ending(response).error for response in refused] == ["authentication_failed"] * (SIGN_INS - MAX_SIGN_INS)


async def test_n25_a_start_is_refused_while_too_many_wait_for_the_configuration(
    make_site: MakeSite, provider: Provider
) -> None:
    site = await make_site(IDP_ISSUER=provider.issuer("hanging"))
    refused = await refusals([asyncio.create_task(site.login_idp()) for _ in range(SIGN_INS)])
    assert {(response.status_code, response.json()["code"]) for response in refused} == {(503, "busy")}
    assert {response.headers["retry-after"] for response in refused} == {"1"}
    assert provider.calls["discovery"] == 1


def test_n42_one_odd_key_does_not_spoil_the_set() -> None:
    good = new_key("good").as_dict(private=False)
    odd = [{"kty": {}}, {"kty": ["RSA"]}, {"kty": "RSA", "use": {}}, {"kty": "RSA", "n": 5, "e": {}}, None]
    assert [key.kid for key in usable_keys({"keys": [*odd, good]}).keys] == ["good"]


def test_n42_the_first_keys_of_a_set_are_read() -> None:
    one = new_key("one").as_dict(private=False)
    keys = [{**one, "kid": str(number)} for number in range(8_000)]
    assert [key.kid for key in usable_keys({"keys": keys}).keys] == [str(n) for n in range(MAX_PROVIDER_KEYS)]


async def test_n42_people_sign_in_with_the_other_keys(site: Site, provider: Provider) -> None:
    provider.odd_keys.append({"kty": {"kty": "RSA"}})
    assert (await site.sign_in("ada")).error is None

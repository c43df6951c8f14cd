"""Rows P1 to P7: what is tried against sign-in through providers, and against what people link by hand."""

import asyncio

import httpx2
import pytest

from faults.once import CHALLENGE, VERIFIER
from tests.conftest import MakeApi
from tests.identity_provider import provider, provider_server
from tests.web.sign_in.conftest import providers
from tests.web.sign_in.people import Person, come_by, sign_up
from tests.web.sign_in.providers import Providers, query_of

__all__ = ["provider", "provider_server", "providers"]

USER = "/auth-collections/user"


@pytest.fixture
async def two(providers: Providers) -> Providers:
    """A project with two providers."""
    await providers.openid("staff")
    await providers.openid("club", issuer="named")
    return providers


def stored_identities(providers: Providers) -> list[list[str]]:
    """The subjects that each user has."""
    return [[each["subject"] for each in user.get("identities", ())] for user in providers.users()]


async def exchange(providers: Providers, code: str, verifier: str = VERIFIER) -> httpx2.Response:
    body = {"code": code, "code_verifier": verifier}
    return await providers.api.request("POST", "/auth-collections/token", json=body)


async def test_p5_a_victim_who_finishes_the_flow_of_an_attacker_links_nothing(two: Providers) -> None:
    mallory, ann = await sign_up(two, "mallory@example.com"), await sign_up(two)
    # Ann is sent to the provider by Mallory's flow, signs in there as herself, and comes back to the page.
    code = (await mallory.bring("staff", "ada"))["svc-code"]
    refused = await ann.confirm(code)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_code")
    assert stored_identities(two) == [[], []]
    # It is spent, so that Mallory has no use of it either.
    assert (await mallory.confirm(code)).json()["code"] == "invalid_code"
    assert stored_identities(two) == [[], []]
    events = (await two.api.request("GET", "/auth-collections/events?type=identity_linked")).json()
    assert events["total"] == 0


async def test_p5_only_who_began_the_flow_and_kept_its_verifier_ends_it(two: Providers, make_api: MakeApi) -> None:
    ann = await sign_up(two)
    for attempt in ("", "x" * 43, CHALLENGE):
        code = (await ann.bring("staff", "ada"))["svc-code"]
        answers = [await ann.confirm(code, attempt), await ann.confirm(code)]
        assert [answer.json()["code"] for answer in answers] == ["invalid_code"] * 2
    other = await make_api()
    token = (await other.signup()).json()["access_token"]
    code = (await ann.bring("staff", "ada"))["svc-code"]
    foreign = Person(two, token, "", "")
    assert (await foreign.confirm(code)).json()["code"] == "invalid_code"
    assert (await ann.confirm(code)).status_code == 201


async def test_p5_the_code_of_a_link_signs_nobody_in_and_that_of_a_sign_in_links_nothing(two: Providers) -> None:
    ann = await sign_up(two)
    code = (await ann.bring("staff", "ada"))["svc-code"]
    refused = await exchange(two, code)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_code")
    assert (await ann.confirm(code)).json()["code"] == "invalid_code"
    url = await two.begin("staff", code_challenge=CHALLENGE)
    landed = await two.follow(await two.answer(url, "ada"))
    code = query_of(landed.headers["location"])["svc-code"]
    assert (await ann.confirm(code)).json()["code"] == "invalid_code"
    assert (await exchange(two, code)).json()["code"] == "invalid_code"
    assert (await ann.identities()) == []


async def test_p5_who_lost_the_account_meanwhile_links_nothing_to_it(two: Providers) -> None:
    ann = await sign_up(two)
    code = (await ann.bring("staff", "ada"))["svc-code"]
    reset = await two.api.request("PUT", f"/auth-collections/users/{ann.id}/password", json={"password": "another one"})
    assert reset.status_code == 204
    assert (await ann.confirm(code)).json()["code"] == "invalid_token"
    assert stored_identities(two) == [[]]


async def test_p6_of_two_unlinks_at_once_one_way_stays(two: Providers) -> None:
    for number in range(12):
        ada = await come_by(two, "staff", "ada")
        if number == 0:
            assert (await ada.link("club", "björn")).status_code == 201
        ids = [each["id"] for each in await ada.identities()]
        assert len(ids) == 2
        answers = await asyncio.gather(*(ada.remove(id_) for id_ in ids))
        assert sorted(answer.status_code for answer in answers) == [204, 409], number
        (left,) = await ada.identities()
        gone = "club" if left["provider"] == "staff" else "staff"
        refused = await ada.remove(left["id"])
        assert (refused.status_code, refused.json()["code"]) == (409, "last_sign_in_method")
        back = await come_by(two, left["provider"], "ada" if left["provider"] == "staff" else "björn")
        assert back.id == ada.id
        assert (await back.link(gone, "ada" if gone == "staff" else "björn")).status_code == 201


async def test_p6_the_mail_of_a_proven_address_is_no_way_to_sign_in(two: Providers) -> None:
    ada = await come_by(two, "staff", "ada")
    await two.api.request("PATCH", f"/auth-collections/users/{ada.id}", json={"email_verified": True})
    (identity,) = await ada.identities()
    assert (await ada.remove(identity["id"])).json()["code"] == "last_sign_in_method"
    assert (await come_by(two, "staff", "ada")).id == ada.id


async def test_p6_the_identity_of_somebody_else_is_not_there(two: Providers) -> None:
    ada, ann = await come_by(two, "staff", "ada"), await sign_up(two)
    (identity,) = await ada.identities()
    refused = await ann.remove(identity["id"])
    assert (refused.status_code, refused.json()["code"]) == (404, "identity_not_found")
    assert stored_identities(two) == [["sub-ada"], []]

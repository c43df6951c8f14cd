"""Rows P1 to P7: what is tried against sign-in through providers, and against what people link by hand."""

import asyncio
from typing import Any

import pytest

from faults.once import CHALLENGE, VERIFIER, make_codes, make_tokens, race
from service.app import Application
from service.errors import ConfigurationError
from tests.conftest import MakeApi
from tests.identity_provider import provider, provider_server
from tests.web.factors.devices import SETTINGS, Holder
from tests.web.sign_in.apps import begin as begin_app
from tests.web.sign_in.apps import bring, token_of
from tests.web.sign_in.codes import code_of, exchange, land
from tests.web.sign_in.conftest import fakes_server, make_preset, providers, staff
from tests.web.sign_in.fakes import OTHER_TENANT, TENANT
from tests.web.sign_in.people import IDENTITIES, Person, come_by, sign_up
from tests.web.sign_in.providers import Providers, query_of
from tests.web.sign_in.site import COMPLETE, ending

__all__ = ["fakes_server", "make_preset", "provider", "provider_server", "providers", "staff"]

USER = "/auth-collections/user"
REFUSED = (401, {"detail": "Invalid ID token", "code": "invalid_id_token"})


@pytest.fixture
async def two(providers: Providers) -> Providers:
    """A project with two providers."""
    await providers.openid("staff")
    await providers.openid("club", issuer="named")
    return providers


@pytest.fixture
async def phones(providers: Providers) -> Providers:
    """A project whose apps bring ID tokens."""
    await providers.openid("staff", AUDIENCES="android,ios", CLIENT_SECRET="")
    return providers


def stored_identities(providers: Providers) -> list[list[str]]:
    """The subjects that each user has."""
    return [[each["subject"] for each in user.get("identities", ())] for user in providers.users()]


async def test_p1_an_answer_of_another_provider_or_issuer_signs_nobody_in(providers: Providers) -> None:
    await providers.openid("one")
    await providers.openid("two", "named")
    await providers.oauth("three", ISSUER="https://plain.example")
    await providers.openid("same")
    for begun, came_back in (("one", "two"), ("two", "one"), ("three", "one"), ("one", "same"), ("one", None)):
        location = await providers.answer(await providers.begin(begun), "ada")
        path = f"/{begun}?"
        elsewhere = location.replace(path, f"/{came_back}?" if came_back else "?")
        calls = providers.provider.calls["token"]
        assert ending(await providers.follow(elsewhere)).error == "authentication_failed", (begun, came_back)
        assert providers.provider.calls["token"] == calls, "the code was sent to somebody"
        assert ending(await providers.follow(location)).error == "authentication_failed", "the state worked twice"
    for name, named in (("two", "https://evil.example"), ("two", None), ("three", "https://evil.example")):
        location = await providers.answer(await providers.begin(name), "ada")
        changed = {**query_of(location), "iss": named}
        answer = await providers.api.http.get(
            location.partition("?")[0], params={key: value for key, value in changed.items() if value is not None}
        )
        assert ending(answer).error == "authentication_failed", (name, named)
    assert providers.users() == []


async def test_p2_microsoft_without_xms_edov_or_of_another_tenant_signs_nobody_in(make_preset: Any) -> None:
    microsoft = await make_preset("microsoft")
    person = {"sub": "1", "tid": TENANT, "email": "victim@example.com", "name": "Ada"}
    for word in (
        {},
        {"xms_edov": False},
        {"xms_edov": "0"},
        {"xms_edov": "false"},
        {"xms_edov": 1},
        {"xms_edov": None},
    ):
        assert (await microsoft.sign_in({**person, **word, "email_verified": True})).error == "authentication_failed", (
            word
        )
    for tenant in ("", "common", TENANT.upper(), f"{TENANT}/x", None):
        end = await microsoft.sign_in({**person, "tid": tenant, "xms_edov": True})
        assert end.error == "authentication_failed", tenant
    foreign = {
        **person,
        "xms_edov": True,
        "iss": microsoft.fakes.issuer("microsoft").replace("{tenantid}", OTHER_TENANT),
    }
    assert (await microsoft.sign_in(foreign)).error == "authentication_failed"
    assert microsoft.providers.users() == []
    assert (await microsoft.sign_in({**person, "xms_edov": "1"})).error is None
    assert (
        await microsoft.sign_in({**person, "tid": OTHER_TENANT, "xms_edov": True, "email": "o@example.com"})
    ).error is None
    issuers = [user["identities"][0]["issuer"].split("/")[-2] for user in microsoft.providers.users()]
    assert issuers == [TENANT, OTHER_TENANT]
    assert not [path for path in microsoft.fakes.asked if path.endswith("/user")]
    for tenants in (TENANT, f"{TENANT},22222222-2222-3333-4444-555555555555"):
        await microsoft.set(TENANTS=tenants)
        end = await microsoft.sign_in({**person, "tid": OTHER_TENANT, "xms_edov": True, "email": "o@example.com"})
        assert end.error == "authentication_failed", tenants
        assert (await microsoft.sign_in({**person, "xms_edov": True})).error is None, tenants
    assert len(microsoft.providers.users()) == 2
    with pytest.raises(ConfigurationError, match="TENANTS: must be ids of tenants"):
        await microsoft.set(TENANTS="contoso.com")


async def test_p3_a_foreign_token_or_one_that_comes_twice_signs_nobody_in(phones: Providers) -> None:
    provider = phones.provider
    start = await begin_app(phones)
    good = token_of(provider, start["nonce"])
    assert (await bring(phones, start["flow_id"], good)).status_code == 200
    refused = [await bring(phones, start["flow_id"], good)]
    other = await begin_app(phones)
    refused.append(await bring(phones, other["flow_id"], good))
    refused.append(await bring(phones, other["flow_id"], token_of(provider, other["nonce"])))
    bad: tuple[dict[str, Any], ...] = (
        {"issuer": "named"},
        {"iss": "https://evil.example"},
        {"aud": "another-client"},
        {"aud": ["ios", "another-client"]},
        {"aud": ["ios", "another-client"], "azp": "another-client"},
        {"nonce": "made-up"},
        {"nonce": ""},
        {"nonce": None},
        {"exp": 1},
        {"email_verified": False},
        {"email_verified": "true"},
    )
    for claims in bad:
        start = await begin_app(phones)
        token = token_of(provider, start["nonce"], **claims)
        answer = await bring(phones, start["flow_id"], token)
        assert (answer.status_code, answer.json()) == REFUSED, claims
    start = await begin_app(phones)
    refused.append(await bring(phones, start["flow_id"], "a.b.c"))
    refused.append(await bring(phones, "made-up", good))
    assert all((each.status_code, each.json()) == REFUSED for each in refused)
    assert phones.api.database["sessions"].count_documents({}) == 1


async def test_p3_of_many_who_bring_a_token_at_once_one_signs_in(running_app: Application, phones: Providers) -> None:
    make = await make_tokens(running_app, phones.api.key, phones.provider)
    report = await race([phones.api.http], phones.api.key, make, races=25, at_once=4)
    assert (report.twice, report.lost) == (0, 0)


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


async def test_p6_of_an_identity_and_a_passkey_removed_at_once_one_stays(two: Providers) -> None:
    await two.services.base.admin.change(two.api.project.id, SETTINGS)
    two.services.base.projects.forget_all()
    for account in ("ada", "björn", "иван", "nameless"):
        person = await come_by(two, "staff", account)
        holder = Holder(two.api, person.token)
        enrolled = await holder.enrol()
        assert enrolled.status_code == 201, enrolled.text
        (identity,) = (await holder.ask("GET", IDENTITIES)).json()["identities"]
        answers = await asyncio.gather(
            holder.ask("DELETE", f"{IDENTITIES}/{identity['id']}"),
            holder.ask("DELETE", f"/auth-collections/user/factors/{enrolled.json()['factor']['id']}"),
        )
        assert sorted(answer.status_code for answer in answers) == [204, 409], account
        refused = next(answer for answer in answers if answer.status_code == 409)
        assert refused.json()["code"] == "last_sign_in_method"


async def test_p6_who_has_a_second_factor_shows_it_before_identities_change(two: Providers) -> None:
    await two.services.base.admin.change(two.api.project.id, SETTINGS)
    two.services.base.projects.forget_all()
    person, weak = await come_by(two, "staff", "ada"), await come_by(two, "staff", "ada")
    holder = Holder(two.api, person.token)
    assert (await holder.enrol()).status_code == 201
    (identity,) = await weak.identities()
    # A session from before, which anybody may have found.
    for answer in (await weak.begin("club"), await weak.remove(identity["id"])):
        assert (answer.status_code, answer.json()["code"]) == (403, "step_up_required")
    assert (await holder.ask("DELETE", f"{IDENTITIES}/{identity['id']}")).status_code == 204


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


async def test_p7_a_code_gives_a_token_once_and_only_with_its_verifier(staff: Providers) -> None:
    code = await code_of(staff, client_state="/basket")
    answer = await exchange(staff, code)
    assert answer.status_code == 200
    assert answer.json().keys() == {"access_token", "token_type", "user", "expires_in", "refresh_token"}
    (user,) = staff.users()
    assert answer.json()["user"]["id"] == user["_id"]
    assert (await staff.api.as_user(answer.json()["access_token"], "GET", "/auth-collections/user")).status_code == 200
    (session,) = staff.api.database["sessions"].find()
    assert session["amr"] == ["idp"]
    refused = [await exchange(staff, code)]
    for wrong in ("x" * 43, VERIFIER[:-1], "", None):
        code = await code_of(staff)
        refused.append(await exchange(staff, code, wrong))
        refused.append(await exchange(staff, code))
    refused.append(await exchange(staff, "made-up"))
    assert {(each.status_code, each.text) for each in refused} == {
        (400, '{"detail":"Invalid or expired code","code":"invalid_code"}')
    }
    assert staff.api.database["sessions"].count_documents({}) == 1


async def test_p7_no_token_is_in_any_url_and_a_code_is_no_state(staff: Providers) -> None:
    location = await land(staff, client_state="/basket")
    assert location.startswith(COMPLETE)
    assert query_of(location).keys() == {"keep", "svc-code", "state"}
    code = query_of(location)["svc-code"]
    path = f"/auth-collections/auth-idp-redirect/{staff.api.project.id}/staff"
    spent = await staff.api.http.get(path, params={"state": code, "code": "x"})
    assert query_of(spent.headers["location"]) == {"keep": "1", "svc-error": "authentication_failed"}
    assert (await exchange(staff, code)).status_code == 200


async def test_p7_of_many_who_send_a_code_at_once_one_is_given_a_token(
    running_app: Application, staff: Providers
) -> None:
    make = await make_codes(running_app, staff.api.key)
    report = await race([staff.api.http], staff.api.key, make, races=40, at_once=5)
    assert (report.twice, report.lost) == (0, 0)

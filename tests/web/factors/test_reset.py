"""Another password by mail, of somebody with a second factor; and factors that the project removes. Rows E7 and S8."""

import asyncio
from typing import Any

import pytest

from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.factors.apps import FACTORS, STEP_UP, USER, WRONG, Member, add_app, guest, make_member, told
from tests.web.flows.mailbox import ask, mailed, newest
from tests.web.flows.test_link import OWN, post

NEW = "a better password"
RESET = "/auth-collections/reset-password"


async def begin(member: Member, services: Services) -> tuple[dict[str, str], dict[str, str]]:
    """What the mail brings, by code and by token."""
    asked = await ask(member.api, "forgot-password", email="ann@example.com")
    mail = await newest(services, member.api, "ann@example.com")
    token = mail.link.partition("?t=")[2]
    return {"flow_id": asked.json()["flow_id"], "code": mail.code}, {"token": token}


async def begin_link(member: Member, services: Services) -> str:
    await begin(member, services)
    return str((await newest(services, member.api, "ann@example.com")).link)


async def reset(member: Member, proof: dict[str, str], **more: Any) -> Any:
    return await guest(member.api, RESET, **proof, password=NEW, **more)


@pytest.mark.parametrize("kind", [0, 1])
async def test_e7_a_mail_alone_brings_no_other_password(member: Member, services: Services, kind: int) -> None:
    proof = (await begin(member, services))[kind]
    before: Any = member.api.database["users"].find_one({})
    answer = await reset(member, proof)
    body = answer.json()
    assert (answer.status_code, body["code"], body["methods"]) == (401, "mfa_required", ["totp", "recovery_code"])
    assert 0 < body["expires_in"] <= 3_600
    for factor in ({"totp": member.app.wrong()}, {"recovery_code": "x"}):
        assert told(await reset(member, proof, factor=factor)) == WRONG
    # Nothing is changed: neither the record, nor sessions, nor what the mail is good for.
    assert member.api.database["users"].find_one({}) == before
    assert (await member.ask("GET", USER)).status_code == 200
    assert [mail.kind for mail in await mailed(services, member.api)][:1] == ["reset_password"]
    code = member.app.code()
    assert (await reset(member, proof, factor={"totp": code})).status_code == 204
    assert (await member.ask("GET", USER)).status_code == 401
    assert (await member.api.login(password=NEW)).json()["code"] == "mfa_required"
    # The code was used by that.
    flow_id = (await member.api.login(password=NEW)).json()["flow_id"]
    assert told(await member.finish(flow_id, totp=code)) == WRONG


async def test_e7_a_recovery_code_is_spent_with_the_reset_only(member: Member, services: Services) -> None:
    by_code, by_token = await begin(member, services)
    factor = {"recovery_code": member.codes[0]}
    answers = await asyncio.gather(*(reset(member, proof, factor=factor) for proof in (by_code, by_token) * 3))
    assert [answer.status_code for answer in answers].count(204) == 1
    assert [mail.kind for mail in await mailed(services, member.api)].count("recovery_code_used") == 1


async def test_e7_a_factor_that_is_added_meanwhile_is_asked_for(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = (await api.signup()).json()["access_token"]
    asked = await ask(api, "forgot-password", email="ann@example.com")
    mail = await newest(services, api, "ann@example.com")
    hash_ = services.passwords.hash

    async def slowly(*args: Any) -> str:
        await add_app(api, token)
        return await hash_(*args)

    monkeypatch.setattr(services.passwords, "hash", slowly)
    proof = {"flow_id": asked.json()["flow_id"], "code": mail.code}
    answer = await guest(api, RESET, **proof, password=NEW)
    assert (answer.status_code, answer.json()["code"]) == (401, "mfa_required")
    assert (await api.login()).json()["code"] == "mfa_required"


@pytest.mark.parametrize("factor", [{}, {"totp": "1", "recovery_code": "2"}, {"password": "x"}])
async def test_a_factor_of_a_reset_is_one(member: Member, services: Services, factor: dict[str, str]) -> None:
    answer = await reset(member, (await begin(member, services))[0], factor=factor)
    assert (answer.status_code, answer.json()["detail"][0]["loc"][:2]) == (422, ["body", "factor"])


async def test_who_has_no_factor_needs_none(api: Api, services: Services) -> None:
    await api.signup()
    asked = await ask(api, "forgot-password", email="ann@example.com")
    proof = {"flow_id": asked.json()["flow_id"], "code": (await newest(services, api)).code}
    answer = await guest(api, RESET, **proof, password=NEW, factor={"totp": "000000"})
    assert answer.status_code == 204


async def test_e7_the_page_of_the_link_asks_for_the_factor(member: Member, services: Services) -> None:
    link = await begin_link(member, services)
    form = await post(member.api, link)
    assert (form.status_code, 'name="factor"' in form.text) == (200, True)
    wrong: tuple[dict[str, str], ...] = ({}, {"factor": member.app.wrong()}, {"factor": "no such code"})
    for fields in wrong:
        refused = await post(member.api, link, OWN, password=NEW, **fields)
        assert (refused.status_code, "This code is wrong" in refused.text) == (401, True)
    assert (await member.ask("GET", USER)).status_code == 200
    done = await post(member.api, link, password=NEW, factor=member.app.code())
    assert done.status_code == 303
    assert (await member.api.login(password=NEW)).json()["code"] == "mfa_required"


async def test_a_page_takes_recovery_codes_too(member: Member, services: Services) -> None:
    link = await begin_link(member, services)
    assert (await post(member.api, link, password=NEW, factor=member.codes[5].lower())).status_code == 303


async def test_the_page_asks_nobody_else_for_a_factor(api: Api, services: Services) -> None:
    await api.signup()
    await ask(api, "forgot-password", email="ann@example.com")
    link = (await newest(services, api)).link
    assert 'name="factor"' not in (await post(api, link)).text
    assert (await post(api, link, password=NEW)).status_code == 303


async def test_s8_a_refresh_token_from_before_a_step_up_never_reaches_level_2(make_api: MakeApi) -> None:
    api = await make_api(ACCESS_TOKEN_LIFETIME="900")
    first = (await api.signup()).json()
    other = (await api.login()).json()
    app, answer = await add_app(api, first["access_token"])
    assert answer.json()["expires_in"] == 900

    async def refresh(token: str) -> Any:
        return await guest(api, "/auth-collections/refresh", refresh_token=token)

    # That of the session by which the app was added is dead, for good.
    for _ in range(2):
        assert (await refresh(first["refresh_token"])).status_code == 401
    # Another session lives on as it was.
    renewed = (await refresh(other["refresh_token"])).json()
    assert await levels(api, renewed["access_token"]) == [1]
    stepped = (await api.as_user(renewed["access_token"], "POST", STEP_UP, json={"totp": app.code()})).json()
    assert await levels(api, stepped["access_token"]) == [2]
    for token in (renewed["refresh_token"], other["refresh_token"]):
        assert (await refresh(token)).status_code == 401
    assert (await api.as_user(renewed["access_token"], "GET", USER)).status_code == 401
    again = (await refresh(stepped["refresh_token"])).json()
    assert await levels(api, again["access_token"]) == [2]


async def levels(api: Api, token: str) -> list[int]:
    """The level of the token's session, as its user sees it."""
    found = (await api.as_user(token, "GET", f"{USER}/sessions")).json()["sessions"]
    return [each["aal"] for each in found if each["current"]]


async def test_the_project_removes_the_factors_of_whoever_has_lost_them(member: Member, services: Services) -> None:
    path = f"/auth-collections/users/{member.user_id}/factors"
    assert (await member.ask("DELETE", path)).status_code == 401
    answer = await member.api.request("DELETE", path)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await member.api.login()).status_code == 200
    assert (await member.ask("GET", FACTORS)).json() == {"factors": [], "recovery_codes_left": 0}
    kinds = [mail.kind for mail in await mailed(services, member.api)]
    assert kinds == ["factor_changed"] * 2
    (event,) = (await member.api.request("GET", "/auth-collections/events?type=factor_removed")).json()["events"]
    assert (event["actor"], event["user_id"]) == ("server", member.user_id)
    # Who had none is told nothing.
    assert (await member.api.request("DELETE", path)).status_code == 204
    assert len(await mailed(services, member.api)) == 2
    missing = await member.api.request("DELETE", "/auth-collections/users/0/factors")
    assert told(missing) == (404, {"detail": "User not found", "code": "user_not_found"})


async def test_mistakes_count_over_codes_of_mails_and_factors(member: Member, services: Services) -> None:
    by_code, _ = await begin(member, services)
    for number in range(5):
        await reset(member, by_code | {"code": f"{number:06}"})
    flow_id = await member.begin()
    for _ in range(5):
        assert told(await member.finish(flow_id, totp=member.app.wrong())) == WRONG
    assert (await member.finish(await member.begin(), totp=member.app.code())).status_code == 429


async def test_a_member_can_be_made_in_any_project(make_api: MakeApi) -> None:
    member = await make_member(await make_api(MFA="optional", MFA_ROLES="admin"))
    assert (await member.ask("GET", FACTORS)).json()["recovery_codes_left"] == 10

"""Another password by mail, of a user with a second factor; and factors that the project removes."""

import pytest

from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.factors.apps import FACTORS, WRONG, Member, guest, make_member, told
from tests.web.factors.resets import NEW, RESET, begin, begin_link, reset
from tests.web.flows.mailbox import ask, mailed, newest
from tests.web.flows.test_link import post


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


async def test_a_page_takes_recovery_codes_too(member: Member, services: Services) -> None:
    link = await begin_link(member, services)
    assert (await post(member.api, link, password=NEW, factor=member.codes[5].lower())).status_code == 303


async def test_the_page_asks_nobody_else_for_a_factor(api: Api, services: Services) -> None:
    await api.signup()
    await ask(api, "forgot-password", email="ann@example.com")
    link = (await newest(services, api)).link
    assert 'name="factor"' not in (await post(api, link)).text
    assert (await post(api, link, password=NEW)).status_code == 303


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
    # A user without factors is not notified.
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

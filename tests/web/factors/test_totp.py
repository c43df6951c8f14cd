"""Authenticator apps: adding one, signing in with it, recovery codes, and being rid of both."""

import asyncio
import time
from typing import Any

import pytest

from service.domain.accounts.factor_codes import code_at
from service.domain.sessions import pending
from service.schema.values import now
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.factors.apps import (
    CLOCK,
    FACTORS,
    INVALID,
    LOGIN_FACTOR,
    RECOVERY,
    STEP_UP,
    TOTP,
    USER,
    WRONG,
    App,
    Member,
    add_app,
    guest,
    told,
)
from tests.web.flows.mailbox import mailed

SESSIONS = f"{USER}/sessions"


async def sessions(member: Member, token: str) -> list[tuple[int, list[str], bool]]:
    found = (await member.api.as_user(token, "GET", SESSIONS)).json()["sessions"]
    return [(each["aal"], each["amr"], each["current"]) for each in found]


async def test_an_app_is_added_in_two_steps(api: Api, services: Services) -> None:
    old = (await api.signup()).json()["access_token"]
    other = (await api.login()).json()["access_token"]
    begun = await api.as_user(old, "POST", TOTP, json={"name": "phone"})
    new = begun.json()
    assert (begun.status_code, new.keys()) == (201, {"id", "secret", "uri"})
    assert new["uri"].startswith("otpauth://totp/A%20project:ann@example.com?secret=" + new["secret"])
    # Nothing is asked for before a code came back.
    assert (await api.login()).status_code == 200
    assert (await api.as_user(old, "GET", FACTORS)).json() == {"factors": [], "recovery_codes_left": 0}
    app = App(new["secret"])
    wrong = await api.as_user(old, "POST", f"{TOTP}/{new['id']}/confirm", json={"code": app.wrong()})
    assert told(wrong) == INVALID
    answer = await api.as_user(old, "POST", f"{TOTP}/{new['id']}/confirm", json={"code": app.code()})
    body = answer.json()
    assert (answer.status_code, len(body["recovery_codes"])) == (200, 10)
    # The session by which it was added ends, the others stay.
    tokens = (old, other, body["access_token"])
    assert [(await api.as_user(token, "GET", USER)).status_code for token in tokens] == [401, 200, 200]
    listed = (await api.as_user(body["access_token"], "GET", FACTORS)).json()
    assert listed == {"factors": [body["factor"]], "recovery_codes_left": 10}
    assert body["factor"].keys() == {"id", "type", "name", "created_at", "last_used_at"}
    assert [(mail.kind, mail.to) for mail in await mailed(services, api)] == [("factor_changed", "ann@example.com")]
    (event,) = (await api.request("GET", "/auth-collections/events?type=factor_added")).json()["events"]
    assert (event["detail"], event["actor"], event["sid"] is None) == ({"type": "totp"}, "user", False)


async def test_secrets_are_sealed_and_codes_hashed(member: Member) -> None:
    record: Any = member.api.database["users"].find_one({})
    text = str(record)
    assert member.app.secret not in text
    assert not any(code in text or code.replace("-", "") in text for code in member.codes)
    assert (record["totp"].keys(), len(record["recovery"])) == (
        {"id", "name", "sealed", "step", "created_at", "last_used_at"},
        10,
    )
    # Neither is shown to anybody, nor can be asked for.
    shown = (await member.api.request("GET", f"/auth-collections/users/{member.user_id}")).text
    assert "totp" not in shown
    assert "recovery" not in shown
    assert [
        (await member.api.users(query)).json()["total"] for query in ("totp.step_gte=0", "recovery_isnull=false")
    ] == [0, 0]


async def test_a_secret_that_waits_is_sealed_too(api: Api, mongo: Any, database_prefix: str) -> None:
    token = (await api.signup()).json()["access_token"]
    secret = (await api.as_user(token, "POST", TOTP)).json()["secret"]
    (flow,) = mongo[f"{database_prefix}system"]["flows"].find({"project_id": api.project.id})
    assert flow["purpose"] == "enrol_totp"
    assert secret not in str(flow)


async def test_a_login_waits_for_the_factor(member: Member) -> None:
    answer = await member.api.login()
    body = answer.json()
    assert answer.status_code == 401
    assert body == {
        "detail": "Second factor required",
        "code": "mfa_required",
        "flow_id": body["flow_id"],
        "methods": ["totp", "recovery_code"],
        "expires_in": 600,
    }
    flow_id = body["flow_id"]
    assert told(await member.finish(flow_id, totp=member.app.wrong())) == WRONG
    signed_in = await member.finish(flow_id, totp=member.app.code())
    assert signed_in.status_code == 200
    assert signed_in.json().keys() == {"access_token", "token_type", "user"}
    assert (2, ["pwd", "otp"], True) in await sessions(member, signed_in.json()["access_token"])
    # It is spent.
    assert told(await member.finish(flow_id, totp=member.app.code())) == WRONG


async def test_a_code_is_good_once_wherever_it_comes(member: Member) -> None:
    code = member.app.code()
    assert (await member.finish(await member.begin(), totp=code)).status_code == 200
    assert told(await member.finish(await member.begin(), totp=code)) == WRONG
    assert told(await member.ask("POST", STEP_UP, json={"totp": code})) == WRONG
    assert (await member.ask("POST", STEP_UP, json={"totp": member.app.code()})).status_code == 200


async def test_a_recovery_code_is_good_once_and_the_user_is_told(member: Member, services: Services) -> None:
    code = member.codes[3].lower().replace("-", " ")
    answer = await member.finish(await member.begin(), recovery_code=code)
    assert answer.status_code == 200
    token = answer.json()["access_token"]
    assert (2, ["pwd", "rec"], True) in await sessions(member, token)
    assert told(await member.finish(await member.begin(), recovery_code=code)) == WRONG
    assert (await member.api.as_user(token, "GET", FACTORS)).json()["recovery_codes_left"] == 9
    assert [mail.kind for mail in await mailed(services, member.api)][:1] == ["recovery_code_used"]
    (event,) = (await member.api.request("GET", "/auth-collections/events?type=recovery_code_used")).json()["events"]
    assert event["user_id"] == member.user_id


async def test_new_recovery_codes_kill_the_old_ones(member: Member) -> None:
    answer = await member.ask("POST", RECOVERY)
    new = answer.json()["recovery_codes"]
    assert (answer.status_code, len(new), set(new) & set(member.codes)) == (201, 10, set())
    flow_id = await member.begin()
    assert told(await member.finish(flow_id, recovery_code=member.codes[0])) == WRONG
    assert (await member.finish(flow_id, recovery_code=new[0])).status_code == 200


async def test_factors_are_renamed_and_removed(member: Member, services: Services) -> None:
    path = f"{FACTORS}/{member.factor_id}"
    renamed = await member.ask("PATCH", path, json={"name": "old phone"})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "old phone")
    missing = (404, {"detail": "Factor not found", "code": "factor_not_found"})
    assert told(await member.ask("PATCH", f"{FACTORS}/x", json={"name": "a"})) == missing
    assert told(await member.ask("DELETE", f"{FACTORS}/x")) == missing
    gone = await member.ask("DELETE", path)
    assert (gone.status_code, gone.content) == (204, b"")
    # The recovery codes go with the last factor.
    assert (await member.ask("GET", FACTORS)).json() == {"factors": [], "recovery_codes_left": 0}
    assert (await member.api.login()).status_code == 200
    assert [mail.kind for mail in await mailed(services, member.api)] == ["factor_changed"] * 2
    none = (409, {"detail": "Add a second factor first", "code": "no_factor"})
    assert told(await member.ask("POST", RECOVERY)) == none


async def test_a_second_app_is_refused(member: Member) -> None:
    answer = await member.ask("POST", TOTP, json={})
    assert told(answer) == (409, {"detail": "There is a factor of this type already", "code": "factor_exists"})


async def test_of_two_apps_added_at_once_one_is(api: Api) -> None:
    token = (await api.signup()).json()["access_token"]
    begun = [(await api.as_user(token, "POST", TOTP, json={})).json() for _ in range(4)]
    answers = await asyncio.gather(
        *(
            api.as_user(
                token, "POST", f"{TOTP}/{new['id']}/confirm", json={"code": code_at(new["secret"], CLOCK.time())}
            )
            for new in begun
        )
    )
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses[0] == 200
    # Later requests find the factor there, or the session ended or too weak by now.
    assert set(statuses[1:]) <= {401, 403, 409}
    good = next(answer for answer in answers if answer.status_code == 200).json()
    record: Any = api.database["users"].find_one({})
    assert record["totp"]["id"] == good["factor"]["id"]


async def test_a_confirmation_is_judged_five_times(api: Api) -> None:
    token = (await api.signup()).json()["access_token"]
    new = (await api.as_user(token, "POST", TOTP, json={})).json()
    app = App(new["secret"])
    path = f"{TOTP}/{new['id']}/confirm"
    for _ in range(5):
        assert told(await api.as_user(token, "POST", path, json={"code": app.wrong()})) == INVALID
    assert told(await api.as_user(token, "POST", path, json={"code": app.code()})) == INVALID


async def test_a_flow_judges_five_codes(member: Member) -> None:
    flow_id = await member.begin()
    answers = [await member.finish(flow_id, totp=member.app.wrong()) for _ in range(5)]
    assert [told(answer) for answer in answers] == [WRONG] * 5
    assert told(await member.finish(flow_id, totp=member.app.code())) == WRONG
    assert (await member.finish(await member.begin(), totp=member.app.code())).status_code == 200


async def test_ten_mistakes_close_the_account_to_more_for_a_while(member: Member) -> None:
    for _ in range(2):
        flow_id = await member.begin()
        for _ in range(5):
            assert told(await member.finish(flow_id, totp=member.app.wrong())) == WRONG
    limited = await member.finish(await member.begin(), totp=member.app.code())
    assert (limited.status_code, limited.json()["code"]) == (429, "rate_limit_exceeded")
    # Over all its flows: codes of mails are counted with them, and those of a step-up.
    assert (await member.ask("POST", STEP_UP, json={"totp": member.app.code()})).status_code == 429


async def test_right_codes_are_no_mistakes(member: Member) -> None:
    for code in member.codes:
        assert (await member.finish(await member.begin(), recovery_code=code)).status_code == 200
    assert (await member.finish(await member.begin(), totp=member.app.code())).status_code == 200


async def test_another_password_ends_the_sign_ins_that_wait(member: Member) -> None:
    flow_id = await member.begin()
    change = {"current_password": "correct horse", "password": "a better password"}
    answer = await member.ask("POST", f"{USER}/password", json=change)
    assert answer.status_code == 200
    # The new session is of the level of the present one, and no younger.
    assert await sessions(member, answer.json()["access_token"]) == [(2, ["pwd", "otp"], True)]
    assert told(await member.finish(flow_id, totp=member.app.code())) == WRONG


async def test_another_password_is_no_second_factor(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    change = {"current_password": "correct horse", "password": "a better password"}
    token = (await member.ask("POST", f"{USER}/password", json=change)).json()["access_token"]
    record: Any = member.api.database["sessions"].find_one({})
    assert record["auth_time"] < record["created_at"]
    moment = time.time() + 590
    monkeypatch.setattr("service.domain.sessions.step_up.time.time", lambda: moment)
    assert (await member.api.as_user(token, "POST", RECOVERY)).status_code == 201


async def test_the_disabled_are_told_so_by_a_right_factor_only(member: Member) -> None:
    flow_id, path = await member.begin(), f"/auth-collections/users/{member.user_id}"
    member.api.database["users"].update_one({}, {"$set": {"disabled": True}})
    assert told(await member.finish(flow_id, totp=member.app.wrong())) == WRONG
    disabled = (403, {"detail": "Account disabled", "code": "account_disabled"})
    assert told(await member.finish(flow_id, totp=member.app.code())) == disabled
    # Disabling by the service ends what waits as well.
    member.api.database["users"].update_one({}, {"$set": {"disabled": False}})
    flow_id = await member.begin()
    for is_disabled in (True, False):
        assert (await member.api.request("PATCH", path, json={"disabled": is_disabled})).status_code == 200
    assert told(await member.finish(flow_id, totp=member.app.code())) == WRONG


async def test_d3_a_user_disabled_between_the_factors_learns_it_by_a_right_factor_only(member: Member) -> None:
    flow_id, path = await member.begin(), f"/auth-collections/users/{member.user_id}"
    assert (await member.api.request("PATCH", path, json={"disabled": True})).status_code == 200
    assert told(await member.finish(flow_id, totp=member.app.wrong())) == WRONG
    disabled = (403, {"detail": "Account disabled", "code": "account_disabled"})
    assert told(await member.finish(flow_id, totp=member.app.code())) == disabled
    assert member.api.database["sessions"].count_documents({}) == 0


async def test_a_flow_lives_ten_minutes(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    flow_id, moment = await member.begin(), now()
    with monkeypatch.context() as patch:
        patch.setattr(f"{pending.__name__}.now", lambda: moment + pending.LIFE)
        assert told(await member.finish(flow_id, totp=member.app.code())) == WRONG
    assert (await member.finish(flow_id, totp=member.app.code())).status_code == 200


@pytest.mark.parametrize("more", [{}, {"totp": "000000", "recovery_code": "x"}, {"password": "x"}, {"email": "1"}])
async def test_what_is_not_one_factor_is_refused(member: Member, more: dict[str, str]) -> None:
    answer = await guest(member.api, LOGIN_FACTOR, flow_id=await member.begin(), **more)
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_error")
    assert (await member.ask("POST", STEP_UP, json=more | {"x": 1})).status_code == 422


async def test_a_step_up_with_the_factor_raises_the_session(member: Member) -> None:
    answer = await member.ask("POST", STEP_UP, json={"totp": member.app.code()})
    assert answer.status_code == 200
    assert await sessions(member, answer.json()["access_token"]) == [
        (2, ["pwd", "otp"], True),
    ]
    assert (await member.ask("GET", USER)).status_code == 401


async def test_a_step_up_by_password_is_not_enough_where_there_is_a_factor(member: Member) -> None:
    answer = await member.ask("POST", STEP_UP, json={"password": "correct horse"})
    assert (answer.status_code, answer.json()["code"]) == (401, "mfa_required")
    # The present session goes on until the factor was shown, and ends then.
    assert (await member.ask("GET", USER)).status_code == 200
    stepped = await member.finish(answer.json()["flow_id"], totp=member.app.code())
    assert stepped.status_code == 200
    assert (await member.ask("GET", USER)).status_code == 401
    assert await sessions(member, stepped.json()["access_token"]) == [(2, ["pwd", "otp"], True)]


async def test_a_signup_that_is_sent_again_is_no_way_around_the_factor(api: Api) -> None:
    async def sign_up() -> Any:
        body = {"email": "ann@example.com", "password": "correct horse"}
        headers = {"idempotency-key": "a-key-of-a-signup"}
        return await api.request("POST", "/auth-collections/signup", json=body, headers=headers)

    token = (await sign_up()).json()["access_token"]
    await add_app(api, token)
    again = await sign_up()
    assert (again.status_code, again.json()["code"]) == (401, "mfa_required")


async def test_mfa_off_asks_for_nothing_and_adds_nothing(make_api: MakeApi) -> None:
    api = await make_api(MFA="off")
    token = (await api.signup()).json()["access_token"]
    answer = await api.as_user(token, "POST", TOTP, json={})
    assert told(answer) == (403, {"detail": "This project has no second factors", "code": "mfa_off"})
    api.database["users"].update_one({}, {"$set": {"totp": {"id": "x", "sealed": "", "step": 0}}})
    assert (await api.login()).status_code == 200
    assert (await api.as_user(token, "DELETE", SESSIONS)).status_code == 204

"""EMAIL_VERIFICATION: what a signup is answered with, who is mailed, and who may sign in."""

import asyncio
from typing import Any

import pytest

from service.services import Services
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.web.flows.mailbox import ask, mailed, newest

SIGNUP = "/auth-collections/signup"
ANN = {"email": "ann@example.com", "password": "correct horse", "name": "Ann"}
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


async def test_off_mails_nobody(api: Api, services: Services) -> None:
    signed_up = await api.signup()
    assert (signed_up.status_code, sorted(signed_up.json())) == (201, ["access_token", "token_type", "user"])
    assert not await mailed(services, api)


async def test_optional_signs_in_and_mails(make_api: MakeApi, services: Services) -> None:
    api = await make_api(EMAIL_VERIFICATION="optional")
    signed_up = await api.http.post(
        SIGNUP, json=ANN, headers={"x-api-key": api.publishable_key, "accept-language": "fr"}
    )
    body = signed_up.json()
    assert (signed_up.status_code, sorted(body)) == (201, ["access_token", "flow_id", "token_type", "user"])
    assert (await api.as_user(body["access_token"], "GET", "/auth-collections/user")).status_code == 200
    (mail,) = await mailed(services, api)
    assert (mail.to, mail.kind) == ("ann@example.com", "verify_email")
    assert "Confirmez" in (mail.subject or "")
    # The proof is optional: a sign-in before it succeeds, and the code is no sign-in.
    assert (await api.login()).status_code == 200
    confirmed = await ask(api, "confirm", flow_id=body["flow_id"], code=mail.code)
    assert (confirmed.status_code, confirmed.json()) == (200, {"email_verified": True})
    assert (api.database["users"].find_one() or {})["email_verified"] is True


async def test_required_signs_nobody_in_before_the_code_does(make_api: MakeApi, services: Services) -> None:
    api = await make_api(EMAIL_VERIFICATION="required", REDIRECT_URLS="https://app.example/")
    signed_up = await ask(api, "signup", **ANN)
    assert (signed_up.status_code, sorted(signed_up.json())) == (202, ["expires_in", "flow_id"])
    refused = await api.login()
    assert (refused.status_code, refused.json()) == (
        403,
        {"detail": "Email not verified", "code": "email_not_verified"},
    )
    # Only a caller with the password learns this.
    assert (await api.login(password="another one")).status_code == 401
    assert not list(api.database["sessions"].find())
    mail = await newest(services, api)
    confirmed = await ask(api, "confirm", flow_id=signed_up.json()["flow_id"], code=mail.code)
    body = confirmed.json()
    assert (confirmed.status_code, sorted(body)) == (200, ["access_token", "token_type", "user"])
    assert (body["user"]["email"], body["user"]["data"]) == ("ann@example.com", {"name": "Ann"})
    (session,) = api.database["sessions"].find()
    assert session["amr"] == ["email"]
    assert (await api.as_user(body["access_token"], "GET", "/auth-collections/user")).status_code == 200
    assert (await api.login()).status_code == 200
    assert (await ask(api, "confirm", flow_id=signed_up.json()["flow_id"], code=mail.code)).status_code == 400


async def test_required_the_link_proves_and_signs_nobody_in(make_api: MakeApi, services: Services) -> None:
    api = await make_api(EMAIL_VERIFICATION="required")
    await ask(api, "signup", **ANN)
    token = (await newest(services, api)).link.partition("?t=")[2]
    confirmed = await ask(api, "confirm", token=token, password=ANN["password"])
    assert (confirmed.status_code, confirmed.json()) == (200, {"email_verified": True})
    assert (await api.login()).status_code == 200


async def test_required_a_later_mail_is_as_good_as_the_signups(make_api: MakeApi, services: Services) -> None:
    api = await make_api(EMAIL_VERIFICATION="required")
    # An earlier request by a stranger delays nothing.
    early = await ask(api, "verify-email", email="ann@example.com")
    await ask(api, "signup", **ANN)
    later = await ask(api, "forgot-password", email="ann@example.com")
    assert len(await mailed(services, api)) == 2
    assert early.json()["flow_id"] not in {mail.id for mail in await mailed(services, api)}
    code = (await newest(services, api)).code
    done = await ask(api, "reset-password", flow_id=later.json()["flow_id"], code=code, password="a better one")
    assert done.status_code == 204
    # The reader of the mail has the address.
    assert (await api.login(password="a better one")).status_code == 200


async def test_required_a_disabled_user_is_told_so_by_the_right_code_only(
    make_api: MakeApi, services: Services
) -> None:
    api = await make_api(EMAIL_VERIFICATION="required")
    flow_id = (await ask(api, "signup", **ANN)).json()["flow_id"]
    user = api.database["users"].find_one() or {}
    await api.request("PATCH", f"/auth-collections/users/{user['_id']}", json={"disabled": True})
    code = (await newest(services, api)).code
    wrong = await ask(api, "confirm", flow_id=flow_id, code=f"{(int(code) + 1) % 10**6:06}")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_code")
    right = await ask(api, "confirm", flow_id=flow_id, code=code)
    assert (right.status_code, right.json()["code"]) == (403, "account_disabled")


async def test_required_who_was_in_before_stays_in_and_steps_up_later(make_api: MakeApi, services: Services) -> None:
    api = await make_api()
    token = (await api.signup()).json()["access_token"]
    await services.base.admin.change(api.project.id, {"EMAIL_VERIFICATION": "required"})
    step = await api.as_user(token, "POST", "/auth-collections/user/step-up", json={"password": "correct horse"})
    assert (step.status_code, step.json()["code"]) == (403, "email_not_verified")
    change = {"current_password": "correct horse", "password": "a better one"}
    changed = await api.as_user(token, "POST", "/auth-collections/user/password", json=change)
    assert (changed.status_code, changed.json()["code"]) == (403, "email_not_verified")
    assert (await api.as_user(token, "GET", "/auth-collections/user")).status_code == 200


@pytest.mark.parametrize("mode", ["optional", "required"])
async def test_a_signup_is_stored_with_its_mail_or_not_at_all(
    make_api: MakeApi, services: Services, mode: str, commands: CommandRecorder
) -> None:
    api = await make_api(EMAIL_VERIFICATION=mode)
    commands.commands.clear()
    # An address is mailed five times an hour: a sixth, were it the one that is stored, would be stored without a mail.
    answers = await asyncio.gather(*(ask(api, "signup", **ANN) for _ in range(5)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [{"optional": 201, "required": 202}[mode], *[400] * 4]
    assert commands.names.count("commitTransaction") == 1
    assert len(await mailed(services, api)) == 1
    assert api.database["users"].count_documents({}) == 1


async def test_a_signup_with_a_file_is_mailed_too(make_api: MakeApi, services: Services) -> None:
    api = await make_api(EMAIL_VERIFICATION="required")
    form: Any = {"data": (None, '{"email": "ann@example.com", "password": "correct horse"}')}
    answer = await api.request("POST", SIGNUP, files={**form, "photo": ("me.png", PNG, "image/png")})
    assert answer.status_code == 202
    assert (await newest(services, api)).to == "ann@example.com"
    assert "photo" in (api.database["users"].find_one() or {})["data"]


@pytest.mark.parametrize("mode", ["optional", "required"])
async def test_a_signup_that_is_sent_again_is_mailed_once(make_api: MakeApi, services: Services, mode: str) -> None:
    api = await make_api(EMAIL_VERIFICATION=mode)
    send = [api.request("POST", SIGNUP, json=ANN, headers={"idempotency-key": "k1"}) for _ in range(3)]
    answers = [await each for each in send]
    assert {answer.status_code for answer in answers} == {{"optional": 201, "required": 202}[mode]}
    assert len({answer.json()["flow_id"] for answer in answers}) == 1
    assert [answer.headers.get("idempotency-replayed") for answer in answers] == [None, "true", "true"]
    assert len(await mailed(services, api)) == 1
    if mode == "optional":
        assert len({answer.json()["access_token"] for answer in answers}) == 3
        assert {answer.json()["user"]["email"] for answer in answers} == {"ann@example.com"}


async def test_a_signup_past_the_mails_of_the_day_is_none_the_less_one(make_api: MakeApi, services: Services) -> None:
    api = await make_api(EMAIL_VERIFICATION="required", MAIL_LIMIT="1")
    assert (await ask(api, "signup", **ANN)).status_code == 202
    assert (await ask(api, "signup", **{**ANN, "email": "bob@example.com"})).status_code == 202
    assert [mail.to for mail in await mailed(services, api)] == ["ann@example.com"]
    assert api.database["users"].count_documents({}) == 2

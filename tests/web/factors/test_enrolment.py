"""Projects whose users must have a second factor, and adding it on the way to the first session."""

import asyncio

import pytest

from service.domain.accounts.factor_codes import code_at
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.factors.apps import CLOCK, FACTORS, INVALID, TOTP, USER, add_app, guest, told
from tests.web.factors.enrolling import MUST, begin_app, wait
from tests.web.flows.mailbox import mailed


@pytest.fixture
async def strict(make_api: MakeApi) -> Api:
    return await make_api(**MUST)


async def test_a_signup_makes_the_user_who_then_adds_a_factor(strict: Api, services: Services) -> None:
    answer = await strict.signup(name="Ann")
    flow_id = answer.json()["flow_id"]
    assert (answer.status_code, answer.json()) == (
        403,
        {"detail": "A second factor must be added first", "code": "mfa_enrolment_required", "flow_id": flow_id},
    )
    assert strict.database["sessions"].count_documents({}) == 0
    assert strict.database["users"].count_documents({}) == 1
    path, app = await begin_app(strict, flow_id)
    wrong = await guest(strict, path, flow_id=flow_id, code=app.wrong())
    assert told(wrong) == INVALID
    done = await guest(strict, path, flow_id=flow_id, code=app.code())
    body = done.json()
    assert (done.status_code, len(body["recovery_codes"]), body["user"]["data"]) == (200, 10, {"name": "Ann"})
    (session,) = strict.database["sessions"].find()
    assert (session["aal"], session["amr"]) == (2, ["pwd", "otp"])
    assert (await strict.as_user(body["access_token"], "GET", USER)).status_code == 200
    assert [mail.kind for mail in await mailed(services, strict)] == ["factor_changed"]
    # From then on the factor is asked for.
    assert (await strict.login()).json()["code"] == "mfa_required"


async def test_of_two_who_come_with_one_flow_one_adds_a_factor(strict: Api) -> None:
    await strict.signup()
    flow_id = await wait(strict)
    begun = [await begin_app(strict, flow_id) for _ in range(6)]
    answers = await asyncio.gather(
        *(guest(strict, path, flow_id=flow_id, code=code_at(app.secret, CLOCK.time())) for path, app in begun)
    )
    assert sorted(answer.status_code for answer in answers) == [200, *[400] * 5]


async def test_a_flow_is_of_its_user_and_adds_what_was_begun_for_that_user(strict: Api, make_api: MakeApi) -> None:
    await strict.signup()
    await strict.signup("bob@example.com")
    ann = await wait(strict)
    bob = (await strict.login("bob@example.com")).json()["flow_id"]
    path, app = await begin_app(strict, ann)
    assert told(await guest(strict, path, flow_id=bob, code=app.code())) == INVALID
    assert told(await guest(await make_api(**MUST), TOTP, flow_id=ann)) == INVALID
    assert (await guest(strict, path, flow_id=ann, code=app.code())).status_code == 200


async def test_a_flow_dies_with_the_password_and_the_account(strict: Api) -> None:
    user_id = (await strict.signup("x@example.com"), await strict.signup())[1] and str(
        (await strict.users("email_eq=ann@example.com")).json()["users"][0]["id"]
    )
    flow_id = await wait(strict)
    path, app = await begin_app(strict, flow_id)
    body = {"password": "another password"}
    assert (await strict.request("PUT", f"/auth-collections/users/{user_id}/password", json=body)).status_code == 204
    assert told(await guest(strict, path, flow_id=flow_id, code=app.code())) == INVALID
    flow_id = (await strict.login(password="another password")).json()["flow_id"]
    path, app = await begin_app(strict, flow_id)
    strict.database["users"].update_one({"_id": user_id}, {"$set": {"disabled": True}})
    disabled = await guest(strict, path, flow_id=flow_id, code=app.code())
    assert (disabled.status_code, disabled.json()["code"]) == (403, "account_disabled")
    strict.database["users"].delete_one({"_id": user_id})
    assert told(await guest(strict, TOTP, flow_id=flow_id)) == INVALID


async def test_d3_a_user_disabled_during_an_enrolment_learns_it_by_a_right_code_only(strict: Api) -> None:
    await strict.signup()
    flow_id = await wait(strict)
    path, app = await begin_app(strict, flow_id)
    user_id = (await strict.users()).json()["users"][0]["id"]
    changed = await strict.request("PATCH", f"/auth-collections/users/{user_id}", json={"disabled": True})
    assert changed.status_code == 200
    assert told(await guest(strict, path, flow_id=flow_id, code=app.wrong())) == INVALID
    disabled = await guest(strict, path, flow_id=flow_id, code=app.code())
    assert (disabled.status_code, disabled.json()["code"]) == (403, "account_disabled")
    assert "totp" not in (strict.database["users"].find_one() or {})


async def test_a_role_can_ask_for_a_factor(make_api: MakeApi) -> None:
    api = await make_api(MFA_ROLES="admin, editor")
    user = (await api.signup()).json()["user"]
    assert (await api.login()).status_code == 200
    roles = f"/auth-collections/users/{user['id']}/roles"
    await api.request("PUT", roles, json={"roles": ["editor"]})
    await wait(api)
    await api.request("PUT", roles, json={"roles": ["reader"]})
    assert (await api.login()).status_code == 200


async def test_what_is_asked_for_later_leaves_sessions_and_passwords_as_they_are(api: Api, services: Services) -> None:
    token = (await api.signup()).json()["access_token"]
    await services.base.admin.change(api.project.id, MUST)
    services.base.projects.forget_all()
    change = {"current_password": "correct horse", "password": "a better password"}
    for path, body in ((f"{USER}/password", change), (f"{USER}/step-up", {"password": "correct horse"})):
        answer = await api.as_user(token, "POST", path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "mfa_enrolment_required"), path
    assert (await api.as_user(token, "GET", USER)).status_code == 200
    # A user with a token adds one by that, or by the flow, which ends the session that it is for.
    path, app = await begin_app(api, answer.json()["flow_id"])
    done = await guest(api, path, flow_id=answer.json()["flow_id"], code=app.code())
    assert done.status_code == 200
    assert (await api.as_user(token, "GET", USER)).status_code == 401
    assert (await api.as_user(done.json()["access_token"], "GET", FACTORS)).status_code == 200


async def test_a_token_and_a_flow_at_once_are_refused(api: Api) -> None:
    token = (await api.signup()).json()["access_token"]
    answer = await api.as_user(token, "POST", TOTP, json={"flow_id": "made-up"})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "flow_id"])
    _, added = await add_app(api, token)
    assert added.status_code == 200


async def test_mfa_is_one_of_three(services: Services, api: Api) -> None:
    from service.errors import ConfigurationError

    for values in ({"MFA": "sometimes"}, {"MFA_ROLES": "Not A Role"}):
        with pytest.raises(ConfigurationError):
            await services.base.admin.change(api.project.id, values)

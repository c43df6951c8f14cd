"""PASSWORD_CHECK=common: wherever a password is set."""

from collections.abc import Mapping
from typing import Any

import pytest

from faults.samples import FORM_TYPE, account, form
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.flows.mailbox import ask, newest

EMAIL = "ann.lee.junior@example.com"
COMMON = {
    "loc": ["body", "password"],
    "msg": "This password is too common",
    "type": "password_common",
}
NAMED = {
    "loc": ["body", "password"],
    "msg": "Password must not be the e-mail address, the part before its @, or the project's name",
    "type": "password_named",
}
REFUSED = {"Password1": COMMON, EMAIL.upper(): NAMED, "Ann.Lee.Junior": NAMED, "a pROJECT": NAMED}
GOOD = "a better password"


@pytest.fixture
async def checking(make_api: MakeApi) -> Api:
    return await make_api(PASSWORD_CHECK="common", REDIRECT_URLS="https://app.example.com/done")


def refusal(answer: Any) -> Any:
    assert answer.status_code == 422, answer.text
    body = answer.json()
    assert body["code"] == "validation_error"
    (fault,) = body["detail"]
    return fault


def stored(api: Api) -> Mapping[str, Any] | None:
    """The user's record, but for the last sign-in, which is noted some time after it."""
    return api.database["users"].find_one({"email": EMAIL}, {"last_sign_in_at": 0})


@pytest.mark.parametrize("password", REFUSED)
async def test_signups_and_new_users(checking: Api, password: str) -> None:
    assert refusal(await checking.signup(EMAIL, password)) == REFUSED[password]
    sent = form(account(email=EMAIL, password=password))
    filled = await checking.request("POST", "/auth-collections/signup", content=sent, headers=FORM_TYPE)
    assert refusal(filled) == REFUSED[password]
    body = {"email": EMAIL, "password": password}
    assert refusal(await checking.request("POST", "/auth-collections/users", json=body)) == REFUSED[password]
    assert stored(checking) is None
    assert (await checking.signup(EMAIL, GOOD)).status_code == 201


@pytest.mark.parametrize("password", REFUSED)
async def test_a_users_own_change_and_the_servers(checking: Api, password: str) -> None:
    signed_up = (await checking.signup(EMAIL, GOOD)).json()
    before = stored(checking)
    body = {"current_password": GOOD, "password": password}
    token, one = signed_up["access_token"], f"/auth-collections/users/{signed_up['user']['id']}/password"
    own = await checking.as_user(token, "POST", "/auth-collections/user/password", json=body)
    assert refusal(own) == REFUSED[password]
    put = await checking.request("PUT", one, json={"password": password})
    assert refusal(put) == REFUSED[password]
    assert stored(checking) == before
    assert (await checking.request("PUT", one, json={"password": GOOD})).status_code == 204


@pytest.mark.parametrize("password", REFUSED)
async def test_a_reset_by_code_by_token_and_by_the_page_spends_nothing(
    checking: Api, services: Services, password: str
) -> None:
    await checking.signup(EMAIL, GOOD)
    before = stored(checking)
    flow_id = (await ask(checking, "forgot-password", email=EMAIL)).json()["flow_id"]
    mail = await newest(services, checking)
    token = mail.link.partition("?t=")[2]
    for proof in ({"flow_id": flow_id, "code": mail.code}, {"token": token}):
        for _ in range(6):
            assert refusal(await ask(checking, "reset-password", password=password, **proof)) == REFUSED[password]
    headers = {"origin": "http://service.test"}
    page = await checking.http.post(f"/auth-collections/link?t={token}", data={"password": password}, headers=headers)
    assert page.status_code == 422
    assert stored(checking) == before
    done = await ask(checking, "reset-password", password=GOOD + "!", flow_id=flow_id, code=mail.code)
    assert done.status_code == 204


async def test_an_unknown_user_is_not_found(checking: Api) -> None:
    path = f"/auth-collections/users/{'0' * 24}/password"
    assert (await checking.request("PUT", path, json={"password": GOOD})).status_code == 404


async def test_without_the_setting_all_of_them_are_taken(api: Api) -> None:
    for number, password in enumerate(REFUSED):
        assert (await api.signup(EMAIL if not number else f"{number}{EMAIL}", password)).status_code == 201


async def test_who_has_such_a_password_already_still_signs_in(checking: Api, services: Services) -> None:
    await services.base.admin.change(checking.project.id, {"PASSWORD_CHECK": "off"})
    assert (await checking.signup(EMAIL, "Password1")).status_code == 201
    await services.base.admin.change(checking.project.id, {"PASSWORD_CHECK": "common"})
    assert (await checking.login(EMAIL, "Password1")).status_code == 200

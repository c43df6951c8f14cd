"""LOGIN_FAILURES: wrong passwords that count by account."""

import asyncio
import time
from typing import Any

import pytest

from service.domain.mail_flows.codes import QUARTER
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.flows.mailbox import ask, newest

USER = "/auth-collections/user"
LOCKED = "The limit of 10 wrong passwords and codes in 15 minutes for one account is reached"
# The end of a window within a test would let more through than its limit.
MARGIN_SECONDS = 30


@pytest.fixture(autouse=True)
def _within_a_quarter() -> None:
    if (left := QUARTER - time.time() % QUARTER) < MARGIN_SECONDS:
        time.sleep(left)


async def wrong_logins(api: Api, number: int, email: str = "ann@example.com") -> list[int]:
    answers = await asyncio.gather(*(api.login(email, "wrong horse") for _ in range(number)))
    return sorted(answer.status_code for answer in answers)


async def test_ten_wrong_passwords_close_an_account_to_guesses_and_the_mail_stays_open(
    make_api: MakeApi, services: Services
) -> None:
    api = await make_api(LOGIN_FAILURES="true")
    token = (await api.signup()).json()["access_token"]
    await api.signup("bob@example.com")
    # Right ones are no mistakes, however many.
    assert {(await api.login()).status_code for _ in range(12)} == {200}
    assert await wrong_logins(api, 8) == [401] * 8
    # Those of a step-up and of a change of the password are counted with them.
    wrong: dict[str, Any] = {
        "step-up": {"password": "x"},
        "password": {"current_password": "x", "password": "long enough"},
    }
    for path, body in wrong.items():
        assert (await api.as_user(token, "POST", f"{USER}/{path}", json=body)).status_code == 401
    locked = await api.login()
    assert (locked.status_code, locked.json()["detail"]) == (429, LOCKED)
    assert 0 < int(locked.headers["retry-after"]) <= QUARTER
    for path, body in wrong.items():
        assert (await api.as_user(token, "POST", f"{USER}/{path}", json=body)).status_code == 429
    # Other accounts stay open, and so does the session; codes are closed, and the link of a mail is not.
    assert (await api.login("bob@example.com")).status_code == 200
    assert (await api.as_user(token, "GET", USER)).status_code == 200
    flow_id = (await ask(api, "forgot-password", email="ann@example.com")).json()["flow_id"]
    mail = await newest(services, api)
    new = {"password": "a better password"}
    assert (await ask(api, "reset-password", flow_id=flow_id, code=mail.code, **new)).status_code == 429
    link = mail.link.partition("?t=")[2]
    assert (await ask(api, "reset-password", token=link, **new)).status_code == 204


async def test_of_many_guesses_at_once_ten_are_judged_also_for_strangers(make_api: MakeApi) -> None:
    api = await make_api(LOGIN_FAILURES="true")
    await api.signup()
    assert await wrong_logins(api, 25) == [401] * 10 + [429] * 15
    assert await wrong_logins(api, 25, "nobody@example.com") == [404] * 10 + [429] * 15


async def test_without_the_setting_wrong_passwords_count_by_address_only(api: Api) -> None:
    await api.signup()
    assert await wrong_logins(api, 12) == [401] * 12
    assert (await api.login()).status_code == 200

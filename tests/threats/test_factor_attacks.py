"""Rows M1 to M3, S8 and E7: second factors that are gone around, changed by others, used twice, or forgotten.

M4, and D3 of every way, stand in `tests/domain/sessions/test_admission.py` and `tests/web/sign_in/test_factors.py`.
"""

import asyncio
import time
from typing import Any

import httpx2
import pytest

from faults.factors import Holders
from faults.once import race
from service.app import Application
from service.domain.sessions.sessions import PASSWORD, Client, Grant
from service.services import Services
from service.storage.account_states import NEW_ACCOUNT
from service.storage.users import FIRST_VERSION
from tests.conftest import Api, MakeApi
from tests.web.factors.apps import (
    CLOCK,
    FACTORS,
    INVALID,
    LOGIN_FACTOR,
    RECOVERY,
    STALE,
    STEP_UP,
    TOTP,
    USER,
    WRONG,
    Member,
    add_app,
    guest,
    make_member,
    told,
)
from tests.web.factors.enrolling import MUST, begin_app, wait
from tests.web.factors.resets import NEW, RESET, begin, begin_link, reset
from tests.web.flows.mailbox import ask, mailed, newest
from tests.web.flows.test_link import OWN, post

SESSIONS = f"{USER}/sessions"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("service.domain.accounts.factor_proofs", "service.domain.accounts.enrolment"):
        monkeypatch.setattr(f"{name}.time", CLOCK)


@pytest.fixture
async def member(api: Api) -> Member:
    return await make_member(api)


@pytest.fixture
async def strict(make_api: MakeApi) -> Api:
    return await make_api(**MUST)


async def test_m1_a_password_alone_gives_no_token_and_its_flow_opens_nothing_else(member: Member) -> None:
    api, before = member.api, member.api.database["sessions"].count_documents({})
    answer = await api.login()
    assert "token" not in answer.text
    assert api.database["sessions"].count_documents({}) == before
    flow_id = answer.json()["flow_id"]
    assert (await api.as_user(flow_id, "GET", USER)).status_code == 401
    assert (await guest(api, "/auth-collections/refresh", refresh_token=flow_id)).status_code == 401
    for path, body in (
        ("/auth-collections/confirm", {"flow_id": flow_id, "code": "000000"}),
        ("/auth-collections/confirm", {"token": flow_id}),
        ("/auth-collections/reset-password", {"flow_id": flow_id, "code": "000000", "password": "a better password"}),
        ("/auth-collections/token", {"code": flow_id, "code_verifier": "x" * 43}),
        (TOTP, {"flow_id": flow_id}),
        (f"{TOTP}/{member.factor_id}/confirm", {"flow_id": flow_id, "code": member.app.code()}),
    ):
        assert told(await guest(api, path, **body)) == INVALID, path
    # Nor does it do anything in another project.
    assert (await member.finish(flow_id, totp=member.app.code())).status_code == 200


async def test_m1_a_flow_is_of_one_project_and_user(member: Member, make_api: MakeApi) -> None:
    other, flow_id = await make_api(), await member.begin()
    assert told(await guest(other, LOGIN_FACTOR, flow_id=flow_id, totp=member.app.code())) == WRONG
    api = member.api
    token = (await api.signup("bob@example.com")).json()["access_token"]
    bobs, _ = await add_app(api, token)
    assert told(await member.finish(flow_id, totp=bobs.code())) == WRONG
    assert (await member.finish(flow_id, totp=member.app.code())).status_code == 200


async def test_m2_factors_are_changed_with_the_factor_and_shortly_after_it(
    member: Member, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = member.api
    # A session by password only, from a moment before there was the factor.
    weak = (await _open_weak(services, member)).access_token
    changes: tuple[tuple[str, str, Any], ...] = (
        ("POST", TOTP, {}),
        ("POST", f"{TOTP}/{member.factor_id}/confirm", {"code": "000000"}),
        ("DELETE", f"{FACTORS}/{member.factor_id}", None),
        ("POST", RECOVERY, None),
        ("DELETE", SESSIONS, None),
        ("DELETE", USER, None),
        ("POST", f"{USER}/email", {"email": "x@example.com"}),
    )
    for method, path, body in changes:
        assert told(await api.as_user(weak, method, path, json=body)) == STALE, path
    moment = time.time() + 660
    with monkeypatch.context() as patch:
        patch.setattr("service.domain.sessions.step_up.time.time", lambda: moment)
        for method, path, body in changes:
            assert told(await member.ask(method, path, json=body)) == STALE, path
    assert (await member.ask("GET", FACTORS)).json()["factors"][0]["id"] == member.factor_id


async def test_m2_a_flow_adds_the_first_factor_and_no_other(strict: Api) -> None:
    await strict.signup()
    first, second = await wait(strict), await wait(strict)
    path, app = await begin_app(strict, first)
    waiting, other = await begin_app(strict, second)
    assert (await guest(strict, path, flow_id=first, code=app.code())).status_code == 200
    for flow_id in (first, second):
        assert told(await guest(strict, TOTP, flow_id=flow_id)) == INVALID
        assert told(await guest(strict, waiting, flow_id=flow_id, code=other.code())) == INVALID
    record: Any = strict.database["users"].find_one({})
    assert record["totp"]["name"] == "phone"


async def _open_weak(services: Services, member: Member) -> Grant:
    client = Client("127.0.0.1", "a browser")
    return await services.sessions.open(
        member.api.project, member.user_id, FIRST_VERSION, client, state=NEW_ACCOUNT, amr=PASSWORD
    )


async def test_m3_of_a_hundred_with_one_code_one_signs_in(member: Member, mongo: Any, database_prefix: str) -> None:
    for number in range(3):
        proof = {"totp": member.app.code()} if number == 0 else {"recovery_code": member.codes[number]}
        # A proof too many counts as a mistake of the account.
        mongo[f"{database_prefix}system"]["counters"].delete_many({})
        flows = [await member.begin() for _ in range(10)]
        answers = await asyncio.gather(*(member.finish(flow_id, **proof) for flow_id in flows for _ in range(10)))
        assert [answer.status_code for answer in answers].count(200) == 1, number
        assert {answer.status_code for answer in answers} <= {200, 401, 429}


@pytest.mark.parametrize("kind", ["totp", "recovery_code"])
async def test_m3_a_factor_that_several_bring_at_once_is_good_once(
    api: Api, http: httpx2.AsyncClient, running_app: Application, kind: str
) -> None:
    """The small form of `scripts/faults once`."""
    holders = Holders(running_app, api.project, 4, secret=b"k" * 32)
    make = holders.make_totp if kind == "totp" else holders.make_recovery_code
    # The races have no clock of their own.
    CLOCK.ahead = 0
    report = await race([http], api.key, make, races=20, at_once=4)
    assert (report.races, report.twice, report.lost) == (20, 0, 0)


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


@pytest.mark.parametrize("kind", [0, 1])
async def test_e7_a_mail_alone_brings_no_other_password(member: Member, services: Services, kind: int) -> None:
    proof = (await begin(member, services))[kind]
    before: Any = member.api.database["users"].find_one({}, {"last_sign_in_at": 0})
    answer = await reset(member, proof)
    body = answer.json()
    assert (answer.status_code, body["code"], body["methods"]) == (401, "mfa_required", ["totp", "recovery_code"])
    assert 0 < body["expires_in"] <= 3_600
    for factor in ({"totp": member.app.wrong()}, {"recovery_code": "x"}):
        assert told(await reset(member, proof, factor=factor)) == WRONG
    # Nothing is changed: neither the record, nor sessions, nor what the mail is good for.
    assert member.api.database["users"].find_one({}, {"last_sign_in_at": 0}) == before
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
    api.database["users"].update_one({}, {"$set": {"email_verified": True}})
    asked = await ask(api, "forgot-password", email="ann@example.com")
    mail = await newest(services, api, "ann@example.com")
    hash_ = services.accounts.passwords.hash

    async def slowly(*args: Any) -> str:
        await add_app(api, token)
        return await hash_(*args)

    monkeypatch.setattr(services.accounts.passwords, "hash", slowly)
    proof = {"flow_id": asked.json()["flow_id"], "code": mail.code}
    answer = await guest(api, RESET, **proof, password=NEW)
    assert (answer.status_code, answer.json()["code"]) == (401, "mfa_required")
    assert (await api.login()).json()["code"] == "mfa_required"


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

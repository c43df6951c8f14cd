"""Signing in at the console: cookies, stages, confirmation, limits, and what ends a session."""

import asyncio
import time
from typing import Any

import pytest
from pymongo import MongoClient

from service.bounds import MAX_OPERATOR_SESSIONS
from service.domain.accounts.factor_codes import code_at
from service.domain.operators.sessions import NewSession
from service.domain.sessions.sessions import Client
from service.services import Services
from tests.web.operators.conftest import PASSWORD, Browse, Console, Join

SESSION = "/admin/v1/session"


async def enrol(console: Console) -> tuple[str, list[str]]:
    """The secret of the app that the operator sets up, and the recovery codes."""
    secret = (await console.post("/admin/v1/me/totp")).json()["secret"]
    # The code of a step is good once, so the next ones are of later steps.
    answer = await console.post("/admin/v1/me/totp/confirm", {"code": code_at(secret, time.time() - 30)})
    assert answer.status_code == 200, answer.text
    return secret, answer.json()["recovery_codes"]


async def test_the_first_owner_signs_in_and_out(owner: Console, browse: Browse) -> None:
    me = (await owner.get(SESSION)).json()
    assert (me["stage"], me["operator"]["email"]) == ("full", "owner@example.com")
    assert me["access"]["*"]["deployment"] == "write"
    other = browse()
    answer = await other.sign_in("Owner@Example.com")
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-console_")
    flags = {part.strip() for part in cookie.split(";")[1:]}
    assert flags == {"HttpOnly", "Max-Age=86400", "Path=/", "SameSite=strict", "Secure"}
    out = await other.delete(SESSION)
    assert (out.status_code, out.headers["clear-site-data"]) == (204, '"cache"')
    assert "Max-Age=0" in out.headers["set-cookie"]


async def test_an_ended_an_unknown_and_an_absent_session_are_refused_alike(owner: Console, browse: Browse) -> None:
    absent = await browse().get(SESSION)
    cookie = owner.http.cookies.jar.__iter__().__next__()
    await owner.delete(SESSION)
    name = str(cookie.name)
    ended = await browse().get(SESSION, headers={"cookie": f"{name}={cookie.value}"})
    unknown = await browse().get(SESSION, headers={"cookie": f"{name}={'a' * 43}"})
    assert absent.json() == {"detail": "Sign in as an operator", "code": "operator_required", "has_operators": True}
    assert absent.content == ended.content == unknown.content
    assert (absent.status_code, ended.status_code, unknown.status_code) == (401, 401, 401)


async def test_before_the_first_operator_a_refusal_says_that_there_is_none(browse: Browse) -> None:
    assert (await browse().get(SESSION)).json()["has_operators"] is False


async def test_a_wrong_password_and_an_unknown_address_are_refused_alike(owner: Console, browse: Browse) -> None:
    wrong = await browse().sign_in(password="another long phrase")
    unknown = await browse().sign_in("nobody@example.com")
    assert (wrong.status_code, wrong.content) == (401, unknown.content)
    assert wrong.json()["code"] == "invalid_credentials"


async def test_a_second_factor_completes_a_sign_in(owner: Console, browse: Browse) -> None:
    secret, codes = await enrol(owner)
    console = browse()
    begun = (await console.sign_in()).json()
    assert (begun["stage"], begun["access"]) == ("factor", {})
    closed = await console.get("/admin/v1/projects")
    assert (closed.status_code, closed.json()["stage"]) == (401, "factor")
    assert (await console.post("/admin/v1/me/totp")).status_code == 401
    wrong = await console.post(f"{SESSION}/factor", {"totp": "000000"})
    assert (wrong.status_code, wrong.json()["code"]) == (401, "invalid_factor")
    both = await console.post(f"{SESSION}/factor", {"totp": "000000", "recovery_code": codes[0]})
    assert both.status_code == 422
    right = await console.post(f"{SESSION}/factor", {"totp": code_at(secret, time.time())})
    assert (right.status_code, right.json()["stage"]) == (200, "full")
    assert right.json()["confirmed_until"]
    assert right.json()["operator"]["factors"][0]["recovery_codes_left"] == 10


async def test_a_factor_is_set_up_first_where_it_is_required(
    owner: Console, browse: Browse, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services.operators.factors, "is_required", True)
    console = browse()
    assert (await console.sign_in()).json()["stage"] == "enrol"
    assert (await console.get("/admin/v1/operators")).json()["stage"] == "enrol"
    await enrol(console)
    assert (await console.get(SESSION)).json()["stage"] == "full"
    kept = await console.delete("/admin/v1/me/totp")
    assert (kept.status_code, kept.json()["code"]) == (409, "factor_required")


async def test_a_confirmation_replaces_the_session(
    owner: Console, browse: Browse, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    before = next(iter(owner.http.cookies.jar))
    sessions = mongo[f"{database_prefix}system"]["operator_sessions"]
    sessions.update_many({}, {"$unset": {"confirmed_at": ""}})
    body = {"name": "ci", "scopes": ["*:data:read"], "days": 1}
    refused = await owner.post("/admin/v1/me/tokens", body)
    assert (refused.status_code, refused.json()["code"]) == (403, "confirmation_required")
    wrong = await owner.confirm("another long phrase")
    assert (wrong.status_code, wrong.json()["code"]) == (401, "invalid_credentials")
    assert (await owner.confirm()).status_code == 200
    assert (await owner.post("/admin/v1/me/tokens", body)).status_code == 201
    stolen = await browse().get(SESSION, headers={"cookie": f"{before.name}={before.value}"})
    assert stolen.status_code == 401
    assert sessions.count_documents({}) == 1


async def test_a_confirmation_needs_the_factor_too(owner: Console) -> None:
    secret, codes = await enrol(owner)
    for missing in ({}, {"totp": "000000"}):
        refused = await owner.confirm(**missing)
        assert (refused.status_code, refused.json()["code"]) == (401, "invalid_factor")
    assert (await owner.confirm(recovery_code=codes[0])).status_code == 200
    assert (await owner.confirm(recovery_code=codes[0])).status_code == 401
    assert (await owner.confirm(totp=code_at(secret, time.time()))).status_code == 200


async def test_another_password_ends_all_other_sessions(owner: Console, browse: Browse) -> None:
    other = browse()
    await other.sign_in()
    body = {"current_password": "wrong", "password": "another long phrase"}
    wrong = await owner.request("PUT", "/admin/v1/me/password", json=body)
    assert (wrong.status_code, wrong.json()["code"]) == (401, "invalid_password")
    changed = await owner.request("PUT", "/admin/v1/me/password", json=body | {"current_password": PASSWORD})
    assert changed.status_code == 204
    assert (await other.get(SESSION)).status_code == 401
    assert (await owner.get(SESSION)).status_code == 200
    assert (await browse().sign_in()).status_code == 401


@pytest.mark.parametrize(
    "password",
    ["too short", "x" * 73, "password1234", "PASSWORD1234", "nul \0 in a phrase"],
    ids=["11 characters", "73 bytes", "common", "common in capitals", "NUL"],
)
async def test_a_bad_password_is_refused_and_spends_nothing(owner: Console, password: str) -> None:
    body = {"current_password": PASSWORD, "password": password}
    refused = await owner.request("PUT", "/admin/v1/me/password", json=body)
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "password"])


@pytest.mark.parametrize("field", ["last_seen_at", "expires_at"])
async def test_a_session_ends_with_its_time(
    field: str, owner: Console, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    """By MongoDB's clock, an hour back for idleness."""
    moved = {"$subtract": ["$$NOW", 3_600_001]}
    mongo[f"{database_prefix}system"]["operator_sessions"].update_many({}, [{"$set": {field: moved}}])
    assert (await owner.get(SESSION)).status_code == 401


async def test_an_operator_has_at_most_20_sessions(owner: Console, browse: Browse, services: Services) -> None:
    me = (await owner.get(SESSION)).json()["operator"]
    for _ in range(MAX_OPERATOR_SESSIONS):
        await services.operators.sessions.open(NewSession(me["id"], 1, "full", Client("192.0.2.1", "")))
    assert (await owner.get(SESSION)).status_code == 401


async def test_own_sessions_are_listed_and_ended(owner: Console, browse: Browse) -> None:
    other = browse()
    await other.sign_in()
    listed = (await owner.get("/admin/v1/me/sessions")).json()["sessions"]
    assert [each["current"] for each in listed] == [False, True]
    ended = await owner.delete(f"/admin/v1/me/sessions/{listed[0]['id']}")
    assert (ended.status_code, (await other.get(SESSION)).status_code) == (204, 401)
    assert (await owner.delete("/admin/v1/me/sessions/none")).status_code == 404


async def test_a_request_is_one_question_to_mongodb(owner: Console, commands: Any) -> None:
    await owner.get(SESSION)
    commands.commands.clear()
    assert (await owner.get(SESSION)).status_code == 200
    assert [name for name in commands.names if name != "findAndModify"] == ["aggregate"]


async def test_uses_of_sessions_are_written_apart_from_requests(
    owner: Console, services: Services, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    sessions = mongo[f"{database_prefix}system"]["operator_sessions"]
    sessions.update_many({}, [{"$set": {"last_seen_at": {"$subtract": ["$$NOW", 120_000]}}}])
    before = sessions.find_one({})
    await owner.get(SESSION)
    await services.operators.uses.write()
    after = sessions.find_one({})
    assert before is not None
    assert after is not None
    assert (after["last_seen_at"] - before["last_seen_at"]).total_seconds() >= 120


async def test_disabled_operators_are_told_so_after_the_right_password_only(
    owner: Console, browse: Browse, join: Join
) -> None:
    console = await join("admin@example.com", every="admin")
    found = (await owner.get("/admin/v1/operators")).json()["operators"]
    operator_id = next(each["id"] for each in found if each["email"] == "admin@example.com")
    changed = await owner.request("PATCH", f"/admin/v1/operators/{operator_id}", json={"disabled": True})
    assert changed.json()["disabled"] is True
    assert (await console.get(SESSION)).status_code == 401
    right = await browse().sign_in("admin@example.com")
    assert (right.status_code, right.json()["code"]) == (403, "account_disabled")
    assert (await browse().sign_in("admin@example.com", "another long phrase")).status_code == 401


async def test_failures_of_an_account_are_counted_together(owner: Console, browse: Browse, services: Services) -> None:
    answers = await asyncio.gather(*(browse().sign_in(password=f"a wrong phrase {number}") for number in range(15)))
    assert sorted(each.status_code for each in answers) == [401] * 10 + [429] * 5
    # Another way in is closed as well, whatever it carries.
    assert (await owner.confirm()).status_code == 429
    assert (await owner.get(SESSION)).status_code == 200

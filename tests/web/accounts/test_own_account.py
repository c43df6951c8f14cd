"""POST /user/password and DELETE /user."""

import asyncio
import time
from typing import Any

import pytest

from faults.samples import FORM_TYPE, account, file_part, form
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.flows.mailbox import ask, mailed, newest

USER = "/auth-collections/user"
PASSWORD, SESSIONS, EVENTS = f"{USER}/password", f"{USER}/sessions", "/auth-collections/events"
NEW = "a better password"
CHANGE = {"current_password": "correct horse", "password": NEW}
WRONG = (401, {"detail": "Invalid password", "code": "invalid_password"})
INVALID = (400, {"detail": "Invalid or expired code", "code": "invalid_code"})
STALE = (403, {"detail": "Sign in again to do this", "code": "step_up_required"})


async def sign_up(api: Api, email: str = "ann@example.com") -> Any:
    return (await api.signup(email)).json()


async def change(api: Api, token: str, **body: str) -> Any:
    return await api.as_user(token, "POST", PASSWORD, json=body)


def told(answer: Any) -> tuple[int, Any]:
    return answer.status_code, answer.json()


def make_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if eleven minutes had passed since every sign-in."""
    moment = time.time() + 660
    monkeypatch.setattr("service.domain.sessions.step_up.time.time", lambda: moment)


async def begin_reset(api: Api, services: Services) -> dict[str, str]:
    flow_id = (await ask(api, "forgot-password", email="ann@example.com")).json()["flow_id"]
    return {"flow_id": flow_id, "code": (await newest(services, api)).code}


async def test_another_password_ends_all_sessions_and_opens_one(api: Api, services: Services) -> None:
    old = (await sign_up(api))["access_token"]
    other = (await api.login()).json()["access_token"]
    reset = await begin_reset(api, services)
    answer = await change(api, old, **CHANGE)
    assert answer.status_code == 200
    body = answer.json()
    assert body.keys() == {"access_token", "token_type", "user"}
    tokens = (old, other, body["access_token"])
    assert [(await api.as_user(token, "GET", USER)).status_code for token in tokens] == [401, 401, 200]
    assert len((await api.as_user(body["access_token"], "GET", SESSIONS)).json()["sessions"]) == 1
    assert [(await api.login(password=text)).status_code for text in ("correct horse", NEW)] == [401, 200]
    # The mail for the old one is void, and the user is notified.
    assert told(await ask(api, "reset-password", password=NEW, **reset)) == INVALID
    assert [(mail.kind, mail.to) for mail in await mailed(services, api)] == [("password_changed", "ann@example.com")]
    (event,) = (await api.request("GET", f"{EVENTS}?type=password_changed")).json()["events"]
    assert (event["actor"], event["ip"], event["user_id"]) == ("user", "127.0.0.1", body["user"]["id"])
    assert event["sid"] is not None


async def test_a_change_that_is_refused_changes_nothing(api: Api, services: Services) -> None:
    token = (await sign_up(api))["access_token"]
    for body in ({"password": NEW}, {"current_password": "wrong horse", "password": NEW}):
        assert told(await change(api, token, **body)) == WRONG
    short = await change(api, token, current_password="correct horse", password="short")
    assert (short.status_code, short.json()["detail"][0]["loc"]) == (422, ["body", "password"])
    assert (await change(api, "x", **CHANGE)).status_code == 401
    assert (await api.login()).status_code == 200
    assert await mailed(services, api) == []


async def test_of_two_changes_at_once_one_is_made(api: Api) -> None:
    token = (await sign_up(api))["access_token"]
    texts = [f"{NEW} {number}" for number in range(3)]
    answers = await asyncio.gather(
        *(change(api, token, current_password="correct horse", password=text) for text in texts)
    )
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401]
    (good,) = [text for text, answer in zip(texts, answers, strict=True) if answer.status_code == 200]
    assert (await api.login(password=good)).status_code == 200


async def test_who_has_no_password_chooses_one_after_a_sign_in(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    token = (await sign_up(api))["access_token"]
    api.database["users"].update_one({}, {"$set": {"password": "ann@example.com"}})
    with monkeypatch.context() as patch:
        make_stale(patch)
        answer = await change(api, token, password=NEW)
        assert told(answer) == STALE
        assert answer.headers["www-authenticate"].startswith("Bearer error=")
    assert (await change(api, token, password=NEW)).status_code == 200
    assert (await api.login(password=NEW)).status_code == 200


async def test_guesses_of_the_present_password_are_counted_as_logins(make_api: MakeApi) -> None:
    api = await make_api(LOGIN_LIMIT="2")
    token = (await sign_up(api))["access_token"]
    wrong = {"current_password": "wrong horse", "password": NEW}
    assert [(await change(api, token, **wrong)).status_code for _ in range(3)] == [401, 401, 429]


async def test_an_account_goes_with_all_that_is_its_own(api: Api, services: Services) -> None:
    content = form(account(), file_part("picture"))
    answer = await api.request("POST", "/auth-collections/signup", content=content, headers=FORM_TYPE)
    token, user = answer.json()["access_token"], answer.json()["user"]
    reset = await begin_reset(api, services)
    gone = await api.as_user(token, "DELETE", USER)
    assert (gone.status_code, gone.content) == (204, b"")
    for method, path in (("GET", USER), ("DELETE", USER), ("POST", PASSWORD)):
        body = CHANGE if method == "POST" else None
        refused = await api.as_user(token, method, path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (401, "invalid_token")
    assert (await api.http.get(user["data"]["picture"])).status_code == 404
    assert await mailed(services, api) == []
    assert told(await ask(api, "reset-password", password=NEW, **reset)) == INVALID
    for name in ("users", "sessions", "uploads", "files.files", "files.chunks"):
        assert api.database[name].count_documents({}) == 0
    (event,) = (await api.request("GET", f"{EVENTS}?type=user_deleted")).json()["events"]
    assert (event["user_id"], event["actor"], event["ip"]) == (user["id"], "user", "127.0.0.1")
    assert (await api.login()).status_code == 404
    assert (await api.signup()).status_code == 201


async def test_an_account_is_deleted_shortly_after_a_sign_in_only(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    token = (await sign_up(api))["access_token"]
    make_stale(monkeypatch)
    assert told(await api.as_user(token, "DELETE", USER)) == STALE
    assert (await api.login()).status_code == 200


async def test_s6_an_ended_session_deletes_no_account(api: Api) -> None:
    ended = (await sign_up(api))["access_token"]
    assert (await api.as_user(ended, "POST", "/auth-collections/logout")).status_code == 204
    assert (await api.as_user(ended, "DELETE", USER)).status_code == 401
    assert (await api.login()).status_code == 200


async def test_what_administration_changes_voids_what_the_user_was_mailed(api: Api, services: Services) -> None:
    path = f"/auth-collections/users/{(await sign_up(api))['user']['id']}"
    sent: list[tuple[str, str, Any, bool]] = [
        ("PATCH", path, {"data": {"name": "Ann"}}, True),
        ("PATCH", path, {"disabled": True}, True),
        ("PUT", f"{path}/password", {"password": NEW}, False),
        ("PATCH", path, {"email": "ann.b@example.com"}, False),
    ]
    flows = services.base.databases.system["flows"]
    reset = await begin_reset(api, services)
    for method, where, body, lives in sent:
        if not await flows.count_documents({"_id": reset["flow_id"]}):
            await flows.delete_many({})
            reset = await begin_reset(api, services)
        assert (await api.request(method, where, json=body)).is_success
        assert await flows.count_documents({"_id": reset["flow_id"]}) == lives
    await ask(api, "verify-email", email="ann.b@example.com")
    assert len(await mailed(services, api)) == 1
    assert (await api.request("DELETE", path)).status_code == 204
    assert await mailed(services, api) == []

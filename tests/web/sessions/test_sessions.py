"""The list of one's sessions, ending them, logout and step-up; rows S6 and S9."""

import re
import time
from typing import Any

import pytest
from joserfc import jwt

from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.sessions.conftest import LOGOUT, SESSIONS, STEP_UP, USER, Site, claims_of, pair

STALE = {"detail": "Sign in again to do this", "code": "step_up_required"}
CHALLENGE = 'Bearer error="insufficient_user_authentication", max_age="600"'


async def signed_in(api: Api, email: str = "ann@example.com") -> str:
    answer = await api.signup(email)
    return str((answer if answer.status_code == 201 else await api.login(email)).json()["access_token"])


async def statuses(api: Api, *tokens: str) -> list[int]:
    return [(await api.as_user(token, "GET", USER)).status_code for token in tokens]


def make_stale(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if eleven minutes had passed since every sign-in."""
    moment = time.time() + 660
    monkeypatch.setattr("service.domain.sessions.step_up.time.time", lambda: moment)


async def test_the_list_of_ones_sessions(api: Api) -> None:
    first = await signed_in(api)
    await signed_in(api, "bob@example.com")
    second = await signed_in(api)
    answer = await api.as_user(second, "GET", SESSIONS)
    assert answer.status_code == 200
    sessions: list[dict[str, Any]] = answer.json()["sessions"]
    assert [each["id"] for each in sessions] == [claims_of(token)["sid"] for token in (second, first)]
    assert [each["current"] for each in sessions] == [True, False]
    assert sessions[0].keys() == {
        *("id", "created_at", "last_used_at", "expires_at", "ip", "user_agent", "aal", "amr", "current")
    }
    assert (sessions[0]["ip"], sessions[0]["aal"], sessions[0]["amr"]) == ("127.0.0.1", 1, ["pwd"])
    for name in ("created_at", "last_used_at", "expires_at"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", sessions[0][name])


async def test_s6_one_session_is_ended_and_the_other_lives(api: Api) -> None:
    ended, own = await signed_in(api), await signed_in(api)
    answer = await api.as_user(own, "DELETE", f"{SESSIONS}/{claims_of(ended)['sid']}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert await statuses(api, ended, own) == [401, 200]
    assert len((await api.as_user(own, "GET", SESSIONS)).json()["sessions"]) == 1


async def test_s6_all_other_sessions_are_ended(api: Api) -> None:
    *others, own = [await signed_in(api) for _ in range(3)]
    bob = await signed_in(api, "bob@example.com")
    assert (await api.as_user(own, "DELETE", SESSIONS)).status_code == 204
    assert await statuses(api, *others, own, bob) == [401, 401, 200, 200]


async def test_s6_an_ended_token_does_nothing_with_sessions(api: Api) -> None:
    ended, own = await signed_in(api), await signed_in(api)
    await api.as_user(own, "DELETE", f"{SESSIONS}/{claims_of(ended)['sid']}")
    for method, path in (("GET", SESSIONS), ("DELETE", SESSIONS), ("DELETE", f"{SESSIONS}/{claims_of(own)['sid']}")):
        answer = await api.as_user(ended, method, path)
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")
    stepped = await api.as_user(ended, "POST", STEP_UP, json={"password": "correct horse"})
    assert (stepped.status_code, stepped.json()["code"]) == (401, "invalid_token")
    assert await statuses(api, own) == [200]


async def test_s9_the_session_of_somebody_else_is_not_there(api: Api) -> None:
    ann, bob = await signed_in(api), await signed_in(api, "bob@example.com")
    for sid in (claims_of(bob)["sid"], "0" * 24, "x", "$ne"):
        answer = await api.as_user(ann, "DELETE", f"{SESSIONS}/{sid}")
        assert (answer.status_code, answer.json()) == (
            404,
            {"detail": "Session not found", "code": "session_not_found"},
        )
    assert await statuses(api, ann, bob) == [200, 200]


async def test_s9_the_session_of_another_project_is_not_there(make_api: MakeApi) -> None:
    one, two = await make_api(), await make_api()
    ann, other = await signed_in(one), await signed_in(two)
    assert (await one.as_user(ann, "DELETE", f"{SESSIONS}/{claims_of(other)['sid']}")).status_code == 404
    assert await statuses(two, other) == [200]


async def test_who_signed_in_long_ago_steps_up_first(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await signed_in(api)
    make_stale(services, monkeypatch)
    for path in (SESSIONS, f"{SESSIONS}/{claims_of(old)['sid']}"):
        answer = await api.as_user(old, "DELETE", path)
        assert (answer.status_code, answer.json()) == (403, STALE)
        assert answer.headers["www-authenticate"] == CHALLENGE
    assert await statuses(api, old) == [200]
    monkeypatch.undo()
    answer = await api.as_user(old, "POST", STEP_UP, json={"password": "correct horse"})
    assert answer.status_code == 200
    assert answer.json().keys() == {"access_token", "token_type", "user"}
    new = answer.json()["access_token"]
    assert claims_of(new)["sid"] != claims_of(old)["sid"]
    assert await statuses(api, old, new) == [401, 200]
    assert (await api.as_user(new, "DELETE", SESSIONS)).status_code == 204


async def test_a_step_up_gives_a_new_refresh_token_and_ends_the_old_one(site: Site) -> None:
    old = await site.sign_in()
    answer = await site.api.as_user(old.access, "POST", STEP_UP, json={"password": "correct horse"})
    assert answer.json().keys() == {"access_token", "token_type", "expires_in", "refresh_token", "user"}
    assert (await site.refresh(old.refresh)).status_code == 401
    assert (await site.refresh(pair(answer.json()).refresh)).status_code == 200


async def test_a_step_up_with_a_wrong_password(api: Api) -> None:
    token = await signed_in(api)
    answer = await api.as_user(token, "POST", STEP_UP, json={"password": "wrong horse"})
    assert (answer.status_code, answer.json()) == (401, {"detail": "Invalid password", "code": "invalid_password"})
    assert await statuses(api, token) == [200]
    for body in ({}, {"password": 5}, {"password": "x", "email": "y"}):
        assert (await api.as_user(token, "POST", STEP_UP, json=body)).status_code == 422


async def test_passwords_cannot_be_guessed_by_step_ups(make_api: MakeApi) -> None:
    api = await make_api(LOGIN_LIMIT="3")
    token = await signed_in(api)
    answers = [await api.as_user(token, "POST", STEP_UP, json={"password": f"guess {n}"}) for n in range(4)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    assert (await api.login()).status_code == 429


async def test_s6_a_logout_ends_the_session_of_the_user_token(api: Api) -> None:
    own, other = await signed_in(api), await signed_in(api)
    answer = await api.as_user(own, "POST", LOGOUT)
    assert (answer.status_code, answer.content) == (204, b"")
    assert await statuses(api, own, other) == [401, 200]
    assert (await api.as_user(own, "POST", LOGOUT)).status_code == 204
    assert (await api.as_user("no token", "POST", LOGOUT, json={})).status_code == 204


async def test_s6_a_logout_ends_the_session_of_a_refresh_token_also_of_an_older_one(site: Site) -> None:
    own = await site.sign_in()
    renewed = await site.renew((await site.renew(own.refresh)).refresh)
    for _ in range(2):
        answer = await site.api.http.post(LOGOUT, json={"refresh_token": own.refresh})
        assert answer.status_code == 204
        assert await statuses(site.api, own.access, renewed.access) == [401, 401]
        assert (await site.refresh(renewed.refresh)).status_code == 401


async def test_a_logout_of_nothing(api: Api) -> None:
    answer = await api.http.post(LOGOUT)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "refresh_token"]
    assert (await api.http.post(LOGOUT, json={"refresh_token": 5})).status_code == 422
    assert (await api.http.post(LOGOUT, json={"refresh_token": "x", "y": 1})).status_code == 422


async def test_a_token_from_before_there_were_sessions_lives_on(api: Api, services: Services) -> None:
    token = await signed_in(api)
    claims = {name: value for name, value in claims_of(token).items() if name not in {"sid", "aal", "amr", "auth_time"}}
    header: dict[str, Any] = {"alg": "ES256", "kid": api.project.signing_key.kid, "typ": "JWT"}
    old = jwt.encode(header, claims, api.project.signing_key, algorithms=["ES256"])
    assert await statuses(api, old) == [200]
    sessions = (await api.as_user(old, "GET", SESSIONS)).json()["sessions"]
    assert [each["current"] for each in sessions] == [False]
    assert (await api.as_user(old, "DELETE", SESSIONS)).status_code == 403
    assert (await api.as_user(old, "POST", LOGOUT)).status_code == 204
    assert await statuses(api, old) == [200]
    stepped = await api.as_user(old, "POST", STEP_UP, json={"password": "correct horse"})
    assert stepped.status_code == 200

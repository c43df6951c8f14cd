"""Sessions as they are stored, and how they end: `storage/sessions`, `storage/endings`."""

import asyncio
from datetime import timedelta
from typing import Any

import jwt as pyjwt
import pytest

from service.bounds import MAX_ENDED
from service.domain.accounts import administration
from service.domain.sessions.sessions import PASSWORD, Client
from service.schema.values import now
from service.services import Services
from service.storage.account_states import NEW_ACCOUNT
from service.storage.endings import end_others, end_session
from service.storage.sessions import SessionRecords
from tests.conftest import Api

USER = "/auth-collections/user"
CLIENT = Client("192.0.2.1", "a browser")


def claims_of(token: str) -> dict[str, Any]:
    found: dict[str, Any] = pyjwt.decode(token, options={"verify_signature": False})
    return found


async def sign_in(api: Api) -> str:
    return str((await api.login()).json()["access_token"])


async def status(api: Api, token: str, method: str = "GET") -> int:
    body = {"json": {"x": 1}} if method == "PUT" else {}
    return (await api.as_user(token, method, USER, **body)).status_code


async def test_each_sign_in_opens_a_session(api: Api) -> None:
    agent = {"user-agent": f"Browser/1 \t{'x' * 300}"}
    body = {"email": "ann@example.com", "password": "correct horse"}
    answer = await api.request("POST", "/auth-collections/signup", json=body, headers=agent)
    await api.login()
    first, second = api.database["sessions"].find().sort("_id", 1)
    assert first == {
        "_id": first["_id"],
        "user_id": answer.json()["user"]["id"],
        "ver": 1,
        "created_at": first["created_at"],
        "last_used_at": first["created_at"],
        "auth_time": first["created_at"],
        "expires_at": first["created_at"] + timedelta(days=30),
        "tokens_until": first["created_at"] + timedelta(days=30),
        "ip": "127.0.0.1",
        "user_agent": "Browser/1 " + "x" * 245,
        "amr": ["pwd"],
        "aal": 1,
        "count": 0,
    }
    claims = claims_of(answer.json()["access_token"])
    assert (claims["sid"], claims["aal"], claims["amr"]) == (first["_id"], 1, ["pwd"])
    assert claims["auth_time"] == claims["iat"]
    assert claims["exp"] - claims["iat"] == 30 * 24 * 3600
    assert second["_id"] != first["_id"]


async def test_what_does_not_sign_in_opens_none(api: Api) -> None:
    await api.signup()
    await api.signup()
    await api.login(password="wrong password")
    await api.login("nobody@example.com")
    assert api.database["sessions"].count_documents({}) == 1


async def test_s6_an_ended_session_is_refused_at_the_next_request_and_others_are_not(api: Api) -> None:
    user_id = (await api.signup()).json()["user"]["id"]
    ended, other = await sign_in(api), await sign_in(api)
    assert [await status(api, ended), await status(api, other)] == [200, 200]
    version = await end_session(api.project.database, user_id, claims_of(ended)["sid"], now() + timedelta(days=1))
    assert version == 1
    assert [await status(api, ended, method) for method in ("GET", "PUT")] == [401, 401]
    assert [await status(api, other, method) for method in ("GET", "PUT")] == [200, 200]
    assert api.database["sessions"].find_one({"_id": claims_of(ended)["sid"]}) is None


async def test_s6_all_sessions_end_with_one_call(api: Api, services: Services) -> None:
    first = (await api.signup()).json()
    later = await sign_in(api)
    user_id = first["user"]["id"]
    await administration.end_sessions(services.accounts, api.project, user_id)
    assert (api.database["users"].find_one() or {})["token_version"] == 2
    assert [await status(api, token) for token in (first["access_token"], later)] == [401, 401]
    assert api.database["sessions"].count_documents({}) == 0
    assert await status(api, await sign_in(api)) == 200


async def test_s6_all_but_one_end(api: Api) -> None:
    user_id = (await api.signup()).json()["user"]["id"]
    kept, *others = [await sign_in(api) for _ in range(3)]
    await api.signup("bob@example.com")
    assert await end_others(api.project.database, user_id, claims_of(kept)["sid"]) == 1
    assert [await status(api, token) for token in (kept, *others)] == [200, 401, 401]
    assert api.database["sessions"].count_documents({"user_id": user_id}) == 1
    assert api.database["sessions"].count_documents({}) == 2


async def test_nobody_has_no_sessions_to_end(api: Api) -> None:
    assert await end_others(api.project.database, "0" * 24, "x") is None
    assert await end_session(api.project.database, "0" * 24, "x", now()) is None


async def test_ended_sessions_are_forgotten_when_their_tokens_are_dead(api: Api) -> None:
    user_id = (await api.signup()).json()["user"]["id"]
    dead = [{"sid": f"s{number}", "until": now() - timedelta(seconds=1)} for number in range(MAX_ENDED)]
    api.database["users"].update_one({}, {"$set": {"ended": dead}})
    assert await end_session(api.project.database, user_id, "x", now()) == 1
    (user,) = api.database["users"].find()
    assert [each["sid"] for each in user["ended"]] == ["x"]
    assert user["ended"][0]["until"] > now()


@pytest.mark.parametrize("by_list", [False, True], ids=["one by one", "all others"])
async def test_past_a_hundred_ended_sessions_all_tokens_die_and_sessions_live_on(api: Api, by_list: bool) -> None:
    user_id = (await api.signup()).json()["user"]["id"]
    live = [{"sid": f"s{number}", "until": now() + timedelta(days=1)} for number in range(MAX_ENDED)]
    kept, ended = await sign_in(api), await sign_in(api)
    api.database["users"].update_one({}, {"$set": {"ended": live}})
    if by_list:
        version = await end_others(api.project.database, user_id, claims_of(kept)["sid"])
    else:
        version = await end_session(api.project.database, user_id, claims_of(ended)["sid"], now())
    assert version == 2
    assert [await status(api, token) for token in (kept, ended)] == [401, 401]
    (user,) = api.database["users"].find()
    assert user["ended"] == []
    session = await SessionRecords(api.project.database).find(claims_of(kept)["sid"])
    assert session is not None
    assert session.version == 2


async def test_of_many_ends_at_once_none_is_lost(api: Api) -> None:
    user_id = (await api.signup()).json()["user"]["id"]
    tokens = [await sign_in(api) for _ in range(8)]
    sids = [claims_of(token)["sid"] for token in tokens]
    await asyncio.gather(*(end_session(api.project.database, user_id, sid, now()) for sid in sids))
    assert [await status(api, token) for token in tokens] == [401] * 8


async def test_who_is_recognized_by_what_has_changed_meanwhile_gets_a_dead_token(api: Api, services: Services) -> None:
    """A login that read the user before all sessions ended, and opens its session after that."""
    user_id = (await api.signup()).json()["user"]["id"]
    await administration.end_sessions(services.accounts, api.project, user_id)
    grant = await services.sessions.open(api.project, user_id, 1, CLIENT, state=NEW_ACCOUNT, amr=PASSWORD)
    assert await status(api, grant.access_token) == 401

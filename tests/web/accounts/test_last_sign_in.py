"""F8: when a user signed in for the last time, which servers are shown and filter by, and which costs no sign-in anything."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from service.bounds import MAX_SIGHTINGS
from service.domain.sessions import sightings
from service.domain.sessions.sightings import Sightings
from service.errors import Unavailable
from service.schema.values import now, write_time
from service.services import Services
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.web.rules.conftest import save

USER, USERS, FIELD = "/auth-collections/user", "/auth-collections/users", "last_sign_in_at"


async def shown(services: Services, api: Api, email: str = "ann@example.com") -> str | None:
    """Returns the field as a server reads it, of one user and in the list."""
    await services.sessions.sightings.write()
    (listed,) = (await api.users(f"email_eq={email}")).json()["users"]
    one = (await api.request("GET", f"{USERS}/{listed['id']}")).json()
    found: str | None = listed.get(FIELD)
    assert one.get(FIELD) == found
    return found


def stored(api: Api, email: str = "ann@example.com") -> dict[str, Any]:
    return api.database["users"].find_one({"email": email}) or {}


async def test_f8_a_signup_and_each_sign_in_by_password_is_the_last(api: Api, services: Services) -> None:
    await api.request("POST", USERS, json={"email": "cid@example.com"})
    assert await shown(services, api, "cid@example.com") is None
    before = now()
    signed = (await api.signup()).json()
    first = await shown(services, api)
    assert first is not None
    assert write_time(before) <= first <= write_time(now())
    await asyncio.sleep(0.002)
    token = (await api.login()).json()["access_token"]
    second = await shown(services, api)
    assert second is not None
    assert second > first
    # Neither a refused sign-in nor a request with a token is one.
    await api.login(password="wrong horse")
    assert (await api.as_user(token, "GET", USER)).status_code == 200
    assert await shown(services, api) == second
    sessions = api.database["sessions"].find({"user_id": signed["user"]["id"]}).sort("created_at", -1)
    assert write_time(sessions[0]["created_at"]) == second


async def test_f8_a_refresh_is_no_sign_in(make_api: MakeApi, services: Services) -> None:
    api = await make_api(ACCESS_TOKEN_LIFETIME="300")
    token = (await api.signup()).json()["refresh_token"]
    first = await shown(services, api)
    await asyncio.sleep(0.002)
    answer = await api.http.post("/auth-collections/refresh", json={"refresh_token": token})
    assert answer.status_code == 200
    assert await shown(services, api) == first is not None


@pytest.fixture
async def moments(api: Api, services: Services) -> dict[str, datetime]:
    """Ann has signed in yesterday, Bob today, and Cid never; Bob's profile has a field of that name."""
    for email, data in (("ann", {}), ("bob", {FIELD: "2020-01-01T00:00:00Z"})):
        assert (await api.signup(f"{email}@example.com", **data)).status_code == 201
    assert (await api.request("POST", USERS, json={"email": "cid@example.com"})).status_code == 201
    await services.sessions.sightings.write()
    day_before = now() - timedelta(days=1)
    api.database["users"].update_one({"email": "ann@example.com"}, {"$set": {FIELD: day_before}})
    return {"ann": day_before, "bob": stored(api, "bob@example.com")[FIELD]}


BY_TIME = {
    "_gt={ann}": "bob",
    "_gte={ann}": "ann bob",
    "_lt={bob}": "ann",
    "_lte={bob}": "ann bob",
    "_isnull=true": "cid",
    "_isnull=false": "ann bob",
    "_gte=2020-01-01": "ann bob",
    "_lt=2020-01-02": "",
}


@pytest.mark.parametrize("query", BY_TIME)
async def test_f8_the_secret_key_filters_by_the_last_sign_in(
    api: Api, moments: dict[str, datetime], query: str
) -> None:
    times = {name: write_time(moment) for name, moment in moments.items()}
    operator, _, text = query.format(**times).partition("=")
    value: Any = {"true": True, "false": False}.get(text, text)
    body = {"where": {f"{FIELD}{operator}": value}}
    asked = await api.users(f"{FIELD}{operator}={text}"), await api.request("POST", f"{USERS}/query", json=body)
    for answer in asked:
        assert answer.status_code == 200, answer.text
        found = sorted(user["email"].partition("@")[0] for user in answer.json()["users"])
        assert " ".join(found) == BY_TIME[query]


@pytest.mark.parametrize("query", ["_eq=2020-01-01", "_gt=soon", "_isnull=maybe", "_contains=2020", "_in=2020-01-01"])
async def test_f8_what_a_last_sign_in_cannot_be_asked_is_refused(api: Api, query: str) -> None:
    assert (await api.users(f"{FIELD}{query}")).status_code == 422
    assert (await api.users(f"sort_by={FIELD}")).status_code == 422


@pytest.mark.parametrize("who", ["user", "guest"])
async def test_f8_to_users_and_guests_no_record_has_a_last_sign_in(
    api: Api, moments: dict[str, datetime], who: str
) -> None:
    fields = {name: {"read": "anyone"} for name in ("email", f"data.{FIELD}")}
    assert (await save(api, {"users": {"read": "anyone", "fields": fields}})).status_code == 200
    token = (await api.login("bob@example.com")).json()["access_token"]
    headers = {"authorization": f"Bearer {token}"} if who == "user" else {"x-api-key": api.publishable_key}
    for query, total in (("_isnull=true", 3), ("_isnull=false", 0), ("_gte=2000-01-01", 0), ("_lt=2100-01-01", 0)):
        answer = await api.http.get(f"{USERS}?{FIELD}{query}", headers=headers)
        assert (answer.status_code, answer.json()["total"]) == (200, total)
    listed = (await api.http.get(USERS, headers=headers)).json()["users"]
    assert not any(FIELD in user for user in listed)
    # X6: the data of that name is plain data, as it was.
    found = (await api.http.get(f"{USERS}?data.{FIELD}_isnull=false", headers=headers)).json()["users"]
    assert [user["data"] for user in found] == [{FIELD: "2020-01-01T00:00:00Z"}]
    if who == "user":
        one = await api.http.get(f"{USERS}/{found[0]['id']}", headers=headers)
        assert FIELD not in one.json()
        assert FIELD not in (await api.as_user(token, "GET", USER)).json()


async def test_f8_a_profile_field_of_that_name_changes_no_account(api: Api, services: Services) -> None:
    token = (await api.signup(last_sign_in_at="x")).json()["access_token"]
    first = await shown(services, api)
    changed = await api.as_user(token, "PUT", USER, json={FIELD: "2099-01-01T00:00:00Z"})
    assert changed.json()["data"] == {FIELD: "2099-01-01T00:00:00Z"}
    assert await shown(services, api) == first


async def test_f8_a_sign_in_sends_no_further_command_and_changes_no_version(
    api: Api, services: Services, commands: CommandRecorder
) -> None:
    token = (await api.signup()).json()["access_token"]
    etag = (await api.as_user(token, "GET", USER)).headers["etag"]
    await services.sessions.sightings.write()
    before = stored(api)
    commands.commands.clear()
    assert (await api.login()).status_code == 200
    assert [(name, command[name]) for name, command in commands.commands if command[name] != "projects"] == [
        ("find", "users"),
        ("insert", "sessions"),
    ]
    await services.sessions.sightings.write()
    after = stored(api)
    assert after.pop(FIELD) > before.pop(FIELD)
    assert after == before
    known = await api.as_user(token, "GET", USER, headers={"if-none-match": etag})
    assert known.status_code == 304
    put = await api.as_user(token, "PUT", USER, json={"name": "Ann"}, headers={"if-match": etag})
    assert put.status_code == 200


async def test_f8_many_sign_ins_are_one_command_and_the_newest_holds(
    api: Api, services: Services, commands: CommandRecorder
) -> None:
    users = [(await api.signup(f"u{number}@example.com")).json()["user"]["id"] for number in range(5)]
    await services.sessions.sightings.write()
    own, moment = Sightings(), now() + timedelta(seconds=10)
    for user_id in users:
        for seconds in (0, 1):
            own.note_sign_in(api.project, user_id, moment + timedelta(seconds=seconds))
    commands.commands.clear()
    await own.write()
    assert commands.names == ["update"]
    own.note_sign_in(api.project, users[0], moment)
    await own.write()
    found = [user[FIELD] for user in api.database["users"].find()]
    assert found == [moment + timedelta(seconds=1)] * 5


async def test_f8_a_sign_in_of_a_user_who_is_gone_makes_none(api: Api, services: Services) -> None:
    user_id = (await api.signup()).json()["user"]["id"]
    await services.sessions.sightings.write()
    own = Sightings()
    own.note_sign_in(api.project, user_id, now())
    assert (await api.request("DELETE", f"{USERS}/{user_id}")).status_code == 204
    await own.write()
    assert api.database["users"].count_documents({}) == 0


async def test_f8_what_cannot_be_written_is_kept_and_no_more_wait_than_may(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        await api.signup(f"u{number}@example.com")
    await services.sessions.sightings.write()
    users = [user["_id"] for user in api.database["users"].find()]
    api.database["users"].update_many({}, {"$unset": {FIELD: ""}})
    monkeypatch.setattr(sightings, "MAX_SIGHTINGS", 2)
    own = Sightings()
    for user_id in (*users, users[0]):
        own.note_sign_in(api.project, user_id, now())

    async def fail(*_arguments: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(sightings, "note_sightings", fail)
        with pytest.raises(Unavailable):
            await own.write()
    await own.close()
    assert api.database["users"].count_documents({FIELD: {"$type": "date"}}) == 2


async def test_f8_a_guard_of_a_batch_judges_the_last_sign_in(api: Api, moments: dict[str, datetime]) -> None:
    user_id = stored(api)["_id"]
    for since, status in ((now(), 409), (moments["ann"], 200)):
        step = {"op": "update", "collection": "users", "id": user_id, "data": {"seen": True}}
        step["where"] = {f"{FIELD}_gte": write_time(since)}
        answer = await api.request("POST", "/api/batch", json={"operations": [step]})
        assert answer.status_code == status, answer.text


async def test_f8_ten_thousand_sign_ins_are_written_a_few_hundred_at_a_time(
    api: Api, services: Services, commands: CommandRecorder
) -> None:
    user_id = (await api.signup()).json()["user"]["id"]
    await services.sessions.sightings.write()
    own, moment = Sightings(), now() + timedelta(seconds=10)
    for number in range(MAX_SIGHTINGS - 1):
        own.note_sign_in(api.project, f"absent-{number}", moment)
    own.note_sign_in(api.project, user_id, moment)
    own.note_sign_in(api.project, "one-too-many", moment)
    commands.commands.clear()
    await own.write()
    assert [len(command["updates"]) for name, command in commands.commands] == [500] * 20
    assert stored(api)[FIELD] == moment

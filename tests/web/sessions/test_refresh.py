"""Rows S1 to S5 and S7: a refresh token, its successors, and whoever has one that is not theirs."""

import asyncio
import base64
from datetime import timedelta
from typing import Any

import pytest

from service.app import create_app
from service.domain.sessions.refresh_tokens import RefreshToken, RefreshTokens
from service.domain.sessions.refreshing import refresh
from service.domain.sessions.sessions import Client
from service.services import Services
from service.settings import Settings
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.web.sessions.conftest import LIFETIME, LOGOUT, REFRESH, USER, Pair, Site, claims_of, pair

REFUSED = {"detail": "Invalid refresh token", "code": "invalid_refresh_token"}


async def assert_refused(site: Site, token: str) -> None:
    answer = await site.refresh(token)
    assert (answer.status_code, answer.json()) == (401, REFUSED)


def of_the_account(commands: CommandRecorder) -> list[str]:
    """The commands to users and sessions; others may come again on a slow machine, as memories expire."""
    return [name for name, command in commands.commands if command.get(name) in {"users", "sessions"}]


async def use(site: Site, services: Services, access: str) -> None:
    """Uses an access token, and waits until that is written."""
    assert await site.status(access) == 200
    await services.sessions.sightings.write()


async def test_without_a_setting_there_are_no_refresh_tokens(api: Api) -> None:
    for answer in (await api.signup(), await api.login()):
        assert answer.json().keys() == {"access_token", "token_type", "user"}
        assert "rc" not in claims_of(answer.json()["access_token"])


async def test_a_sign_in_gives_a_refresh_token_and_a_refresh_the_next(site: Site) -> None:
    answers = [await site.api.signup(), await site.api.login()]
    for answer in answers:
        body = answer.json()
        assert body.keys() == {"access_token", "token_type", "expires_in", "refresh_token", "user"}
        assert body["expires_in"] == LIFETIME
        claims = claims_of(body["access_token"])
        assert (claims["rc"], claims["exp"] - claims["iat"]) == (0, LIFETIME)
    token = answers[0].json()["refresh_token"]
    assert token.startswith(f"acr_{site.api.project.id}_")
    refreshed = await site.refresh(token)
    assert refreshed.status_code == 200
    assert refreshed.json().keys() == {"access_token", "token_type", "expires_in", "refresh_token"}
    assert refreshed.headers["ratelimit-policy"] == '"refresh";q=60;w=3600'
    assert refreshed.headers["cache-control"] == "no-store"
    renewed, before = pair(refreshed.json()), pair(answers[0].json())
    assert renewed.sid == before.sid
    assert claims_of(renewed.access)["rc"] == 1
    assert claims_of(renewed.access)["auth_time"] == claims_of(before.access)["auth_time"]
    assert [await site.status(each.access) for each in (renewed, before)] == [200, 200]
    assert (await site.renew(renewed.refresh)).refresh not in {token, renewed.refresh}


async def test_a_refresh_is_two_commands_at_once(site: Site, commands: CommandRecorder) -> None:
    before = await site.sign_in()
    commands.commands.clear()
    await site.renew(before.refresh)
    assert sorted(of_the_account(commands)) == ["find", "findAndModify"]


async def test_no_token_is_stored(site: Site) -> None:
    before = await site.sign_in()
    renewed = await site.renew(before.refresh)
    stored = str(list(site.api.database["sessions"].find())) + str(list(site.api.database["users"].find()))
    for token in (before.access, before.refresh, renewed.access, renewed.refresh):
        assert token[-44:] not in stored


async def test_s1_all_tabs_get_the_same_successor(site: Site) -> None:
    for _ in range(5):
        before = await site.sign_in()
        answers = await asyncio.gather(*(site.refresh(before.refresh) for _ in range(20)))
        assert [answer.status_code for answer in answers] == [200] * 20
        assert len({answer.json()["refresh_token"] for answer in answers}) == 1
        session = site.session(before.sid)
        assert session is not None
        assert session["count"] == 1


async def test_s2_an_answer_that_was_lost_is_given_again_days_later(site: Site) -> None:
    before = await site.sign_in()
    lost = await site.renew(before.refresh)
    site.age(before.sid, days=3)
    again = await site.renew(before.refresh)
    assert again.refresh == lost.refresh
    assert await site.status(again.access) == 200


async def test_s3_a_parent_after_its_successor_was_used_ends_the_session(site: Site, services: Services) -> None:
    before = await site.sign_in()
    renewed = await site.renew(before.refresh)
    await use(site, services, renewed.access)
    assert (await site.renew(before.refresh)).refresh == renewed.refresh
    site.age(before.sid, seconds=31)
    await assert_refused(site, before.refresh)
    assert [await site.status(each.access) for each in (before, renewed)] == [401, 401]
    assert site.session(before.sid) is None
    await assert_refused(site, renewed.refresh)
    assert await site.status((await site.sign_in()).access) == 200


async def test_s3_of_two_thieves_at_once_both_are_refused(site: Site, services: Services) -> None:
    before = await site.sign_in()
    renewed = await site.renew(before.refresh)
    await use(site, services, renewed.access)
    site.age(before.sid, seconds=31)
    answers = await asyncio.gather(*(site.refresh(before.refresh) for _ in range(10)))
    assert {answer.status_code for answer in answers} == {401}
    assert await site.status(renewed.access) == 401


async def test_s3_a_session_that_was_marked_and_no_more_is_ended_by_the_next_who_asks(
    site: Site, services: Services
) -> None:
    """The process died between the two writes."""
    before = await site.sign_in()
    renewed = await site.renew(before.refresh)
    found = site.session(before.sid)
    assert found is not None
    site.api.database["sessions"].update_one({"_id": before.sid}, {"$set": {"reused_at": found["created_at"]}})
    await assert_refused(site, renewed.refresh)
    assert await site.status(renewed.access) == 401


async def test_s4_a_grandparent_is_refused_within_the_grace_and_ends_the_session_after_it(site: Site) -> None:
    first = await site.sign_in()
    second = await site.renew(first.refresh)
    third = await site.renew(second.refresh)
    await assert_refused(site, first.refresh)
    assert await site.status(third.access) == 200
    third = await site.renew(second.refresh)
    site.age(first.sid, seconds=31)
    await assert_refused(site, first.refresh)
    assert await site.status(third.access) == 401
    await assert_refused(site, third.refresh)


async def test_s5_what_was_not_written_here_is_refused_without_a_command(
    site: Site, services: Services, make_api: MakeApi, commands: CommandRecorder
) -> None:
    own = await site.sign_in()
    other = Site(await make_api(ACCESS_TOKEN_LIFETIME=str(LIFETIME)))
    other_project, token = other.api.project.id, own.refresh
    # Base64 may have a _ of its own.
    prefix, text = token[:-45], token[-44:]
    raw = bytearray(base64.urlsafe_b64decode(text))
    edited = [bytes([*raw[:at], raw[at] ^ 1, *raw[at + 1 :]]) for at in range(len(raw))]
    foreign = RefreshTokens(b"x" * 32).write(RefreshToken(site.api.project.id, own.sid, 0))
    forged = [
        *(f"{prefix}_{base64.urlsafe_b64encode(each).decode()}" for each in edited),
        *(token[:-1], token + "A", token[1:], f"{token}=", "", "acr_", "acr___", "x" * 10_000, f"{prefix}_{'A' * 44}"),
        *(f"acr_{other_project}_{text}", f"acr_x_{text}", foreign),
        *(own.access, site.api.key, site.api.publishable_key, token.upper(), token + "\n"),
    ]
    commands.commands.clear()
    for each in forged:
        await assert_refused(site, each)
        assert (await site.api.http.post(LOGOUT, json={"refresh_token": each})).status_code == 204
    assert commands.commands == []
    bearer = await site.api.as_user(token, "GET", USER)
    assert (bearer.status_code, bearer.json()["code"]) == (401, "invalid_token")
    assert await site.status(own.access) == 200
    assert (await site.renew(token)).sid == own.sid


async def test_s5_a_count_that_was_never_reached_is_refused_and_the_session_stays(
    site: Site, services: Services
) -> None:
    """As after a restore from a backup."""
    own = await site.sign_in()
    await assert_refused(site, services.sessions.refresh_tokens.write(RefreshToken(site.api.project.id, own.sid, 7)))
    assert (await site.renew(own.refresh)).sid == own.sid


async def test_s7_a_restart_changes_no_verdict(site: Site, services: Services, settings: Settings) -> None:
    first = await site.sign_in()
    second = await site.renew(first.refresh)
    await use(site, services, second.access)
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        token = app.services.sessions.refresh_tokens.read(second.refresh)
        project = await app.services.base.projects.by_id(token.project_id)
        grant = (await refresh(app.services.sessions, app.services.flows, project, token, Client("", ""))).grant
        assert grant.refresh_token == (await site.renew(second.refresh)).refresh
    site.age(first.sid, seconds=31)
    await assert_refused(site, first.refresh)


async def test_a_refresh_that_meets_the_end_of_all_sessions_gives_no_living_token(site: Site) -> None:
    """The session is found, and the user has another version by then."""
    own = await site.sign_in()
    site.api.database["users"].update_one({}, {"$inc": {"token_version": 1}})
    await assert_refused(site, own.refresh)


async def test_a_refresh_says_of_the_account_what_is_so_now(site: Site) -> None:
    own = await site.sign_in()
    site.api.database["users"].update_one({}, {"$set": {"claims": {"plan": "gold"}}})
    renewed = await site.renew(own.refresh)
    assert claims_of(renewed.access)["claims"] == {"plan": "gold"}
    site.api.database["users"].update_one({}, {"$set": {"disabled": True}})
    await assert_refused(site, renewed.refresh)


async def test_a_deleted_users_session_is_refused(site: Site) -> None:
    own = await site.sign_in()
    site.api.database["users"].delete_many({})
    await assert_refused(site, own.refresh)


async def test_a_deleted_projects_session_is_refused(site: Site, services: Services) -> None:
    own = await site.sign_in()
    project = services.sessions.refresh_tokens.read(own.refresh)
    elsewhere = services.sessions.refresh_tokens.write(RefreshToken("no-such-project", project.sid, 0))
    await assert_refused(site, elsewhere)


async def test_a_session_ends_in_its_time_however_it_is_used(make_api: MakeApi) -> None:
    site = Site(await make_api(ACCESS_TOKEN_LIFETIME="300", SESSION_LIFETIME="600"))
    own = await site.sign_in()
    database = site.api.database["sessions"]
    (session,) = database.find()
    assert session["expires_at"] - session["created_at"] == timedelta(seconds=600)
    # As if 500 seconds had passed.
    database.update_one({}, {"$set": {"expires_at": session["expires_at"] - timedelta(seconds=500)}})
    answer = await site.refresh(own.refresh)
    assert 95 <= answer.json()["expires_in"] <= 100
    database.update_one({}, {"$set": {"expires_at": session["created_at"]}})
    await assert_refused(site, answer.json()["refresh_token"])


async def test_a_token_ends_with_its_session_where_that_is_shorter(make_api: MakeApi) -> None:
    api = await make_api(SESSION_LIFETIME="300")
    claims = claims_of((await api.signup()).json()["access_token"])
    assert claims["exp"] - claims["iat"] == 300


async def test_an_idle_session_cannot_be_refreshed(make_api: MakeApi) -> None:
    site = Site(await make_api(ACCESS_TOKEN_LIFETIME="300", SESSION_IDLE="60"))
    own = await site.sign_in()
    site.age(own.sid, seconds=50)
    own = await site.renew(own.refresh)
    site.age(own.sid, seconds=61)
    await assert_refused(site, own.refresh)


async def test_the_grace_is_a_setting(make_api: MakeApi, services: Services) -> None:
    site = Site(await make_api(ACCESS_TOKEN_LIFETIME="300", REFRESH_GRACE="0"))
    own = await site.sign_in()
    renewed = await site.renew(own.refresh)
    assert (await site.renew(own.refresh)).refresh == renewed.refresh
    await use(site, services, renewed.access)
    await assert_refused(site, own.refresh)
    assert await site.status(renewed.access) == 401


async def test_refreshes_of_a_session_are_limited(make_api: MakeApi) -> None:
    site = Site(await make_api(ACCESS_TOKEN_LIFETIME="300", REFRESH_LIMIT="3"))
    own, other = await site.sign_in(), await site.sign_in()
    for _ in range(3):
        own = await site.renew(own.refresh)
    answer = await site.refresh(own.refresh)
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limit_exceeded")
    assert answer.json()["detail"] == (
        "The limit of 3 refreshes an hour of one session is reached; the project's REFRESH_LIMIT decides it, "
        "see docs/limits.md"
    )
    assert 1 <= int(answer.headers["retry-after"]) <= 3600
    assert await site.status(own.access) == 200
    await site.renew(other.refresh)
    asked: dict[str, Any] = (site.session(own.sid) or {})["asked"]
    site.api.database["sessions"].update_one({"_id": own.sid}, {"$set": {"asked.until": asked["until"] - 3600}})
    await site.renew(own.refresh)


async def test_a_refresh_pays_from_the_projects_day(make_api: MakeApi) -> None:
    site = Site(await make_api(ACCESS_TOKEN_LIFETIME="300", DAILY_LIMIT="2"))
    own = await site.sign_in()
    own = await site.renew(own.refresh)
    answer = await site.refresh(own.refresh)
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limit_exceeded")


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({}, ["body", "refresh_token"]),
        ({"refresh_token": None}, ["body", "refresh_token"]),
        ({"refresh_token": 5}, ["body", "refresh_token"]),
        ({"refresh_token": "x", "project_id": "y"}, ["body", "project_id"]),
    ],
)
async def test_the_body_of_a_refresh(site: Site, body: dict[str, Any], loc: list[str]) -> None:
    answer = await site.api.http.post(REFRESH, json=body)
    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [loc]


@pytest.mark.parametrize("path", [REFRESH, LOGOUT])
async def test_the_origins_of_the_tokens_project_may_read_the_answer(make_api: MakeApi, path: str) -> None:
    page, elsewhere = "https://app.example.com", "https://elsewhere.example.com"
    site = Site(await make_api(ACCESS_TOKEN_LIFETIME="300", CORS_ORIGINS=page))
    await make_api(CORS_ORIGINS=elsewhere)
    own: Pair = await site.sign_in()
    forged = own.refresh[:-1] + ("A" if own.refresh[-1] != "A" else "B")
    for token, origin, allowed in (
        (own.refresh, elsewhere, None),
        (own.refresh, page, page),
        # A forged one names no project, so its answer is read as a preflight's: by the pages of any.
        (forged, elsewhere, elsewhere),
        (forged, "https://third.example.com", None),
    ):
        answer = await site.api.http.post(path, json={"refresh_token": token}, headers={"origin": origin})
        assert answer.headers.get("access-control-allow-origin") == allowed, (token, origin)


async def test_a_token_is_noted_once_for_each_refresh(
    site: Site, services: Services, commands: CommandRecorder
) -> None:
    own = await site.renew((await site.sign_in()).refresh)
    await services.sessions.sightings.write()
    commands.commands.clear()
    for _ in range(3):
        assert await site.status(own.access) == 200
        services.sessions.tokens.verified.clear()
    assert of_the_account(commands) == ["find"] * 3
    await services.sessions.sightings.write()
    assert of_the_account(commands)[3:] in ([], ["update"])
    assert (site.session(own.sid) or {})["seen"] == 1


async def test_a_use_is_noted_at_most_once_an_hour(api: Api, services: Services) -> None:
    token = (await api.signup()).json()["access_token"]
    await api.as_user(token, "GET", USER)
    await services.sessions.sightings.write()
    (session,) = api.database["sessions"].find()
    assert session["last_used_at"] == session["created_at"]
    services.sessions.sightings.note(api.project, claims_of(token) | {"iat": claims_of(token)["iat"] - 3_601})
    await services.sessions.sightings.write()
    (session,) = api.database["sessions"].find()
    assert session["last_used_at"] > session["created_at"]

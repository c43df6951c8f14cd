"""Events of sign-ins, refused ones, and the ends of sessions, which are written soon after."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from service.domain import events as domain_events
from service.domain.events import Journal
from service.errors import Unavailable
from service.schema.values import now
from service.services import Services
from service.storage.events import Actor, Event, EventType, record_events
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.web.flows.mailbox import mailed
from tests.web.sessions.conftest import LOGOUT, SESSIONS, STEP_UP, Site, claims_of, site

__all__ = ["site"]
USERS, EVENTS = "/auth-collections/users", "/auth-collections/events"


async def events(services: Services, api: Api, query: str = "") -> list[dict[str, Any]]:
    """The oldest first."""
    await services.journal.write()
    found: list[dict[str, Any]] = (await api.request("GET", f"{EVENTS}{query}")).json()["events"]
    return sorted(found, key=lambda event: event["at"])


async def test_each_sign_in_and_each_refused_one_leaves_an_event(api: Api, services: Services) -> None:
    signed = (await api.signup()).json()
    token = (await api.login()).json()["access_token"]
    await api.login(password="wrong horse")
    await api.login("nobody@example.com")
    for body in ({"password": "wrong horse"}, {"password": "correct horse"}):
        stepped = await api.as_user(token, "POST", STEP_UP, json=body)
    await api.request("PATCH", f"{USERS}/{signed['user']['id']}", json={"disabled": True})
    assert (await api.login()).status_code == 403
    found = await events(services, api)
    assert [(event["type"], event["detail"].get("reason")) for event in found] == [
        ("signed_in", None),
        ("signed_in", None),
        ("sign_in_failed", "invalid_credentials"),
        ("sign_in_failed", "invalid_password"),
        ("signed_in", None),
        ("user_disabled", None),
        ("sign_in_failed", "account_disabled"),
    ]
    tokens = (signed["access_token"], token, stepped.json()["access_token"])
    opened = [event for event in found if event["type"] == "signed_in"]
    assert [event["sid"] for event in opened] == [claims_of(each)["sid"] for each in tokens]
    first = opened[0]
    assert (first["user_id"], first["actor"], first["ip"]) == (signed["user"]["id"], "user", "127.0.0.1")
    assert first["detail"] == {"amr": ["pwd"]}
    assert first["user_agent"].startswith("python-httpx")


async def test_each_end_of_a_session_leaves_an_event(api: Api, services: Services) -> None:
    await api.signup()
    one, two, own = [(await api.login()).json()["access_token"] for _ in range(3)]
    await api.as_user(one, "POST", LOGOUT)
    await api.as_user(own, "DELETE", f"{SESSIONS}/{claims_of(two)['sid']}")
    await api.as_user(own, "DELETE", SESSIONS)
    # These requests end no session.
    await api.as_user(one, "POST", LOGOUT)
    await api.as_user(own, "DELETE", f"{SESSIONS}/{'0' * 24}")
    found = [event for event in await events(services, api) if event["type"] != "signed_in"]
    assert [(event["type"], event["sid"]) for event in found] == [
        ("session_ended", claims_of(one)["sid"]),
        ("session_ended", claims_of(two)["sid"]),
        ("sessions_ended", claims_of(own)["sid"]),
    ]


async def test_of_many_who_come_with_a_stolen_token_one_leaves_an_event_and_a_mail(
    site: Site, services: Services
) -> None:
    parent = await site.sign_in()
    child = await site.renew(parent.refresh)
    assert await site.status(child.access) == 200
    await services.sessions.sightings.write()
    site.age(parent.sid, minutes=1)
    answers = await asyncio.gather(*(site.refresh(parent.refresh) for _ in range(6)))
    assert {answer.status_code for answer in answers} == {401}
    assert await site.status(child.access) == 401
    (event,) = await events(services, site.api, "?type=refresh_token_reused")
    assert (event["sid"], event["ip"]) == (parent.sid, "127.0.0.1")
    assert [(mail.kind, mail.to) for mail in await mailed(services, site.api)] == [("session_reuse", "ann@example.com")]
    assert site.session(parent.sid) is None


async def test_a_sign_in_waits_for_no_event(api: Api, commands: CommandRecorder) -> None:
    await api.signup()
    await api.login()
    commands.commands.clear()
    await api.login(password="wrong horse")
    assert commands.names == ["find"]


async def test_a_project_that_keeps_no_events_has_none(make_api: MakeApi, services: Services) -> None:
    api = await make_api(EVENT_DAYS="0")
    await api.signup()
    assert await events(services, api) == []


async def test_what_cannot_be_written_is_kept_for_a_while_and_written_once(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Journal(services.base.projects)
    event = Event(EventType.SIGNED_IN, "0" * 24, Actor.USER)
    old = Event(EventType.SIGNED_IN, "1" * 24, Actor.USER, at=now() - timedelta(seconds=21))
    for each in (event, old):
        own.note(api.project, each)

    async def fail(*arguments: Any) -> None:
        await record_events(*arguments)
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(domain_events, "record_events", fail)
        with pytest.raises(Unavailable):
            await own.write()
    await own.close()
    await own.write()
    written = list(api.database["events"].find())
    assert [each["user_id"] for each in written] == ["0" * 24]


async def test_no_more_events_wait_than_may(api: Api, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain_events, "MAX_EVENTS_WAITING", 3)
    own = Journal(services.base.projects)
    for _ in range(5):
        own.note(api.project, Event(EventType.SIGNED_IN, "0" * 24, Actor.USER))
    await own.write()
    assert api.database["events"].count_documents({}) == 3


async def test_nothing_is_written_to_a_project_that_is_gone(api: Api, services: Services) -> None:
    await api.signup()
    await services.journal.write()
    own = Journal(services.base.projects)
    own.note(api.project, Event(EventType.SIGNED_IN, "0" * 24, Actor.USER))
    await services.base.admin.delete(api.project.id)
    await own.write()
    assert api.database["events"].count_documents({}) == 0

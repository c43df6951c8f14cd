"""Events: written with the change they tell of, and read by servers and by the user."""

from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import Api, MakeApi

USERS, EVENTS, OWN = "/auth-collections/users", "/auth-collections/events", "/auth-collections/user/events"
ABSENT = "0" * 24


async def events(api: Api, query: str = "") -> Any:
    answer = await api.request("GET", f"{EVENTS}{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def types(page: Any) -> list[str]:
    return [event["type"] for event in page["events"]]


async def make(api: Api, email: str = "ann@example.com") -> str:
    answer = await api.request("POST", USERS, json={"email": email, "password": "correct horse"})
    return str(answer.json()["id"])


async def change(api: Api, user_id: str, **fields: Any) -> None:
    answer = await api.request("PATCH", f"{USERS}/{user_id}", json=fields)
    assert answer.status_code == 200, answer.text


async def test_each_change_leaves_one_event_the_newest_first(api: Api) -> None:
    user_id = await make(api)
    await change(api, user_id, email="ann.b@example.com", claims={"a": 1})
    await change(api, user_id, data={"name": "Ann"}, claims={"a": 1}, disabled=False)
    await change(api, user_id, disabled=True)
    await change(api, user_id, disabled=True)
    await change(api, user_id, disabled=False)
    await api.request("PUT", f"{USERS}/{user_id}/password", json={"password": "another horse"})
    await api.request("DELETE", f"{USERS}/{user_id}")
    page = await events(api)
    assert (page["total"], page["limit"], page["offset"]) == (7, 50, 0)
    assert types(page) == [
        *("user_deleted", "password_changed", "user_enabled", "user_disabled"),
        *("claims_changed", "email_changed", "user_created"),
    ]
    assert {event["user_id"] for event in page["events"]} == {user_id}
    moved = page["events"][5]
    assert list(moved) == ["id", "type", "at", "user_id", "sid", "ip", "user_agent", "actor", "detail"]
    assert moved["detail"] == {"before": "ann@example.com", "after": "ann.b@example.com"}
    assert (moved["actor"], moved["sid"], moved["ip"], moved["user_agent"]) == ("server", None, None, None)


async def test_what_is_refused_leaves_no_event(api: Api) -> None:
    await make(api)
    await api.request("POST", USERS, json={"email": "ann@example.com"})
    bob = await make(api, "bob@example.com")
    await api.request("PATCH", f"{USERS}/{bob}", json={"email": "ann@example.com", "disabled": True})
    for method, suffix in (("PATCH", ""), ("DELETE", ""), ("PUT", "/password")):
        body = {"password": "another horse"} if suffix else {}
        await api.request(method, f"{USERS}/{ABSENT}{suffix}", json=None if method == "DELETE" else body)
    assert types(await events(api)) == ["user_created"] * 2
    assert (await api.login("bob@example.com")).status_code == 200


async def test_a_change_whose_event_cannot_be_stored_does_not_happen(api: Api) -> None:
    user_id = await make(api)
    api.database.command("collMod", "events", validator={"type": {"$ne": "user_disabled"}})
    answer = await api.request("PATCH", f"{USERS}/{user_id}", json={"disabled": True})
    assert not answer.is_success
    assert (await api.login()).status_code == 200


async def test_events_are_filtered_and_paged(api: Api) -> None:
    ann, bob = await make(api), await make(api, "bob@example.com")
    await change(api, bob, disabled=True)
    assert types(await events(api, "?type=user_disabled")) == ["user_disabled"]
    assert [event["user_id"] for event in (await events(api, f"?user_id={ann}"))["events"]] == [ann]
    last = (await events(api))["events"][0]
    assert types(await events(api, f"?since={last['at']}"))[0] == "user_disabled"
    assert "user_disabled" not in types(await events(api, f"?until={last['at']}"))
    page = await events(api, "?limit=1&offset=1&count=false")
    assert (types(page), page["total"], page["limit"], page["offset"]) == (["user_created"], None, 1, 1)


@pytest.mark.parametrize(
    "query", ["type=login", "since=soon", "limit=0", "offset=-1", "count=maybe", "user_id=", "user_id=null", "a=1"]
)
async def test_a_bad_parameter_is_named(api: Api, query: str) -> None:
    answer = await api.request("GET", f"{EVENTS}?{query}")
    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["query", query.partition("=")[0]]]


async def test_a_user_reads_only_the_users_own(api: Api) -> None:
    ann = await make(api)
    await make(api, "bob@example.com")
    token = (await api.login()).json()["access_token"]
    page = (await api.as_user(token, "GET", f"{OWN}?type=user_created")).json()
    assert [(event["type"], event["user_id"]) for event in page["events"]] == [("user_created", ann)]
    assert (await api.as_user(token, "GET", f"{OWN}?user_id={ABSENT}")).status_code == 422
    assert (await api.as_user(token, "GET", EVENTS)).status_code == 401
    await change(api, ann, disabled=True)
    assert (await api.as_user(token, "GET", OWN)).status_code == 401


async def test_events_go_after_their_days_and_with_none_none_are_kept(make_api: MakeApi) -> None:
    kept, none = await make_api(EVENT_DAYS="7"), await make_api(EVENT_DAYS="0")
    await make(kept)
    await make(none)
    (event,) = kept.database["events"].find()
    assert event["expires_at"] - event["at"] == timedelta(days=7)
    indexes = kept.database["events"].index_information()
    assert indexes["expires_at"]["expireAfterSeconds"] == 0
    assert (await events(none))["events"] == []


@pytest.mark.parametrize(
    ("match", "index"), [({}, "at"), ({"user_id": ABSENT}, "user_id"), ({"type": "user_created"}, "type")]
)
async def test_no_page_is_sorted_in_memory(api: Api, match: dict[str, Any], index: str) -> None:
    plan = api.database.command("explain", {"find": "events", "filter": match, "sort": {"at": -1, "_id": -1}})
    assert f"'indexName': '{index}'" in str(plan["queryPlanner"]["winningPlan"])
    assert "'SORT'" not in str(plan["queryPlanner"]["winningPlan"])

"""Acting as a user: what the token reads and writes, what it is refused, its marks, and each of its ends. Rows C14."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from pymongo import MongoClient
from pymongo.database import Database

from service.bounds import MAX_ACTING
from service.domain.audit.audit import Audit
from service.errors import Unavailable
from service.schema.values import now
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.routes import ROUTES
from tests.conftest import Api, MakeApi
from tests.web.operators.conftest import PASSWORD, Console, Join

Json = dict[str, Any]
SESSION = "/admin/v1/session"


class Acting:
    """An operator who acts as a user of a project."""

    def __init__(self, api: Api, answer: Json) -> None:
        self.api, self.token, self.sid, self.user = api, answer["access_token"], answer["sid"], answer["user"]

    async def ask(self, method: str, path: str, **kwargs: Any) -> httpx2.Response:
        return await self.api.as_user(self.token, method, path, **kwargs)

    async def status(self) -> int:
        return (await self.ask("GET", "/auth-collections/user")).status_code


def place(api: Api, user_id: str) -> str:
    return f"/admin/v1/projects/{api.project.id}/users/{user_id}/act-as"


async def act(console: Console, api: Api, user_id: str, reason: str = "a ticket") -> Acting:
    answer = await console.post(place(api, user_id), {"reason": reason})
    assert answer.status_code == 201, answer.text
    return Acting(api, answer.json())


@pytest.fixture
async def user(api: Api) -> Json:
    """A user of the project, with its token."""
    found: Json = (await api.signup()).json()
    return found


@pytest.fixture
async def ada(join: Join, api: Api) -> Console:
    return await join("admin@example.com", **{api.project.id: "admin"})


@pytest.fixture
def system(mongo: MongoClient[Any], database_prefix: str) -> Database[Any]:
    return mongo[f"{database_prefix}system"]


async def put_notes(api: Api) -> None:
    await api.request("POST", "/api/collections", json={"name": "notes", "schema": {"text": {"type": "string"}}})
    rules = {"read": "anyone", "create": "users", "update": "users"}
    answer = await api.request("PUT", "/api/rules", json={"collections": {"notes": rules}})
    assert answer.is_success, answer.text


async def test_it_reads_and_writes_as_the_user_and_leaves_its_marks(
    ada: Console, owner: Console, api: Api, user: Json, services: Services
) -> None:
    user_id = user["user"]["id"]
    await put_notes(api)
    answer = await ada.post(place(api, user_id), {"reason": "Ticket 4711"})
    found = answer.json()
    assert (answer.status_code, found["token_type"], found["expires_in"]) == (201, "bearer", 900)
    assert (found["user"]["id"], "refresh_token" in found) == (user_id, False)
    acting = Acting(api, found)
    _, claims = await services.sessions.tokens.read(acting.token)
    operator_id = (await ada.get(SESSION)).json()["operator"]["id"]
    assert (claims["act"], claims["aal"], claims["exp"] - claims["iat"]) == ({"sub": f"operator:{operator_id}"}, 1, 900)

    assert (await acting.ask("GET", "/auth-collections/user")).json()["id"] == user_id
    assert (await acting.ask("PUT", "/auth-collections/user", json={"name": "Changed"})).status_code == 200
    made = await acting.ask("POST", "/api/collections/notes/documents", json={"data": {"text": "x"}})
    assert made.status_code == 201
    refused = await acting.ask("DELETE", f"/api/collections/notes/documents/{made.json()['id']}")
    assert refused.status_code == 403
    assert (await acting.ask("POST", "/api/collections/notes/query", json={})).status_code == 200

    # The user sees it; the reason is in the audit log alone.
    sessions = (await api.as_user(user["access_token"], "GET", "/auth-collections/user/sessions")).json()["sessions"]
    assert [each.get("actor") for each in sessions] == ["operator", None]
    assert (sessions[0]["id"], sessions[0]["ip"]) == (acting.sid, "")
    events = (await api.as_user(user["access_token"], "GET", "/auth-collections/user/events")).json()["events"]
    event = next(each for each in events if each["type"] == "acted_as")
    assert (event["actor"], event["sid"], event["ip"]) == ("operator", acting.sid, None)
    assert "4711" not in str(events) + str(sessions)
    entries = (await owner.get(f"/admin/v1/projects/{api.project.id}/audit?actor={operator_id}")).json()["entries"]
    assert [(each["action"], each["status"], each["reason"]) for each in entries] == [
        ("acting.deleteDocument", 403, None),
        ("acting.createDocument", 201, None),
        ("acting.updateProfile", 200, None),
        ("user.acted_as", 201, "Ticket 4711"),
    ]
    assert entries[1]["changes"] == [{"path": ["data", "text"], "before": None, "after": None}]
    await services.traffic.log.write()
    log = await owner.get(f"/admin/v1/projects/{api.project.id}/requests?operator_id={operator_id}&method=PUT")
    assert [each["user_id"] for each in log.json()["requests"]] == [user_id]


async def test_c14_what_changes_the_account_is_refused(ada: Console, api: Api, user: Json) -> None:
    acting = await act(ada, api, user["user"]["id"])
    of_account = {Credential.USER_TOKEN, Credential.RECENT_USER, Credential.KEY_OR_RECENT_USER}
    asked = 0
    for route in ROUTES:
        if route.credential in of_account and route.method != "GET" and not route.columns.get("while_acting"):
            path = route.path.format(id="0" * 24)
            answer = await acting.ask(route.method, path, **({"json": {}} if route.method != "DELETE" else {}))
            assert (answer.status_code, answer.json()["code"]) == (403, "not_while_acting"), f"{route.method} {path}"
            asked += 1
    assert asked == 18
    assert await acting.status() == 200
    profile = await api.as_user(user["access_token"], "GET", "/auth-collections/user")
    assert profile.json()["email"] == user["user"]["email"]


async def test_each_row_that_changes_the_own_account_refuses_unless_it_says_otherwise() -> None:
    allowed = {
        f"{route.method} {route.path}"
        for route in ROUTES
        if route.path.startswith("/auth-collections/user") and route.method != "GET" and "users" not in route.path
        if route.acted is None or route.acted.__name__ != "refuse_acting"
    }
    assert allowed == {"PUT /auth-collections/user"}


@pytest.mark.parametrize("end", ["stop", "sign out", "session", "sessions", "demotion", "disabled", "removal", "reset"])
async def test_c14_it_ends_at_once_with_what_it_stands_on(
    ada: Console, owner: Console, api: Api, user: Json, end: str, system: Database[Any]
) -> None:
    await put_notes(api)
    acting = await act(ada, api, user["user"]["id"])
    path, body = "/api/collections/notes/documents", {"data": {"text": "x"}}
    assert (await acting.ask("POST", path, json=body)).status_code == 201
    me = (await ada.get(SESSION)).json()["operator"]["id"]
    of_ada = f"/admin/v1/operators/{me}"
    if end == "stop":
        assert (await ada.delete(f"{place(api, acting.user['id'])}/{acting.sid}")).status_code == 204
    elif end == "sign out":
        await ada.delete(SESSION)
    elif end == "session":
        other = Console(ada.http)
        own = next(each for each in (await other.get("/admin/v1/me/sessions")).json()["sessions"])
        assert (await ada.delete(f"/admin/v1/me/sessions/{own['id']}")).status_code == 204
    elif end == "sessions":
        assert (await owner.delete(f"{of_ada}/sessions")).status_code == 204
    elif end == "demotion":
        await owner.request("PATCH", of_ada, json={"roles": {api.project.id: "editor"}})
    elif end == "disabled":
        await owner.request("PATCH", of_ada, json={"disabled": True})
    elif end == "removal":
        assert (await owner.delete(of_ada)).status_code == 204
    else:
        link = (await owner.post(f"{of_ada}/reset")).json()["invitation"]["link"]
        account = {"token": link.rpartition("/")[2], "name": "Ada", "password": PASSWORD}
        assert (await ada.post("/admin/v1/invitations/accept", account)).status_code == 201
    assert await acting.status() == 401
    assert (await acting.ask("POST", path, json=body)).status_code == 401
    assert not system["operator_acting"].count_documents({})
    sessions = await api.as_user(user["access_token"], "GET", "/auth-collections/user/sessions")
    assert [each.get("actor") for each in sessions.json()["sessions"]] == [None]


async def test_it_goes_on_after_a_confirmation_and_ends_after_it(ada: Console, api: Api, user: Json) -> None:
    acting = await act(ada, api, user["user"]["id"])
    assert (await ada.confirm()).status_code == 200
    assert await acting.status() == 200
    assert (await ada.delete(SESSION)).status_code == 204
    assert await acting.status() == 401


async def test_ones_own_demotion_ends_it(owner: Console, join: Join, api: Api, user: Json) -> None:
    await join("other@example.com", every="owner")
    acting = await act(owner, api, user["user"]["id"])
    me = (await owner.get(SESSION)).json()["operator"]["id"]
    await owner.request("PATCH", f"/admin/v1/operators/{me}", json={"roles": {"*": "viewer"}})
    assert (await owner.get(SESSION)).status_code == 200
    assert await acting.status() == 401


async def test_the_token_ends_after_15_minutes_and_cannot_be_refreshed(make_api: MakeApi, owner: Console) -> None:
    api = await make_api(ACCESS_TOKEN_LIFETIME="600")
    user = (await api.signup()).json()["user"]
    acting = await act(owner, api, user["id"])
    session = api.database["sessions"].find_one({"_id": acting.sid})
    assert session is not None
    assert session["expires_at"] - session["created_at"] == timedelta(minutes=15)
    assert session["tokens_until"] == session["expires_at"]


async def test_logout_and_the_user_end_it(ada: Console, api: Api, user: Json) -> None:
    acting = await act(ada, api, user["user"]["id"])
    assert (await acting.ask("POST", "/auth-collections/logout", json={})).status_code == 204
    assert await acting.status() == 401
    acting = await act(ada, api, user["user"]["id"])
    ended = await api.as_user(user["access_token"], "DELETE", f"/auth-collections/user/sessions/{acting.sid}")
    assert ended.status_code == 204
    assert await acting.status() == 401


async def test_c14_who_may_not_act(
    ada: Console, owner: Console, join: Join, api: Api, user: Json, make_api: MakeApi, system: Database[Any]
) -> None:
    user_id = user["user"]["id"]
    here = place(api, user_id)
    editor = await join("editor@example.com", **{api.project.id: "editor"})
    assert (await editor.post(here, {"reason": "x"})).json()["needs"] == f"{api.project.id}:users:write"
    token = await owner.token("*:*:write", f"{api.project.id}:users:write")
    by_token = Console(owner.http, {"authorization": f"Bearer {token}"})
    assert (await by_token.post(here, {"reason": "x"})).status_code == 403
    system["operator_sessions"].update_many({}, {"$set": {"confirmed_at": now() - timedelta(hours=1)}})
    assert (await ada.post(here, {"reason": "x"})).json()["code"] == "confirmation_required"
    await ada.confirm()
    for body in ({}, {"reason": ""}, {"reason": "  "}, {"reason": "x" * 201}, {"reason": "x", "more": 1}):
        assert (await ada.post(here, body)).status_code == 422, body
    assert (await ada.post(place(api, "0" * 24), {"reason": "x"})).json()["code"] == "user_not_found"
    await api.request("PATCH", f"/auth-collections/users/{user_id}", json={"disabled": True})
    assert (await ada.post(here, {"reason": "x"})).json()["code"] == "account_disabled"
    closed = await make_api(ACT_AS="false")
    other = (await closed.signup()).json()["user"]["id"]
    await owner.confirm()
    assert (await owner.post(place(closed, other), {"reason": "x"})).json()["code"] == "acting_off"
    assert not system["operator_acting"].count_documents({})


async def test_c8_a_session_is_stopped_in_its_own_project_only(
    ada: Console, owner: Console, api: Api, user: Json, make_api: MakeApi
) -> None:
    acting = await act(ada, api, user["user"]["id"])
    other = await make_api()
    own = (await api.as_user(user["access_token"], "GET", "/auth-collections/user/sessions")).json()["sessions"][1][
        "id"
    ]
    for path in (
        f"{place(other, acting.user['id'])}/{acting.sid}",
        f"{place(api, '0' * 24)}/{acting.sid}",
        f"{place(api, acting.user['id'])}/{own}",
    ):
        assert (await owner.delete(path)).json()["code"] == "session_not_found", path
    assert await acting.status() == 200


async def test_an_operator_acts_so_many_times_at_once(ada: Console, api: Api, user: Json) -> None:
    acting = [await act(ada, api, user["user"]["id"]) for _ in range(MAX_ACTING + 2)]
    assert [await each.status() for each in acting] == [401, 401, *[200] * MAX_ACTING]


async def test_without_its_entry_nobody_acts(
    ada: Console, api: Api, user: Json, monkeypatch: pytest.MonkeyPatch, system: Database[Any]
) -> None:
    async def fail(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patched:
        patched.setattr(Audit, "record", fail)
        assert (await ada.post(place(api, user["user"]["id"]), {"reason": "x"})).status_code == 503
    assert not system["operator_acting"].count_documents({})
    sessions = await api.as_user(user["access_token"], "GET", "/auth-collections/user/sessions")
    assert len(sessions.json()["sessions"]) == 1


async def test_one_who_signs_out_meanwhile_does_not_act(ada: Console, api: Api, user: Json, join: Join) -> None:
    for number in range(5):
        console = await join(f"racer-{number}@example.com", **{api.project.id: "admin"})
        begun, _ = await asyncio.gather(
            console.post(place(api, user["user"]["id"]), {"reason": "x"}), console.delete(SESSION)
        )
        if begun.status_code == 201:
            assert await Acting(api, begun.json()).status() == 401
        else:
            assert begun.status_code == 401

"""Rows D1, D3 and S6: the keys of administration, disabled users, and tokens that administration ended."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from service.app import create_app
from service.settings import Settings
from service.web.auth.authenticate import Credential
from service.web.openapi.endpoint import ApiRoute
from service.web.routes import ROUTES
from tests.conftest import BASE_URL, PATIENT, Api
from tests.web.rules.conftest import guest_of, save

USERS, USER = "/auth-collections/users", "/auth-collections/user"
SECRET = [
    each for each in ROUTES if each.credential is Credential.API_KEY and each.path.startswith("/auth-collections")
]


@pytest.fixture(scope="module")
async def other_worker(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A second service on the same database, which remembers for itself."""
    app = create_app(settings, PATIENT)
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url=BASE_URL) as client:
            yield client


@pytest.mark.parametrize("route", SECRET, ids=lambda route: route.operation.id)
async def test_d1_a_publishable_key_administers_nothing(api: Api, route: ApiRoute) -> None:
    await save(api, {"users": {"read": "anyone"}})
    user = (await api.signup()).json()["user"]
    path = route.path.format(id=user["id"])
    for body in (None, {}, {"disabled": True}):
        answer = await guest_of(api).ask(route.method, path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "secret_key_required")
    assert (await api.login()).status_code == 200


@pytest.mark.parametrize("route", SECRET, ids=lambda route: route.operation.id)
async def test_d1_a_users_token_administers_nothing(api: Api, route: ApiRoute) -> None:
    signed = (await api.signup()).json()
    path = route.path.format(id=signed["user"]["id"])
    answer = await api.as_user(signed["access_token"], route.method, path, json={})
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key")


async def test_d3_a_disabled_user_learns_it_by_the_right_password_only(api: Api) -> None:
    user = (await api.signup()).json()["user"]
    disabled = await api.request("PATCH", f"{USERS}/{user['id']}", json={"disabled": True})
    assert disabled.json()["disabled"] is True
    right, wrong = await api.login(), await api.login(password="wrong horse")
    assert (right.status_code, right.json()) == (403, {"detail": "Account disabled", "code": "account_disabled"})
    assert (wrong.status_code, wrong.json()["code"]) == (401, "invalid_credentials")
    assert (await api.signup()).json()["code"] == "email_already_registered"
    await api.request("PATCH", f"{USERS}/{user['id']}", json={"disabled": False})
    assert (await api.login()).status_code == 200


async def test_d3_a_login_that_is_under_way_while_the_user_is_disabled_gives_no_token(api: Api) -> None:
    user = (await api.signup()).json()["user"]
    path = f"{USERS}/{user['id']}"
    logins = asyncio.gather(*(api.login() for _ in range(8)))
    await api.request("PATCH", path, json={"disabled": True})
    tokens = [answer.json()["access_token"] for answer in await logins if answer.status_code == 200]
    for token in tokens:
        assert (await api.as_user(token, "GET", USER)).status_code == 401


@pytest.mark.parametrize("ended_by", ["disable", "delete", "password"])
async def test_s6_a_token_is_dead_at_the_next_request_on_each_worker(
    api: Api, other_worker: httpx2.AsyncClient, ended_by: str
) -> None:
    ann, bob = (await api.signup()).json(), (await api.signup("bob@example.com")).json()
    path = f"{USERS}/{ann['user']['id']}"

    async def statuses(token: str) -> list[int]:
        headers = {"authorization": f"Bearer {token}"}
        answers = [await client.get(USER, headers=headers) for client in (api.http, other_worker)]
        changes = [await client.put(USER, headers=headers, json={"a": 1}) for client in (api.http, other_worker)]
        return [answer.status_code for answer in (*answers, *changes)]

    assert await statuses(ann["access_token"]) == [200] * 4
    match ended_by:
        case "disable":
            answer = await api.request("PATCH", path, json={"disabled": True})
        case "delete":
            answer = await api.request("DELETE", path)
        case _:
            answer = await api.request("PUT", f"{path}/password", json={"password": "another horse"})
    assert answer.is_success
    assert await statuses(ann["access_token"]) == [401] * 4
    assert await statuses(bob["access_token"]) == [200] * 4


async def test_s6_enabling_revives_no_token(api: Api) -> None:
    signed = (await api.signup()).json()
    for disabled in (True, False):
        await api.request("PATCH", f"{USERS}/{signed['user']['id']}", json={"disabled": disabled})
    assert (await api.as_user(signed["access_token"], "GET", USER)).status_code == 401

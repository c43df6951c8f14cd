"""Rows V22, V37 and V38: keys of other projects, and the fields of an account that only servers set and ask for."""

import pytest

from service.web.auth.authenticate import Credential
from service.web.openapi.api_route import ApiRoute
from service.web.routes import ROUTES
from tests.conftest import Api, MakeApi
from tests.threats.conftest import assert_refused

METHODS = "/auth-collections/sign-in-methods"
OF_TOKENS = {
    Credential.USER_TOKEN,
    Credential.RECENT_USER,
    Credential.OPTIONAL_USER,
    Credential.KEY_OR_RECENT_USER,
    Credential.KEY_OR_USER,
    Credential.BY_RULE,
}
BY_TOKEN = [each for each in ROUTES if each.credential in OF_TOKENS]


@pytest.mark.parametrize("route", BY_TOKEN, ids=lambda route: f"{route.method} {route.path}")
async def test_v22_a_publishable_key_of_another_project_beside_a_token_is_401(
    api: Api, make_api: MakeApi, route: ApiRoute
) -> None:
    other, token = await make_api(), (await api.signup()).json()["access_token"]
    path = route.path.format(id="a", name="a", document_id="a", job_id="a", field="a")
    before = list(api.database["users"].find())
    answer = await api.as_user(token, route.method, path, headers={"x-api-key": other.publishable_key}, json={})
    assert_refused(answer, 401)
    assert answer.json()["code"] == "invalid_api_key"
    assert list(api.database["users"].find()) == before
    assert (await api.as_user(token, "GET", "/auth-collections/user")).status_code == 200


@pytest.mark.parametrize("kind", ["secret", "publishable", "unknown", "two"])
async def test_v22_a_key_beside_a_token_must_be_one_of_the_same_project(api: Api, make_api: MakeApi, kind: str) -> None:
    other, token = await make_api(), (await api.signup()).json()["access_token"]
    key = {"secret": other.key, "publishable": other.publishable_key}.get(kind, f"ac_{api.project.id[:8]}_{'x' * 32}")
    headers = [("authorization", f"Bearer {token}"), ("x-api-key", key)]
    headers += [("x-api-key", api.key)] if kind == "two" else []
    answer = await api.http.get("/auth-collections/user", headers=headers)
    assert_refused(answer, 401)
    assert answer.json()["code"] == "invalid_api_key"
    for own in (api.key, api.publishable_key):
        answer = await api.as_user(token, "GET", "/auth-collections/user", headers={"x-api-key": own})
        assert answer.status_code == 200


async def test_v22_a_key_and_the_project_of_the_query_must_agree(api: Api, make_api: MakeApi) -> None:
    other = await make_api()
    for key in (api.key, api.publishable_key):
        for path in (METHODS, "/auth-collections/login-idp"):
            for named in (other.project.id, "no-such-project"):
                answer = await api.http.get(path, params={"project_id": named}, headers={"x-api-key": key})
                assert_refused(answer, 401)
                assert answer.json()["code"] == "invalid_api_key"
        answer = await api.http.get(METHODS, params={"project_id": api.project.id}, headers={"x-api-key": key})
        assert answer.status_code == 200

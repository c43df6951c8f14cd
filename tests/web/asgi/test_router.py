"""Requests that fit a route take a path of their own; whatever else comes is answered in the same form."""

from typing import Any

import pytest

from tests.conftest import Api, MakeApi

ORIGIN = "https://app.example.com"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/auth-collections/nothing", 404, "not_found"),
        ("DELETE", "/auth-collections/user", 405, "method_not_allowed"),
        ("POST", "/auth-collections/jwks/demo", 405, "method_not_allowed"),
        ("GET", "/auth-collections/jwks/nowhere", 404, "project_not_found"),
    ],
)
async def test_every_refusal_is_json_that_its_origin_may_read(
    make_api: MakeApi, method: str, path: str, status: int, code: str
) -> None:
    api = await make_api(CORS_ORIGINS=ORIGIN)
    response = await api.request(method, path, headers={"origin": ORIGIN})
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.headers["access-control-allow-origin"] == ORIGIN
    assert response.headers["x-request-id"]


async def test_a_path_with_a_parameter_reaches_its_endpoint(api: Api) -> None:
    response = await api.request("GET", f"/auth-collections/jwks/{api.project.id}")
    keys: list[dict[str, Any]] = response.json()["keys"]
    assert [key["kid"] for key in keys] == [api.project.signing_key.kid]


async def test_head_answers_as_get_does(api: Api) -> None:
    response = await api.request("HEAD", "/auth-collections/users")
    assert response.status_code == 200

"""Row J19: introspection, and the metadata of a project that is an issuer of its own."""

import base64
from typing import Any

import httpx2
import pytest

from service.services import Services
from tests.conftest import BASE_URL, Api, MakeApi
from tests.web.sessions.conftest import LIFETIME, claims_of

INTROSPECT, USER = "/auth-collections/introspect", "/auth-collections/user"
DEAD = b'{"active":false}'
PATHS = (
    "/auth-collections/issuer/{}/.well-known/openid-configuration",
    "/.well-known/openid-configuration/auth-collections/issuer/{}",
    "/.well-known/oauth-authorization-server/auth-collections/issuer/{}",
)


def basic(project_id: str, key: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(f'{project_id}:{key}'.encode()).decode()}"}


@pytest.fixture
async def issuer(make_api: MakeApi) -> Api:
    return await make_api(TOKEN_ISSUER="project", ACCESS_TOKEN_LIFETIME=str(LIFETIME))


async def ask(api: Api, token: str) -> httpx2.Response:
    return await api.http.post(INTROSPECT, json={"token": token}, headers={"x-api-key": api.key})


async def test_a_good_token_is_active_by_key_and_by_basic_in_json_and_in_a_form(issuer: Api) -> None:
    signed_in = (await issuer.signup()).json()
    token, claims = signed_in["access_token"], claims_of(signed_in["access_token"])
    by_key = await ask(issuer, token)
    assert by_key.status_code == 200
    repeated = {
        name: claims[name] for name in ("iss", "sub", "aud", "exp", "iat", "jti", "sid", "aal", "amr", "auth_time")
    }
    assert by_key.json() == {
        "active": True,
        **repeated,
        "token_type": "Bearer",
        "username": "ann@example.com",
        "roles": [],
        "anonymous": False,
        "claims": {},
    }
    form = {"token": token, "token_type_hint": "access_token"}
    by_basic = await issuer.http.post(INTROSPECT, data=form, headers=basic(issuer.project.id, issuer.key))
    assert by_basic.content == by_key.content


async def test_roles_are_those_of_now_and_claims_those_of_the_token(issuer: Api) -> None:
    made = await issuer.request(
        "POST", "/auth-collections/users", json={"email": "bo@example.com", "password": "correct horse"}
    )
    path = f"/auth-collections/users/{made.json()['id']}"
    await issuer.request("PATCH", path, json={"claims": {"plan": "pro"}})
    token = (await issuer.login("bo@example.com")).json()["access_token"]
    await issuer.request("PUT", f"{path}/roles", json={"roles": ["editor"]})
    answer = (await ask(issuer, token)).json()
    assert (answer["claims"], answer["roles"]) == ({"plan": "pro"}, ["editor"])


async def test_a_token_is_active_exactly_while_its_user_can_be_read(issuer: Api, make_api: MakeApi) -> None:
    other = await make_api(TOKEN_ISSUER="project", ACCESS_TOKEN_LIFETIME=str(LIFETIME))
    ended, kept, gone = [(await issuer.signup(f"{name}@example.com")).json() for name in ("ann", "bo", "cid")]
    await issuer.http.post("/auth-collections/logout", json={"refresh_token": ended["refresh_token"]})
    await issuer.request("DELETE", f"/auth-collections/users/{gone['user']['id']}")
    head, body, signature = kept["access_token"].split(".")
    dead = [
        ended["access_token"],
        gone["access_token"],
        kept["refresh_token"],
        f"{head}.{body}.{signature[:-4]}AAAA",
        "",
        "x" * 4_000,
        "..",
    ]
    answers = [await ask(issuer, token) for token in dead]
    # A good token of another project, by this project's key.
    answers.append(await ask(other, kept["access_token"]))
    assert {(each.status_code, each.content) for each in answers} == {(200, DEAD)}
    read = [(await issuer.as_user(token, "GET", USER)).status_code for token in dead[:4]]
    assert read == [401] * 4
    assert (await ask(issuer, kept["access_token"])).json()["active"] is True


async def test_a_question_counts_in_the_day_and_not_among_the_auth_requests(make_api: MakeApi) -> None:
    api = await make_api(TIER="free", DAILY_LIMIT="0", AUTH_LIMIT="5")
    answer = await ask(api, "x")
    assert (answer.content, answer.headers["ratelimit-policy"]) == (DEAD, '"daily";q=1000;w=86400')


async def test_only_the_secret_key_of_a_project_may_ask(issuer: Api, make_api: MakeApi) -> None:
    other = await make_api()
    token = (await issuer.signup()).json()["access_token"]
    refused: list[dict[str, str]] = [
        {},
        {"x-api-key": issuer.publishable_key},
        basic(issuer.project.id, issuer.publishable_key),
        basic(issuer.project.id, other.key),
        basic(other.project.id, issuer.key),
        basic("", issuer.key),
        {"authorization": "Basic w6k="},
        {"authorization": "Basic !!!"},
        {"authorization": f"Bearer {token}"},
    ]
    for headers in refused:
        answer = await issuer.http.post(INTROSPECT, json={"token": token}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key"), headers


async def test_a_body_that_is_no_token_is_refused(issuer: Api) -> None:
    async def send(**request: Any) -> tuple[int, str]:
        headers = {"x-api-key": issuer.key} | request.pop("headers", {})
        answer = await issuer.http.post(INTROSPECT, headers=headers, **request)
        return answer.status_code, answer.json()["code"]

    as_form = {"content-type": "application/x-www-form-urlencoded"}
    assert await send(json={}) == (422, "validation_error")
    assert await send(json={"token": 1}) == (422, "validation_error")
    assert await send(json={"token": "x", "more": 1}) == (422, "validation_error")
    assert await send(content=b"tokens=x", headers=as_form) == (422, "validation_error")
    assert await send(content=b"token=x", headers={"content-type": "text/plain"}) == (415, "unsupported_media_type")
    assert await send(content=b"token=" + b"x" * 1_000_000, headers=as_form) == (413, "too_large")
    assert await send(json={"token": "x" * 1_000_000}) == (413, "too_large")


async def test_the_metadata_is_one_text_at_three_places(issuer: Api) -> None:
    found = [await issuer.http.get(path.format(issuer.project.id), headers={"host": "evil.example"}) for path in PATHS]
    own = f"{BASE_URL}/auth-collections/issuer/{issuer.project.id}"
    assert claims_of((await issuer.signup()).json()["access_token"])["iss"] == own
    assert {each.content for each in found} == {found[0].content}
    assert found[0].json() == {
        "issuer": own,
        "jwks_uri": f"{BASE_URL}/auth-collections/jwks/{issuer.project.id}",
        "introspection_endpoint": f"{BASE_URL}/auth-collections/introspect",
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic"],
        "response_types_supported": ["none"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "claims_supported": ["iss", "sub", "aud", "exp", "iat", "jti", "sid", "aal", "amr", "auth_time", "claims"],
    }
    for each in found:
        assert each.headers["cache-control"] == "public, max-age=300"
        assert "ratelimit" not in each.headers


async def test_any_page_reads_the_metadata(issuer: Api, make_api: MakeApi) -> None:
    listing = await make_api(TOKEN_ISSUER="project", CORS_ORIGINS="*")
    for api in (issuer, listing):
        answer = await api.http.get(PATHS[0].format(api.project.id), headers={"origin": "https://anywhere.example"})
        assert answer.headers.get_list("access-control-allow-origin") == ["*"]


async def test_a_project_without_an_issuer_of_its_own_has_no_metadata(api: Api) -> None:
    for path in PATHS:
        off, unknown = await api.http.get(path.format(api.project.id)), await api.http.get(path.format("nothere"))
        assert (off.status_code, off.json()["code"]) == (404, "issuer_off")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "project_not_found")
    assert claims_of((await api.signup()).json()["access_token"])["iss"] == BASE_URL


async def test_tokens_of_both_issuers_are_good_after_a_change(api: Api, services: Services) -> None:
    before = (await api.signup()).json()["access_token"]
    await services.base.admin.change(api.project.id, {"TOKEN_ISSUER": "project"})
    after = (await api.login()).json()["access_token"]
    assert claims_of(before)["iss"] != claims_of(after)["iss"]
    assert [(await api.as_user(token, "GET", USER)).status_code for token in (before, after)] == [200, 200]


async def test_a_new_project_is_an_issuer_unless_its_settings_say_otherwise(services: Services) -> None:
    made, _ = await services.base.admin.create_new("One", "one", {})
    asked, _ = await services.base.admin.create_new("Two", "two", {"TOKEN_ISSUER": "service"})
    assert [made.settings.has_own_issuer, asked.settings.has_own_issuer] == [True, False]

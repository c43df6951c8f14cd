"""GET /auth-collections/login-idp: which project it is for, what it needs, and what it gives."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from pymongo import MongoClient

from faults.provider import CLIENT_ID, Provider
from service.app import create_app
from service.settings import Settings
from tests.conftest import BASE_URL, MakeApi
from tests.web.sign_in.conftest import MakeSite
from tests.web.sign_in.site import CALLBACK, Site

PATH = "/auth-collections/login-idp"


async def test_the_url_is_the_providers(site: Site) -> None:
    response = await site.login_idp()
    assert response.json().keys() == {"url"}
    assert response.headers["cache-control"] == "no-store"
    url = urlsplit(response.json()["url"])
    assert url._replace(query="").geturl() == f"{site.provider.issuer()}/authorize"
    query = parse_qs(url.query)
    assert (query["client_id"], query["redirect_uri"]) == ([CLIENT_ID], [CALLBACK])


async def test_o3_state_nonce_and_challenge_are_long_and_never_repeat(site: Site) -> None:
    queries = [parse_qs(urlsplit(await site.begin()).query) for _ in range(20)]
    for name in ("state", "nonce", "code_challenge"):
        values = [query[name][0] for query in queries]
        assert len(set(values)) == 20
        # 43 characters of base64url are 256 bits.
        assert all(len(value) == 43 for value in values)
    assert {query["code_challenge_method"][0] for query in queries} == {"S256"}


async def test_o3_plain_oauth_has_state_and_challenge(make_site: MakeSite) -> None:
    urls = {
        f"IDP_{name}_URL": f"https://provider.example/{name.lower()}" for name in ("AUTHORIZE", "TOKEN", "USERINFO")
    }
    site = await make_site(IDP_ISSUER="", **urls)
    url = urlsplit(await site.begin())
    assert url.netloc == "provider.example"
    assert {"state", "code_challenge"} <= parse_qs(url.query).keys()
    assert "nonce" not in parse_qs(url.query)


async def test_only_a_digest_of_the_state_is_stored(
    site: Site, mongo: MongoClient[dict[str, Any]], database_prefix: str
) -> None:
    state = parse_qs(urlsplit(await site.begin()).query)["state"][0]
    (stored,) = mongo[f"{database_prefix}system"]["sign_in_states"].find()
    assert state not in repr(stored)
    assert stored["project_id"] == site.api.project.id


async def test_v22_the_key_and_the_project_of_the_query_must_agree(make_site: MakeSite) -> None:
    first, second = await make_site(IDP_CLIENT_ID="first"), await make_site(IDP_CLIENT_ID="second")
    response = await first.login_idp(params={"project_id": first.api.project.id})
    assert "client_id=first" in response.json()["url"]
    response = await first.login_idp(params={"project_id": second.api.project.id})
    assert (response.status_code, response.json()["code"]) == (401, "invalid_api_key")


async def test_the_project_of_the_query_comes_next(make_site: MakeSite) -> None:
    first, second = await make_site(IDP_CLIENT_ID="first"), await make_site(IDP_CLIENT_ID="second")
    response = await first.api.http.get(PATH, params={"project_id": second.api.project.id})
    assert "client_id=second" in response.json()["url"]


async def test_the_default_project_comes_next(make_site: MakeSite, settings: Settings) -> None:
    await make_site(IDP_CLIENT_ID="first")
    second = await make_site(IDP_CLIENT_ID="second")
    app = create_app(settings.model_copy(update={"default_project_id": second.api.project.id}))
    transport = httpx2.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url=BASE_URL) as http:
        assert "client_id=second" in (await http.get(PATH)).json()["url"]


async def test_the_only_project_comes_last(site: Site) -> None:
    assert (await site.api.http.get(PATH)).status_code == 200


async def test_among_several_projects_one_must_be_named(make_site: MakeSite) -> None:
    site = await make_site()
    await make_site()
    response = await site.api.http.get(PATH)
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == ["query", "project_id"]


async def test_unknown_projects_and_keys_are_refused(site: Site) -> None:
    unknown = await site.api.http.get(PATH, params={"project_id": "nobody"})
    assert (unknown.status_code, unknown.json()["detail"]) == (404, "Project not found")
    wrong_key = await site.api.http.get(PATH, headers={"x-api-key": "ac_x_y"})
    assert (wrong_key.status_code, wrong_key.json()["detail"]) == (401, "Invalid API key")


@pytest.mark.parametrize(
    "key", ["IDP_CLIENT_ID", "IDP_CLIENT_SECRET", "IDP_REDIRECT_URL", "IDP_COMPLETE_URL", "IDP_ISSUER"]
)
async def test_a_missing_setting_is_named(make_site: MakeSite, key: str) -> None:
    response = await (await make_site(**{key: ""})).login_idp()
    assert (response.status_code, response.json()["detail"]) == (400, f"{key} key missing")


async def test_a_missing_url_of_plain_oauth_is_named(make_site: MakeSite) -> None:
    site = await make_site(IDP_ISSUER="", IDP_AUTHORIZE_URL="https://provider.example/a")
    assert (await site.login_idp()).json()["detail"] == "IDP_TOKEN_URL key missing"


async def test_a_project_without_settings_lacks_the_client_id_first(make_api: MakeApi) -> None:
    response = await (await make_api()).request("GET", PATH)
    assert (response.status_code, response.json()["detail"]) == (400, "IDP_CLIENT_ID key missing")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("client_state=", "client_state"),
        (f"client_state={'x' * 513}", "client_state"),
        ("client_state=a&client_state=b", "client_state"),
        ("project_id=", "project_id"),
        ("redirect=https://evil.example", "redirect"),
        ("state=x", "state"),
    ],
)
async def test_parameters_are_judged(site: Site, query: str, name: str) -> None:
    response = await site.api.request("GET", f"{PATH}?{query}")
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == ["query", name]


async def test_a_client_state_of_512_characters_is_taken(site: Site) -> None:
    assert (await site.login_idp(params={"client_state": "x" * 512})).status_code == 200


@pytest.mark.parametrize("issuer", ["down", "mislabelled", "outside"])
async def test_a_provider_that_cannot_be_used(make_site: MakeSite, provider: Provider, issuer: str) -> None:
    response = await (await make_site(IDP_ISSUER=provider.issuer(issuer))).login_idp()
    assert response.status_code == 503
    assert response.json()["detail"].startswith("The identity provider cannot be used")
    assert "retry-after" in response.headers

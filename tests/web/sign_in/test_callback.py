"""The callback: states, what the provider may answer, and the one redirect. Rows O1, O2, O4, O6, O9 and O10."""

import asyncio
import time
from datetime import timedelta
from typing import Any

import httpx2
import pytest
import structlog
from pymongo import MongoClient

from faults.provider import Provider
from faults.provider.answers import ANSWERS, SLOW_SECONDS
from faults.provider.tokens import TWISTS
from service.app import create_app
from service.providers import Gateway
from service.schema.values import now
from service.services import Services
from service.settings import Settings
from tests.conftest import BASE_URL, MakeApi
from tests.web.sign_in.conftest import MakeSite
from tests.web.sign_in.site import TOKEN, Site, ending

QUICK_ANSWERS = [answer for answer in ANSWERS if answer != "slow"]


async def test_a_sign_in_ends_with_a_token_on_the_projects_page(site: Site) -> None:
    end = await site.sign_in("ada")
    assert end.page == "https://app.example.com/done"
    assert end.query == {"keep": "1", "svc-super-token": end.token}
    assert (await site.user(end.token))["email"] == "ada@example.com"


async def test_n5_a_sign_in_under_way_at_its_projects_deletion_ends_without_a_token(
    site: Site, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This worker remembers the project, whose tombstone another process sets while the provider thinks."""
    parameters = await site.answer(await site.begin(), "ada")
    judged = Gateway.profile

    async def think(*args: Any, **kwargs: Any) -> Any:
        profile = await judged(*args, **kwargs)
        projects = services.base.databases.system["projects"]
        await projects.update_one({"_id": site.api.project.id}, {"$set": {"deleting": True}})
        return profile

    monkeypatch.setattr(Gateway, "profile", think)
    ended = await site.finish(parameters)
    assert (ended.status_code, ended.json()) == (404, {"detail": "Project not found", "code": "project_not_found"})
    assert "location" not in ended.headers


async def test_the_callback_works_without_the_prefix(site: Site) -> None:
    response = await site.finish(await site.answer(await site.begin(), "ada"), prefix="")
    assert (await site.user(ending(response).token))["email"] == "ada@example.com"


async def test_the_client_state_comes_back_with_a_token_and_with_an_error(site: Site) -> None:
    client_state = "tab=7&next=/a?b#ü\r\n"
    for account in ("ada", "no_email"):
        assert (await site.sign_in(account, client_state)).query["state"] == client_state


async def test_plain_oauth(make_site: MakeSite, provider: Provider) -> None:
    base = provider.issuer()
    urls = {f"IDP_{name}_URL": f"{base}/{name.lower()}" for name in ("AUTHORIZE", "TOKEN", "USERINFO")}
    site = await make_site(IDP_ISSUER="", IDP_SCOPES="email", IDP_CLIENT_AUTH="client_secret_post", **urls)
    assert (await site.user((await site.sign_in("ada")).token))["email"] == "ada@example.com"
    assert provider.client_auth == ["client_secret_post"]
    assert (provider.calls["discovery"], provider.calls["jwks"]) == (0, 0)


@pytest.mark.parametrize("prefix", ["/auth-collections", ""])
async def test_an_unknown_project_is_not_found(site: Site, prefix: str) -> None:
    response = await site.api.http.get(f"{prefix}/auth-idp-redirect/nobody?state=x&code=y")
    assert (response.status_code, response.json()["detail"]) == (404, "Project not found")


async def test_without_a_completion_page_there_is_nowhere_to_go(make_api: MakeApi) -> None:
    api = await make_api()
    response = await api.http.get(f"/auth-collections/auth-idp-redirect/{api.project.id}")
    assert (response.status_code, response.json()["detail"]) == (400, "IDP_COMPLETE_URL key missing")


async def test_o1_without_a_state(site: Site) -> None:
    parameters = await site.answer(await site.begin(), "ada")
    await refused(site, {"code": parameters["code"]})


@pytest.mark.parametrize("state", ["", "unknown", "x" * 5000, "\x00", "\ufffd"])
async def test_o1_with_an_unknown_state(site: Site, state: str) -> None:
    parameters = await site.answer(await site.begin(), "ada")
    await refused(site, {**parameters, "state": state})


async def test_o1_with_a_tampered_state(site: Site) -> None:
    parameters = await site.answer(await site.begin(), "ada")
    await refused(site, {**parameters, "state": parameters["state"][:-1]})
    await refused(site, {**parameters, "state": parameters["state"].swapcase()})


async def test_o1_with_two_states(site: Site) -> None:
    parameters = await site.answer(await site.begin(), "ada")
    await refused(site, [*parameters.items(), ("state", parameters["state"])])


async def test_o1_with_a_used_state(site: Site) -> None:
    parameters = await site.answer(await site.begin(), "ada")
    assert ending(await site.finish(parameters)).error is None
    await refused(site, parameters, users=1)


async def test_o1_with_a_state_whose_first_callback_failed(site: Site) -> None:
    parameters = await site.answer(await site.begin(), "token_refused")
    assert ending(await site.finish(parameters)).error == "invalid_authorization_code"
    await refused(site, parameters)


async def test_o1_with_an_expired_state(site: Site, mongo: MongoClient[dict[str, Any]], database_prefix: str) -> None:
    parameters = await site.answer(await site.begin(), "ada")
    states = mongo[f"{database_prefix}system"]["sign_in_states"]
    (stored,) = states.find()
    assert timedelta(minutes=9) < stored["expires_at"] - now() <= timedelta(minutes=10)
    states.update_one({}, {"$set": {"expires_at": now() - timedelta(seconds=1)}})
    await refused(site, parameters)


async def test_o1_with_the_state_of_another_project(make_site: MakeSite) -> None:
    site, other = await make_site(), await make_site()
    parameters = await site.answer(await site.begin(), "ada")
    await refused(other, parameters)
    # Nor did the other project spend it.
    assert ending(await site.finish(parameters)).error is None


async def test_o1_with_the_state_of_another_client(make_site: MakeSite, services: Any, admin: Any) -> None:
    site = await make_site()
    parameters = await site.answer(await site.begin(), "ada")
    await admin.change(site.api.project.id, {"IDP_CLIENT_ID": "another"})
    services.base.projects._by_id.clear()  # noqa: SLF001 - instead of the five seconds for which a worker keeps a project
    await refused(site, parameters)


async def refused(site: Site, parameters: Any, *, users: int = 0) -> None:
    """The callback ends with authentication_failed, asks the provider nothing and stores no user."""
    calls = dict(site.provider.calls)
    end = ending(await site.finish(parameters))
    assert end.page == "https://app.example.com/done"
    assert end.error == "authentication_failed"
    assert site.provider.calls == calls
    assert len(site.users()) == users


async def test_o1_a_request_without_an_answer_spends_no_state(site: Site) -> None:
    parameters = await site.answer(await site.begin(), "ada")
    path = f"/auth-collections/auth-idp-redirect/{site.api.project.id}"
    for method in ("HEAD", "POST", "OPTIONS"):
        refused = await site.api.http.request(method, path, params=parameters)
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET")
    assert ending(await site.finish(parameters)).error is None


async def test_o2_of_parallel_callbacks_with_one_state_one_gets_a_token(site: Site) -> None:
    parameters = await site.answer(await site.begin(), "ada")
    ends = [ending(response) for response in await asyncio.gather(*(site.finish(parameters) for _ in range(20)))]
    assert sorted(end.error or "token" for end in ends) == ["authentication_failed"] * 19 + ["token"]
    assert site.provider.calls["token"] == 1


@pytest.mark.parametrize("twist", TWISTS)
async def test_o4_a_bad_id_token(site: Site, twist: str) -> None:
    assert (await site.sign_in(f"id_token_{twist}")).error == "authentication_failed"
    assert site.users() == []


async def test_o4_another_issuer_in_the_answer(make_site: MakeSite, provider: Provider) -> None:
    site = await make_site(IDP_ISSUER=provider.issuer("named"))
    for iss in ("https://issuer.example", None):
        parameters = await site.answer(await site.begin(), "ada")
        parameters.pop("iss")
        await refused(site, {**parameters, **({"iss": iss} if iss else {})})
    assert (await site.sign_in("ada")).error is None


@pytest.mark.parametrize("answer", QUICK_ANSWERS)
async def test_o6_a_faulty_token_endpoint(site: Site, answer: str) -> None:
    assert (await site.sign_in(f"token_{answer}")).error == "invalid_authorization_code"
    assert (site.users(), site.provider.calls["userinfo"], site.provider.calls["elsewhere"]) == ([], 0, 0)


@pytest.mark.parametrize(
    "answer", [answer for answer in QUICK_ANSWERS if answer not in {"refused_with_200", "empty_object"}]
)
async def test_o6_a_faulty_userinfo_endpoint(site: Site, answer: str) -> None:
    assert (await site.sign_in(f"userinfo_{answer}")).error == "failed_to_get_user_info"
    assert (site.users(), site.provider.calls["elsewhere"]) == ([], 0)


async def test_o6_an_unknown_code(site: Site) -> None:
    parameters = await site.answer(await site.begin(), "ada")
    assert ending(await site.finish({**parameters, "code": "guessed"})).error == "invalid_authorization_code"


async def test_o6_a_slow_provider_ends_in_time_and_holds_nobody_up(site: Site) -> None:
    answers = [await site.answer(await site.begin(), f"{endpoint}_slow") for endpoint in ("token", "userinfo")]
    started = time.monotonic()
    waiting = [asyncio.ensure_future(site.finish(parameters)) for parameters in answers]
    await asyncio.sleep(0.5)
    for _ in range(20):
        assert (await site.api.users()).status_code == 200
    # No request had to wait for the provider.
    assert not any(task.done() for task in waiting)
    ends = [ending(response).error for response in await asyncio.gather(*waiting)]
    assert ends == ["invalid_authorization_code", "failed_to_get_user_info"]
    assert 9 < time.monotonic() - started < SLOW_SECONDS


DECLINED = {"error": "access_denied", "error_description": "<script>", "error_uri": "https://evil.example"}
TEMPTING = [
    ("a redirect", {"redirect": "https://evil.example"}, None),
    ("next and redirect_uri", {"next": "//evil.example", "redirect_uri": "https://evil.example"}, None),
    ("a token", {"svc-super-token": "forged"}, None),
    ("a URL as state", {"state": "https://evil.example"}, "authentication_failed"),
    ("an error with markup", DECLINED, "authentication_failed"),
    ("one of our codes as error", {"error": "database_error"}, "authentication_failed"),
    ("another issuer", {"iss": "https://evil.example"}, "authentication_failed"),
]


@pytest.mark.parametrize(("tempting", "error"), [row[1:] for row in TEMPTING], ids=[row[0] for row in TEMPTING])
async def test_o9_the_redirect_leads_to_the_configured_page(
    site: Site, tempting: dict[str, str], error: str | None
) -> None:
    parameters = await site.answer(await site.begin(), "ada")
    end = ending(await site.finish({**parameters, **tempting}))
    assert end.page == "https://app.example.com/done"
    assert end.query == {"keep": "1", **({"svc-error": error} if error else {"svc-super-token": end.query.get(TOKEN)})}
    assert end.query.get(TOKEN) != "forged"


async def test_o9_the_user_declines_at_the_provider(site: Site) -> None:
    location = await asyncio.to_thread(site.provider.decline, await site.begin())
    parameters = dict(httpx2.URL(location).params)
    assert parameters["error"] == "access_denied"
    await refused(site, parameters)


async def test_o9_a_page_outside_ascii_is_encoded(make_site: MakeSite) -> None:
    site = await make_site(IDP_COMPLETE_URL="https://app.example.com/schlüssel")
    response = await site.finish({"state": "x"})
    assert response.headers["location"] == "https://app.example.com/schl%C3%BCssel?svc-error=authentication_failed"


@pytest.mark.parametrize("account", ["ada", "token_refused", "userinfo_500", "id_token_wrong_nonce", "unverified"])
async def test_o10_no_log_line_holds_a_token_a_code_or_a_state(
    site: Site, account: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with structlog.testing.capture_logs() as lines:
        parameters = await site.answer(await site.begin(), account)
        end = ending(await site.finish(parameters))
    logged = repr(lines) + "".join(capfd.readouterr())
    assert "auth-idp-redirect" in logged
    assert ("sign_in_failed" in logged) is (account != "ada")
    for secret in (parameters["code"], parameters["state"], end.query.get("svc-super-token", "-none-"), "@example.com"):
        assert secret not in logged


async def test_database_error_when_the_user_cannot_be_stored(site: Site) -> None:
    site.api.database.command("collMod", "users", validator={"never": {"$exists": True}})
    assert (await site.sign_in("ada", "tab-7")).query == {"keep": "1", "svc-error": "database_error", "state": "tab-7"}
    assert site.users() == []


async def test_database_error_when_the_database_is_away(make_site: MakeSite, settings: Settings) -> None:
    site = await make_site()
    parameters = await site.answer(await site.begin(), "ada")
    app = create_app(settings)
    transport = httpx2.ASGITransport(app=app)
    path = f"/auth-collections/auth-idp-redirect/{site.api.project.id}"
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url=BASE_URL) as http:
        await http.get(path)
        await app.services.base.databases.client.close()
        assert ending(await http.get(path, params=parameters)).error == "database_error"

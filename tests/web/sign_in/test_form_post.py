"""Providers that have the browser post their answer as a form."""

import re
from html import unescape

import httpx2

from tests.conftest import Api
from tests.web.sign_in.providers import Providers, query_of
from tests.web.sign_in.site import ending

FIELD = re.compile(r'<input type=hidden name="([^"]*)" value="([^"]*)">')


def hidden_fields(page: str) -> dict[str, str]:
    """The fields that the page's form posts."""
    return {name: unescape(value) for name, value in FIELD.findall(page)}


async def posted(providers: Providers, account: str = "ada", **more: str) -> tuple[str, dict[str, str]]:
    """The URL and the fields that the browser posts."""
    url = await providers.begin("staff")
    assert query_of(url)["response_mode"] == "form_post"
    location = await providers.answer(url, account)
    return location.partition("?")[0], {**query_of(location), **more}


async def test_a_posted_answer_signs_in(providers: Providers) -> None:
    await providers.openid("staff", RESPONSE_MODE="form_post")
    path, form = await posted(providers)
    end = ending(await providers.api.http.post(path, data=form))
    assert (await providers.api.as_user(end.token, "GET", "/auth-collections/user")).status_code == 200
    assert ending(await providers.api.http.post(path, data=form)).error == "authentication_failed"
    path, form = await posted(providers, error="access_denied")
    assert ending(await providers.api.http.post(path, data=form)).error == "authentication_failed"


async def test_our_page_posts_again_with_the_cookie_and_spends_nothing(providers: Providers) -> None:
    await providers.openid("staff", RESPONSE_MODE="form_post")
    await providers.services.base.admin.change(providers.api.project.id, {"IDP_BIND_BROWSER": "true"})
    providers.services.base.projects.forget_all()
    begun = await providers.login_idp("staff")
    cookie = begun.headers["set-cookie"].partition(";")[0]
    location = await providers.answer(begun.json()["url"], "ada")
    path, form = location.partition("?")[0], {**query_of(location), "user": '{"a": "<\\"&>"}', "more": "x"}
    for _ in range(2):
        page = await providers.api.http.post(path, data=form)
        assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
        script = re.search(r"<script>(.*)</script>", page.text)
        assert script is not None
        assert "script-src 'sha256-" in page.headers["content-security-policy"]
    again = hidden_fields(page.text)
    assert again == {name: form[name] for name in ("code", "state", "user")} | {"again": "1"}
    without = await providers.api.http.post(path, data={**again, "state": "x"})
    assert ending(without).error == "authentication_failed"
    end = ending(await providers.api.http.post(path, data=again, headers={"cookie": cookie}))
    assert end.error is None


async def test_a_form_is_refused_where_none_is_expected(providers: Providers) -> None:
    await providers.openid("staff")
    path = f"/auth-collections/auth-idp-redirect/{providers.api.project.id}"
    for place in (f"{path}/staff", f"{path}/default", path):
        await allows_no_post(providers.api, place)
    assert (await providers.api.http.post(f"{path}/nobody", data={"state": "x"})).status_code == 404
    await providers.openid("staff", RESPONSE_MODE="form_post")
    large = await providers.api.http.post(f"{path}/staff", data={"state": "x" * 10_000})
    assert large.status_code == 413
    assert (await providers.api.http.post(f"{path}/staff", json={"state": "x"})).status_code == 415


async def allows_no_post(api: Api, path: str) -> None:
    answer: httpx2.Response = await api.http.post(path, data={"state": "x"})
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed"), path

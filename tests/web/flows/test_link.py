"""The page behind the link of a mail: rows E1 and E12."""

import re
from typing import Any

import httpx2
import pytest

from service.services import Services
from tests.conftest import BASE_URL, Api, MakeApi
from tests.web.flows.mailbox import ask, newest

OWN = {"origin": BASE_URL, "sec-fetch-site": "same-origin"}
PATH = "/auth-collections/link"


async def link_of(services: Services, api: Api, path: str = "verify-email", **body: str) -> str:
    """The path and the query of a mail's link."""
    await api.signup()
    await ask(api, path, email="ann@example.com", **body)
    link: str = (await newest(services, api)).link
    return link.removeprefix(BASE_URL)


async def post(api: Api, link: str, headers: dict[str, str] = OWN, **fields: str) -> httpx2.Response:
    return await api.http.post(link, data=fields, headers=headers)


def is_verified(api: Api) -> Any:
    return (api.database["users"].find_one() or {}).get("email_verified", False)


@pytest.mark.parametrize("purpose", ["verify-email", "forgot-password"])
async def test_e1_looking_at_a_link_changes_nothing(api: Api, services: Services, purpose: str) -> None:
    link = await link_of(services, api, purpose)
    for _ in range(10):
        page = await api.http.get(link)
        assert page.status_code == 200
        assert (await api.http.head(link)).status_code == 200
    assert 'method="post"' in page.text
    assert not is_verified(api)
    assert (await post(api, link)).status_code in {200, 303}


async def test_a_click_on_the_pages_button_proves_the_address(api: Api, services: Services) -> None:
    link = await link_of(services, api)
    followed = await post(api, link)
    assert (followed.status_code, followed.headers["location"]) == (303, "?done=1")
    assert is_verified(api)
    assert "Done" in (await api.http.get(f"{PATH}?done=1")).text
    for answer in (await post(api, link), await api.http.get(link)):
        assert answer.status_code == 400
        assert "cannot be used any more" in answer.text


async def test_a_link_leads_to_the_projects_page(make_api: MakeApi, services: Services) -> None:
    api = await make_api(REDIRECT_URLS="https://app.example/done?a=1, com.example.app:/done")
    link = await link_of(services, api)
    page = await api.http.get(link)
    assert "form-action 'self' https://app.example;" in page.headers["content-security-policy"]
    assert (await post(api, link)).headers["location"] == "https://app.example/done?a=1"


async def test_a_link_leads_into_an_app(make_api: MakeApi, services: Services) -> None:
    api = await make_api(REDIRECT_URLS="https://app.example/done, com.example.app:/done")
    link = await link_of(services, api, redirect_to="com.example.app:/done")
    page = await api.http.get(link)
    assert "form-action 'self' com.example.app:;" in page.headers["content-security-policy"]
    assert (await post(api, link)).headers["location"] == "com.example.app:/done"


async def test_the_page_asks_for_a_password_and_says_what_is_wrong_with_one(api: Api, services: Services) -> None:
    link = await link_of(services, api, "forgot-password")
    # The first page has the field; without one the form says nothing, and changes nothing.
    for form in (await api.http.get(link), await post(api, link)):
        assert (form.status_code, 'type="password"' in form.text) == (200, True)
    refused = await post(api, link, password="short")
    assert (refused.status_code, "at least 8 characters" in refused.text) == (422, True)
    done = await post(api, link, password="a better password")
    assert done.status_code == 303
    assert (await api.login(password="a better password")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example"},
        {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
        {"origin": BASE_URL, "sec-fetch-site": "cross-site"},
        {"origin": "null"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
    ],
    ids=str,
)
async def test_e12_a_form_of_another_page_does_nothing(api: Api, services: Services, headers: dict[str, str]) -> None:
    link = await link_of(services, api)
    answer = await post(api, link, headers)
    assert answer.status_code == 403
    assert not is_verified(api)


@pytest.mark.parametrize(
    "headers",
    [{"origin": BASE_URL}, {"sec-fetch-site": "same-origin"}, {"origin": "null", "sec-fetch-site": "same-origin"}],
)
async def test_browsers_say_in_several_ways_that_it_is_our_form(
    api: Api, services: Services, headers: dict[str, str]
) -> None:
    assert (await post(api, await link_of(services, api), headers)).status_code == 303


async def test_the_page_keeps_its_address_and_itself_to_itself(api: Api, services: Services) -> None:
    page = await api.http.get(await link_of(services, api))
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe-inline" not in policy
    assert page.headers["referrer-policy"] == "same-origin"
    assert page.headers["cache-control"] == "no-store"
    assert not re.search(r"<script|src=|https?://", page.text)


async def test_e10_what_people_wrote_is_text_on_the_page(services: Services, make_api: MakeApi) -> None:
    api = await make_api()
    link = await link_of(services, api, locale="de")
    page = await api.http.get(f"{link}&done=")
    assert page.status_code == 200
    assert 'lang="de"' in (await api.http.get(link)).text
    bad = await api.http.get(f"{PATH}?t=%3Cscript%3E")
    assert (bad.status_code, "<script>" in bad.text) == (400, False)


async def test_too_many_forms_of_one_address_get_a_page_that_says_so(make_api: MakeApi, services: Services) -> None:
    api = await make_api(CODE_LIMIT="2")
    link = await link_of(services, api, "forgot-password")
    answers = [await post(api, link) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[2].headers["retry-after"]) > 0


async def test_a_form_is_small_and_a_form(api: Api, services: Services) -> None:
    link = await link_of(services, api, "forgot-password")
    assert (await post(api, link, password="x" * 9_000)).status_code == 413
    assert (await api.http.post(link, json={}, headers=OWN)).status_code == 415
    assert (await api.http.get(f"{PATH}?x=1")).status_code == 422

"""IDP_BIND_BROWSER: only the browser that asked for a sign-in can finish it."""

import time
from http.cookies import SimpleCookie

import pytest

from tests.web.sign_in.conftest import MakeSite
from tests.web.sign_in.site import Site, ending

COOKIE = "__Host-sign-in"


@pytest.fixture
async def bound(make_site: MakeSite) -> Site:
    return await make_site(IDP_BIND_BROWSER="true")


async def begun(site: Site, cookie: str | None = None) -> tuple[str, str]:
    """The authorize URL, and the value that the browser keeps."""
    headers = {"cookie": f"{COOKIE}={cookie}"} if cookie else {}
    response = await site.login_idp(headers=headers)
    # The client of the tests keeps cookies, as a browser does; here each request says what it brings.
    site.api.http.cookies.clear()
    morsel = SimpleCookie(response.headers["set-cookie"])[COOKIE]
    assert (morsel["secure"], morsel["httponly"], morsel["path"], morsel["domain"]) == (True, True, "/", "")
    assert (morsel["samesite"].lower(), morsel["max-age"]) == ("lax", "600")
    return response.json()["url"], morsel.value


async def finished(site: Site, url: str, cookie: str | None, account: str = "ada") -> str | None:
    headers = {"cookie": f"{COOKIE}={cookie}"} if cookie else {}
    return ending(await site.finish(await site.answer(url, account), headers=headers)).error


async def test_by_default_no_cookie_is_set(site: Site) -> None:
    assert "set-cookie" not in (await site.login_idp()).headers


async def test_the_browser_that_asked_can_finish(bound: Site) -> None:
    url, cookie = await begun(bound)
    assert await finished(bound, url, cookie) is None


@pytest.mark.parametrize("cookie", [None, "x" * 43, "short", "a b; c"])
async def test_another_browser_cannot(bound: Site, cookie: str | None) -> None:
    url, _ = await begun(bound)
    assert await finished(bound, url, cookie) == "authentication_failed"
    assert bound.provider.calls["token"] == 0
    assert bound.users() == []


async def test_two_tabs_of_one_browser_can_both_finish(bound: Site) -> None:
    first, cookie = await begun(bound)
    second, same = await begun(bound, cookie)
    assert cookie == same
    assert await finished(bound, first, cookie) is None
    assert await finished(bound, second, cookie) is None


async def test_an_odd_cookie_is_replaced(bound: Site) -> None:
    _, cookie = await begun(bound, "chosen-by-somebody")
    assert len(cookie) == 43


async def test_n20_other_cookies_cost_nothing_and_hide_nothing(bound: Site) -> None:
    """`http.cookies` of Python before 3.11.10 needs ten seconds for this one, and the square of them for twice as much."""
    odd = 'odd="' + '\\"' * 40_000 + '"'
    path = f"/auth-collections/login-idp?project_id={bound.api.project.id}"
    started = time.process_time()
    answer = await bound.api.http.get(path, headers={"cookie": f"{odd}; {COOKIE}={'a' * 43}; b=c"})
    assert time.process_time() - started < 3
    assert answer.status_code == 200
    assert f"{COOKIE}={'a' * 43};" in answer.headers["set-cookie"]

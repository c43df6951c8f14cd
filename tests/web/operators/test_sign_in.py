"""Signing in at the console: cookies, stages, confirmation, and what ends a session."""

from tests.web.operators.conftest import Browse, Console


async def test_the_first_owner_signs_in_and_out(owner: Console, browse: Browse) -> None:
    me = (await owner.get("/admin/v1/session")).json()
    assert (me["stage"], me["operator"]["email"]) == ("full", "owner@example.com")
    assert me["access"]["*"]["deployment"] == "write"
    other = browse()
    answer = await other.sign_in()
    assert answer.status_code == 200, answer.text
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-console_")
    assert {part.strip() for part in cookie.split(";")[1:]} == {
        "HttpOnly",
        "Max-Age=86400",
        "Path=/",
        "SameSite=strict",
        "Secure",
    }
    out = await other.delete("/admin/v1/session")
    assert (out.status_code, out.headers["clear-site-data"]) == (204, '"cache"')
    assert (await other.get("/admin/v1/session")).status_code == 401

"""Wherever a password is hashed: what cannot be done in time is refused, changes nothing, and is done when asked again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from service.errors import Busy
from service.services import Services
from tests.conftest import BASE_URL, Api
from tests.web.flows.mailbox import ask, newest

PASSWORD, NEW = "correct horse", "a better password"


@contextmanager
def busy(services: Services) -> Iterator[None]:
    """As with more waiting for a thread than may wait."""

    async def refuse(*_: Any) -> Any:
        raise Busy(retry_after=1)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(services.accounts.passwords, "_run", refuse)
        yield


async def send(services: Services, api: Api, at: str) -> Any:
    """Returns a function that sends the request, as often as it is called."""
    bearer = {"authorization": f"Bearer {(await api.signup()).json()['access_token']}"}
    user_id = str((api.database["users"].find_one() or {})["_id"])
    server = {"x-api-key": api.key}
    asked = await ask(api, "forgot-password", email="ann@example.com")
    mail = await newest(services, api, "ann@example.com")
    link, own = mail.link.removeprefix(BASE_URL), {"origin": BASE_URL, "sec-fetch-site": "same-origin"}
    requests: dict[str, tuple[str, str, dict[str, Any]]] = {
        "signup": ("POST", "signup", {"json": {"email": "new@example.com", "password": PASSWORD}, "headers": server}),
        "login": ("POST", "login", {"json": {"email": "ann@example.com", "password": PASSWORD}, "headers": server}),
        "step-up": ("POST", "user/step-up", {"json": {"password": PASSWORD}, "headers": bearer}),
        "own password": (
            "POST",
            "user/password",
            {"json": {"current_password": PASSWORD, "password": NEW}, "headers": bearer},
        ),
        "reset": (
            "POST",
            "reset-password",
            {"json": {"flow_id": asked.json()["flow_id"], "code": mail.code, "password": NEW}, "headers": server},
        ),
        "link": ("POST", link.removeprefix("/auth-collections/"), {"data": {"password": NEW}, "headers": own}),
        "creation": ("POST", "users", {"json": {"email": "new@example.com", "password": NEW}, "headers": server}),
        "replacement": ("PUT", f"users/{user_id}/password", {"json": {"password": NEW}, "headers": server}),
    }
    method, path, sent = requests[at]

    async def again() -> httpx2.Response:
        return await api.http.request(method, f"/auth-collections/{path}", **sent)

    return again


@pytest.mark.parametrize(
    ("at", "status"),
    [
        *(("signup", 201), ("login", 200), ("step-up", 200), ("own password", 200), ("reset", 204), ("link", 303)),
        *(("creation", 201), ("replacement", 204)),
    ],
)
async def test_a_password_that_cannot_be_hashed_in_time(api: Api, services: Services, at: str, status: int) -> None:
    again = await send(services, api, at)
    before = list(api.database["users"].find({}, {"last_sign_in_at": 0}))
    with busy(services):
        refused = await again()
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "1"
    # A browser is shown a page.
    assert "busy" in refused.text if at != "link" else "<h1>" in refused.text
    assert list(api.database["users"].find({}, {"last_sign_in_at": 0})) == before
    assert (await again()).status_code == status

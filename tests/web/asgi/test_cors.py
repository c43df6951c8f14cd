"""Which pages may read an answer: those of the request's own project, whatever layer answers."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from faults.samples import FORM_TYPE, account, file_part, form
from service.app import create_app
from service.errors import Unavailable
from service.services import Services
from service.settings import Settings
from service.web.asgi import request_context
from service.web.asgi.deadlines import Deadlines
from tests.conftest import BASE_URL, Api, MakeApi

ORIGIN = "https://app.example.com"
ELSEWHERE = "https://elsewhere.example.com"


@pytest.fixture
async def api(make_api: MakeApi) -> Api:
    """A project whose page is at ORIGIN, beside one whose page is ELSEWHERE."""
    await make_api(CORS_ORIGINS=ELSEWHERE)
    return await make_api(CORS_ORIGINS=ORIGIN)


async def public_paths(api: Api) -> list[str]:
    content = form(account(), file_part("picture"))
    signed_up = await api.request("POST", "/auth-collections/signup", content=content, headers=FORM_TYPE)
    file_path = str(signed_up.json()["user"]["data"]["picture"]).removeprefix(BASE_URL)
    return [file_path, f"/auth-collections/jwks/{api.project.id}"]


async def test_n13_files_and_keys_are_for_the_pages_of_their_own_project(api: Api) -> None:
    for path in await public_paths(api):
        own = await api.http.get(path, headers={"origin": ORIGIN})
        assert own.headers["access-control-allow-origin"] == ORIGIN
        other = await api.http.get(path, headers={"origin": ELSEWHERE})
        assert other.status_code == 200
        assert not [name for name in other.headers if name.startswith("access-control")]


async def test_n8_a_page_may_read_that_the_service_is_busy(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_context, "MAX_IN_FLIGHT", 0)
    answer = await api.request("GET", "/auth-collections/users", headers={"origin": ORIGIN})
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "Retry-After" in answer.headers["access-control-expose-headers"]
    assert answer.headers["retry-after"] == "1"
    stranger = await api.request("GET", "/auth-collections/users", headers={"origin": "https://nobody.example"})
    assert "access-control-allow-origin" not in stranger.headers


async def test_n8_a_page_may_read_that_its_body_came_too_slowly(api: Api, settings: Settings) -> None:
    app = create_app(settings, Deadlines(body=0.1))

    async def slowly() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(30)
        yield b"}"

    headers = {"origin": ORIGIN, "content-type": "application/json"}
    transport = httpx2.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        headers["x-api-key"] = api.key
        answer = await client.post("/auth-collections/login", content=slowly(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (408, "request_timeout")
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["connection"] == "close"
    assert "retry-after" not in answer.headers


async def test_n8_an_answer_goes_out_although_its_origin_cannot_be_looked_up(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_self: object, _origin: str) -> bool:
        raise Unavailable

    monkeypatch.setattr(type(services.base.projects), "allow_origin", fail)
    answer = await api.http.get("/auth-collections/users", headers={"origin": ORIGIN})
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key")


async def test_a_preflight_is_answered_for_a_listed_origin_only(api: Api) -> None:
    for origin, allowed in [(ORIGIN, ORIGIN), (ELSEWHERE, ELSEWHERE), ("https://nobody.example", None)]:
        headers = {"origin": origin, "access-control-request-method": "PUT"}
        answer = await api.http.options("/auth-collections/user", headers=headers)
        assert answer.status_code == 204
        assert answer.headers.get_list("vary") == ["Origin"]
        assert answer.headers.get("access-control-allow-origin") == allowed
        assert ("access-control-allow-methods" in answer.headers) == (allowed is not None)

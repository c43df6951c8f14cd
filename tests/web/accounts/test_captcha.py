"""CAPTCHA, and row J20: a payload that is replayed, edited, of another flow or project, or expired; a broken provider."""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import altcha
import httpx2
import pytest

from service.domain.captcha import altcha as proofs
from service.domain.captcha import captcha
from tests.conftest import Api, CommandRecorder, MakeApi

CHALLENGE, METHODS = "/auth-collections/captcha", "/auth-collections/sign-in-methods"
FAILED = (400, "captcha_failed")
ANN = {"email": "ann@example.com", "password": "correct horse"}
GENUINE = "a token of the widget"


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof of work that a test finds at once."""
    monkeypatch.setattr(proofs, "COST", 1)


@pytest.fixture
async def asking(make_api: MakeApi, cheap: None) -> Api:
    return await make_api(CAPTCHA="altcha", CAPTCHA_ON="signup,login,mail")


async def challenge(api: Api, flow: str = "signup") -> dict[str, Any]:
    answer = await api.http.get(f"{CHALLENGE}?flow={flow}&project_id={api.project.id}")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    return dict(answer.json())


async def solve(api: Api, flow: str = "signup") -> str:
    """A token as the widget makes it."""
    found = altcha.Challenge.from_dict(await challenge(api, flow))
    solution = altcha.solve_challenge(found)
    assert solution is not None
    return altcha.Payload(found, solution).to_base64()


async def send(api: Api, path: str, body: Mapping[str, Any], token: str | None = None, **more: Any) -> httpx2.Response:
    """A request of a page."""
    headers = {"x-api-key": api.publishable_key} | ({} if token is None else {"x-captcha-token": token})
    return await api.http.post(f"/auth-collections/{path}", json=body, headers=headers | more)


def told(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


def edited(token: str, **changes: Any) -> str:
    payload = json.loads(b64decode(token))
    payload["challenge"]["parameters"] |= changes
    return b64encode(json.dumps(payload).encode()).decode()


async def test_pages_solve_one_for_each_flow_and_servers_none(asking: Api) -> None:
    assert told(await send(asking, "signup", ANN)) == FAILED
    assert (await send(asking, "signup", ANN, await solve(asking))).status_code == 201
    assert told(await send(asking, "login", ANN)) == FAILED
    in_body = {**ANN, "captcha_token": await solve(asking, "login")}
    assert (await send(asking, "login", in_body)).status_code == 200
    mail = {"email": ANN["email"]}
    for path in ("forgot-password", "login-email", "verify-email"):
        assert told(await send(asking, path, mail)) == FAILED
        assert (await send(asking, path, mail, await solve(asking, "mail"))).status_code == 202
    # The secret key stays on servers.
    assert (await asking.login()).status_code == 200
    assert (await asking.signup("bo@example.com")).status_code == 201


async def test_a_user_needs_one_for_the_mail_to_another_address(asking: Api) -> None:
    token = (await asking.signup()).json()["access_token"]
    body = {"email": "other@example.com"}
    assert told(await asking.as_user(token, "POST", "/auth-collections/user/email", json=body)) == FAILED
    solved = body | {"captcha_token": await solve(asking, "mail")}
    assert (await asking.as_user(token, "POST", "/auth-collections/user/email", json=solved)).status_code == 202


async def test_a_signup_stores_every_field_of_its_body(asking: Api) -> None:
    """So its token stands in the header alone."""
    body = {**ANN, "captcha_token": await solve(asking)}
    assert told(await send(asking, "signup", body)) == FAILED


async def test_a_solution_is_good_once(asking: Api) -> None:
    token = await solve(asking)
    bodies = [{**ANN, "email": f"u{number}@example.com"} for number in range(100)]
    answers = await asyncio.gather(*(send(asking, "signup", body, token) for body in bodies))
    assert sorted(each.status_code for each in answers) == [201] + [400] * 99
    assert asking.database["users"].count_documents({}) == 1


async def test_a_token_that_is_no_solution_is_refused_before_anything_is_done(
    asking: Api, make_api: MakeApi, commands: CommandRecorder
) -> None:
    other = await make_api(CAPTCHA="altcha")
    good = await solve(asking)
    commands.commands.clear()
    for token in (
        await solve(asking, "login"),
        await solve(other),
        edited(good, cost=0),
        edited(good, keyPrefix=""),
        edited(good, expiresAt=9_999_999_999),
        edited(good, data={"flow": "login", "project": asking.project.id}),
        good[:-8] + "AAAAAAA=",
        "e30=",
        b64encode(b'{"challenge": [], "solution": 1}').decode(),
        b64encode(b'{"challenge": {"parameters": {"cost": 1e999}}}').decode(),
        b64encode(b"[" * 5_000).decode(),
        "é".encode().hex(),
        "A" * 9_000,
        "",
    ):
        assert told(await send(asking, "signup", ANN, token)) == FAILED, token
    assert not [name for name, command in commands.commands if command.get(name) in {"users", "used_challenges"}]
    # None of them spent the good one.
    assert (await send(asking, "signup", ANN, good)).status_code == 201


async def test_a_challenge_ends_after_five_minutes(asking: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "LIFE_SECONDS", -1)
    assert told(await send(asking, "signup", ANN, await solve(asking))) == FAILED


async def test_a_bad_body_spends_no_solution(asking: Api) -> None:
    token = await solve(asking)
    assert (await send(asking, "signup", {**ANN, "password": "short"}, token)).status_code == 422
    # The address is judged after it.
    assert (await send(asking, "signup", ANN, token)).status_code in {201, 400}


async def test_the_challenge_is_one_of_the_contract(make_api: MakeApi) -> None:
    api = await make_api(CAPTCHA="altcha")
    parameters = (await challenge(api))["parameters"]
    assert (parameters["algorithm"], parameters["cost"], parameters["keyPrefix"]) == ("PBKDF2/SHA-256", 5_000, "00")
    assert parameters["data"] == {"flow": "signup", "project": api.project.id}
    answers = [await api.http.get(f"{CHALLENGE}?project_id={api.project.id}{flow}") for flow in ("&flow=login", "")]
    assert [told(each) for each in answers] == [(404, "captcha_off"), (422, "validation_error")]


async def test_a_project_without_one_is_as_it_was(api: Api) -> None:
    assert told(await api.http.get(f"{CHALLENGE}?flow=signup&project_id={api.project.id}")) == (404, "captcha_off")
    assert "captcha" not in (await api.http.get(f"{METHODS}?project_id={api.project.id}")).json()
    assert (await send(api, "signup", ANN)).status_code == 201


# The third parties.
class Verifier:
    """A siteverify endpoint. It keeps the forms that it was sent."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.forms: list[dict[str, list[str]]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        self.forms.append(parse_qs((await reader.readexactly(length)).decode()))
        writer.write(self.answer)
        writer.close()


@asynccontextmanager
async def verifying(monkeypatch: pytest.MonkeyPatch, body: bytes, status: str = "200 OK") -> AsyncIterator[Verifier]:
    head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    verifier = Verifier(head.encode() + body)
    server = await asyncio.start_server(verifier.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/siteverify"
    monkeypatch.setattr(captcha, "SITEVERIFY", {"turnstile": url, "hcaptcha": url})
    try:
        yield verifier
    finally:
        server.close()


def provided(kind: str) -> dict[str, str]:
    hosts = "shop.example,www.shop.example"
    return {"CAPTCHA": kind, "CAPTCHA_SITE_KEY": "site", "CAPTCHA_SECRET": "hidden", "CAPTCHA_HOSTS": hosts}


@pytest.mark.parametrize("kind", ["turnstile", "hcaptcha"])
async def test_a_provider_is_asked_with_the_secret(
    make_api: MakeApi, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    api = await make_api(**provided(kind))
    shown = (await api.http.get(f"{METHODS}?project_id={api.project.id}")).json()["captcha"]
    assert shown == {"kind": kind, "site_key": "site", "on": ["signup"]}
    async with verifying(monkeypatch, b'{"success": true, "hostname": "shop.example"}') as verifier:
        assert (await send(api, "signup", ANN, GENUINE)).status_code == 201
    assert verifier.forms == [{"secret": ["hidden"], "response": [GENUINE]}]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"success": false, "hostname": "shop.example"}', "200 OK"),
        (b'{"success": "true", "hostname": "shop.example"}', "200 OK"),
        (b'{"success": true, "hostname": "evil.example"}', "200 OK"),
        (b'{"success": true}', "200 OK"),
        (b"<html>", "200 OK"),
        (b'{"success": true, "hostname": "shop.example"}', "500 Internal Server Error"),
        (b'{"success": true, "hostname": "shop.example"}' + b" " * 10_000_000, "200 OK"),
    ],
    ids=["no", "a text", "another host", "no host", "HTML", "an error", "10 MB"],
)
async def test_every_other_answer_refuses(
    make_api: MakeApi, monkeypatch: pytest.MonkeyPatch, body: bytes, status: str
) -> None:
    api = await make_api(**provided("turnstile"))
    async with verifying(monkeypatch, body, status):
        assert told(await send(api, "signup", ANN, GENUINE)) == FAILED
    # The provider is away.
    assert told(await send(api, "signup", ANN, GENUINE)) == FAILED
    assert api.database["users"].count_documents({}) == 0


async def test_a_provider_needs_its_settings(make_api: MakeApi) -> None:
    with pytest.raises(Exception, match="CAPTCHA_SITE_KEY: CAPTCHA=turnstile needs it"):
        await make_api(CAPTCHA="turnstile")

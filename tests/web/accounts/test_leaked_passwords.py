"""PASSWORD_CHECK=leaked, and row J21: the range service is down, slow, odd or large."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from prometheus_client import REGISTRY

from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.flows.mailbox import ask, newest

GOOD, LEAKED, PADDED = "a better password", "correct horse leaked", "only a line of padding"
FAULT = {
    "loc": ["body", "password"],
    "msg": "This password is in a published leak; choose another",
    "type": "password_leaked",
}
REFUSED = (422, {"detail": [FAULT], "code": "validation_error"})
COMMON = "password_common"
Answer = Callable[[str], bytes]


def digest(password: str) -> str:
    return hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()


def plain(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\n{more}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body


def ranges(prefix: str) -> bytes:
    """As the real one: lines of the other 35 digits and a count, padded with lines of count 0."""
    known = {digest(LEAKED): 3, digest(PADDED): 0}
    lines = [f"{found[5:]}:{count}" for found, count in known.items() if found.startswith(prefix)]
    return plain("\r\n".join(["0" * 35 + ":7", *lines, "F" * 35 + ":0"]).encode())


class RangeService:
    """The heads of the requests that it was sent, and its answer to each."""

    def __init__(self, answer: Answer) -> None:
        self.heads: list[str] = []
        self.answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        self.heads.append(head)
        writer.write(self.answer(head.split(" ")[1].rpartition("/")[2].upper()))
        writer.close()


@asynccontextmanager
async def serving(services: Services, answer: Answer = ranges) -> AsyncIterator[RangeService]:
    known = RangeService(answer)
    server = await asyncio.start_server(known.serve, "127.0.0.1", 0)
    services.accounts.leaks.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/range/"
    try:
        yield known
    finally:
        server.close()


@pytest.fixture
async def checking(make_api: MakeApi) -> Api:
    return await make_api(PASSWORD_CHECK="leaked")


def told(answer: Any) -> tuple[int, Any]:
    return answer.status_code, answer.json()


async def test_a_leaked_password_is_refused_wherever_one_is_set(checking: Api, services: Services) -> None:
    async with serving(services) as known:
        assert told(await checking.signup(password=LEAKED)) == REFUSED
        assert [(await checking.signup(f"{n}@example.com", p)).status_code for n, p in enumerate((GOOD, PADDED))] == [
            201
        ] * 2
        signed_in = (await checking.signup(password=GOOD)).json()
        # A taken address and a free one are answered alike.
        assert told(await checking.signup(password=LEAKED)) == REFUSED
        new = {"email": "bo@example.com", "password": LEAKED}
        assert told(await checking.request("POST", "/auth-collections/users", json=new)) == REFUSED
        one = f"/auth-collections/users/{signed_in['user']['id']}/password"
        assert told(await checking.request("PUT", one, json={"password": LEAKED})) == REFUSED
        own = {"current_password": GOOD, "password": LEAKED}
        token = signed_in["access_token"]
        assert told(await checking.as_user(token, "POST", "/auth-collections/user/password", json=own)) == REFUSED
        flow_id = (await ask(checking, "forgot-password", email="ann@example.com")).json()["flow_id"]
        reset = {"flow_id": flow_id, "code": (await newest(services, checking)).code}
        assert told(await ask(checking, "reset-password", password=LEAKED, **reset)) == REFUSED
        # The refusal spent nothing.
        assert (await ask(checking, "reset-password", password="another good one", **reset)).status_code == 204
    # Five digits of a hash leave; a range is asked once an hour.
    paths = [head.split(" ")[1] for head in known.heads]
    assert sorted(paths) == sorted(
        {f"/range/{digest(p)[:5].lower()}" for p in (GOOD, PADDED, LEAKED, "another good one")}
    )
    assert all("add-padding: true" in head and "authorization" not in head for head in known.heads)


async def test_a_project_that_does_not_ask_for_it_sends_nothing(make_api: MakeApi, services: Services) -> None:
    api = await make_api(PASSWORD_CHECK="common")
    async with serving(services) as known:
        assert (await api.signup(password=LEAKED)).status_code == 201
        assert (await api.login(password=LEAKED)).status_code == 200
    assert known.heads == []


BROKEN: dict[str, Answer] = {
    "closes": lambda _: b"",
    "an error": lambda _: plain(b"oops", "500 Internal Server Error"),
    "a redirect": lambda prefix: plain(b"", "302 Found", f"location: /range/{prefix}?again\r\n"),
    "10 MB": lambda _: plain((b"A" * 35 + b":1\r\n") * 256_000),
    "another protocol": lambda _: b"220 mail.example ESMTP\r\n",
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_without_a_usable_answer_the_list_decides_alone(checking: Api, services: Services, kind: str) -> None:
    counted = ("password_range_questions_total", {"outcome": "failed"})
    before = REGISTRY.get_sample_value(*counted) or 0
    async with serving(services, BROKEN[kind]):
        assert (await checking.signup(password=LEAKED)).status_code == 201
        refused = await checking.signup("bo@example.com", "password1")
    assert refused.json()["detail"][0]["type"] == COMMON
    assert REGISTRY.get_sample_value(*counted) == before + 1


async def test_a_service_that_is_silent_is_left_after_its_time(
    checking: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.domain.accounts.leaked_passwords.TOTAL_SECONDS", 0.05)
    ended = asyncio.Event()

    async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        ended.set()
        writer.close()

    server = await asyncio.start_server(keep_silent, "127.0.0.1", 0)
    services.accounts.leaks.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    assert (await checking.signup(password=LEAKED)).status_code == 201
    # The connection is closed, not left to its end.
    await asyncio.wait_for(ended.wait(), 10)
    server.close()

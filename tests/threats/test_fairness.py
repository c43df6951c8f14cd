"""Resources that one project cannot take from the others: hashing threads, and requests in flight by slow uploads."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from faults.samples import FORM_TYPE, account, file_part, form, png
from service.bounds import MAX_HASHES_WAITING, MAX_UPLOADS
from service.domain.accounts.passwords import Passwords
from service.domain.background import NICENESS
from service.services import Services
from tests.conftest import MakeApi
from tests.threats.conftest import assert_refused


@pytest.fixture
def hashing(services: Services, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Slow enough for a queue to form."""
    passwords = Passwords(cost=9)
    for name in ("hash", "verify"):
        monkeypatch.setattr(services.accounts.passwords, name, getattr(passwords, name))
    yield
    passwords.close()


async def test_n22_one_projects_logins_leave_others_their_turn(make_api: MakeApi, hashing: None) -> None:
    """Others wait for a few hashes, not for the queue, and are not refused because it is full."""
    busy, other = await make_api(), await make_api()
    for api in (busy, other):
        assert (await api.signup()).status_code == 201
    answers: list[httpx2.Response] = []

    async def log_in() -> None:
        answers.append(await busy.login())

    logins = [asyncio.create_task(log_in()) for _ in range(2 * MAX_HASHES_WAITING)]
    # Logins past the bound are refused first, so the queue is full.
    while not answers:  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(0.001)
    assert (await other.login()).status_code == 200
    hashed = sum(answer.status_code == 200 for answer in answers)
    await asyncio.gather(*logins)
    assert hashed < MAX_HASHES_WAITING / 2
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {200, 503}
    assert statuses.count(200) >= MAX_HASHES_WAITING
    assert_refused(next(answer for answer in answers if answer.status_code == 503), 503)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no priority of their own")
async def test_n22_hashing_gives_way_to_requests() -> None:
    passwords, hashing = Passwords(cost=4), set[int]()
    await passwords.hash("correct horse")
    for thread in threading.enumerate():
        if thread.name.startswith("bcrypt") and thread.native_id:
            hashing.add(os.getpriority(os.PRIO_PROCESS, thread.native_id))
    mine = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    passwords.close()
    # The service that other tests share has such threads, too.
    assert hashing == {min(mine + NICENESS, 19)}


async def test_n22_one_projects_uploads_leave_others_theirs(make_api: MakeApi) -> None:
    busy, other = await make_api(), await make_api()
    rest, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def slowly(body: bytes) -> AsyncIterator[bytes]:
        yield body[:-5]
        begun.release()
        await rest.wait()
        yield body[-5:]

    def upload(number: int) -> "asyncio.Task[httpx2.Response]":
        body = form(account(f"user{number}@example.com"), file_part("a", content=png(1_000)))
        sent = busy.request("POST", "/auth-collections/signup", content=slowly(body), headers=FORM_TYPE)
        return asyncio.create_task(sent)

    uploads = [upload(number) for number in range(MAX_UPLOADS)]
    for _ in uploads:
        await begun.acquire()
    body = form(account(), file_part("a", content=png(1_000)))
    refused = await busy.request("POST", "/auth-collections/signup", content=body, headers=FORM_TYPE)
    assert_refused(refused, 503)
    assert (refused.json()["code"], refused.headers["retry-after"]) == ("busy", "1")
    accepted = await other.request("POST", "/auth-collections/signup", content=body, headers=FORM_TYPE)
    assert accepted.status_code == 201
    rest.set()
    assert {(await each).status_code for each in uploads} == {201}
    accepted = await busy.request("POST", "/auth-collections/signup", content=body, headers=FORM_TYPE)
    assert accepted.status_code == 201

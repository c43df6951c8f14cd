"""Rows A1, A2 and A4 to A7: addresses, passwords, timing, and many requests at once."""

import asyncio
import time
from collections.abc import Iterator

import bcrypt
import httpx2
import pytest

from service.bounds import MAX_HASHES_WAITING
from service.domain.accounts.passwords import Passwords
from service.services import Services
from tests.conftest import Api
from tests.threats.conftest import Victim, assert_refused


async def test_a1_one_address_in_two_spellings_is_one_account(fresh_victim: Victim) -> None:
    assert (await fresh_victim.api.signup("Bob@x.com")).status_code == 201
    assert_refused(await fresh_victim.api.signup("bob@X.COM"), 400)
    assert_refused(await fresh_victim.api.signup("  bob@x.com "), 400)
    assert (await fresh_victim.api.login(" BOB@x.com")).json()["user"]["email"] == "bob@x.com"
    assert (await fresh_victim.api.users("email_eq=BOB@X.com")).json()["total"] == 1


@pytest.mark.parametrize(
    "email",
    [
        *("", " ", "bob", "bob@", "@x.com", "bob@x", "bob@@x.com", "bob x@x.com", "bob@x..com", "bob@-x.com"),
        *(
            "bob@x.com\n",
            "\tbob@x.com",
            "bo\0b@x.com",
            "bob@x.com\x7f",
            "bob@localhost",
            "<bob@x.com>",
            "bob@[127.0.0.1]",
        ),
        *("a" * 65 + "@x.com", "a@" + ".".join(["b" * 60] * 4) + ".example.com" + "c" * 10, "x" * 300),
    ],
)
async def test_a1_what_is_no_address(victim: Victim, email: str) -> None:
    for response in (await victim.api.signup(email), await victim.api.login(email)):
        assert_refused(response, 422)
        assert response.json()["detail"][0]["loc"] == ["body", "email"]


async def test_a1_the_longest_address(fresh_victim: Victim) -> None:
    def address(length: int) -> str:
        domain = ".".join(["b" * 60, "c" * 60, "d" * 60])
        return "a" * (length - len(domain) - 5) + "@" + domain + ".com"

    assert len(address(247)) == 247
    assert (await fresh_victim.api.signup(address(247))).status_code == 201
    assert_refused(await fresh_victim.api.signup(address(255)), 422)


@pytest.mark.parametrize(
    ("password", "more"), [("p" * 72, "p" * 73), ("é" * 36, "é" * 36 + "x"), ("\U0001f600" * 18, "\U0001f600" * 19)]
)
async def test_a2_72_bytes_log_in_and_72_and_more_never(fresh_victim: Victim, password: str, more: str) -> None:
    assert (await fresh_victim.api.signup("new@example.com", password)).status_code == 201
    assert (await fresh_victim.api.login("new@example.com", password)).status_code == 200
    assert_refused(await fresh_victim.api.login("new@example.com", more), 401)
    assert_refused(await fresh_victim.api.login("new@example.com", password[:-1]), 401)
    assert_refused(await fresh_victim.api.login("new@example.com", password + "\0"), 401)


@pytest.mark.parametrize("password", ["p" * 73, "é" * 37, "with\0nul and long", "x" * 100_000, "\0" * 8])
async def test_a2_passwords_bcrypt_cannot_hold(victim: Victim, password: str) -> None:
    assert_refused(await victim.api.signup("new@example.com", password), 422)
    assert_refused(await victim.api.login("victim@example.com", password), 401)


@pytest.fixture
def slow_hashing(fresh_victim: Victim, services: Services, monkeypatch: pytest.MonkeyPatch) -> Iterator[Victim]:
    """Hashing ten times as slow as a profile, instead of the tests' own quick one."""
    slow = Passwords(cost=9)
    for name in ("hash", "verify"):
        monkeypatch.setattr(services.accounts.passwords, name, getattr(slow, name))
    yield fresh_victim
    slow.close()


async def test_a4_two_hundred_logins_leave_other_requests_their_time(slow_hashing: Victim) -> None:
    """Every login is answered, too many at once with an early 503; meanwhile profiles are served all the time.

    A hash takes ten times as long as a profile, on a busy machine too; so profiles are counted, not timed: were the
    event loop to hash, there would be fewer of them than of hashes. `scripts/bench --logins` measures the p99.
    """
    await slow_hashing.api.signup("slow@example.com", "slow password")
    answers, profiles = list[httpx2.Response](), 0

    async def log_in() -> None:
        answers.append(await slow_hashing.api.login("slow@example.com", "slow password"))

    logins = asyncio.gather(*(log_in() for _ in range(200)))
    while not logins.done():
        assert (await slow_hashing.as_user("GET")).status_code == 200
        profiles += 1
    await logins
    statuses = [answer.status_code for answer in answers]
    hashed = statuses.count(200)
    assert set(statuses) == {200, 503}
    assert MAX_HASHES_WAITING <= hashed < 200
    assert profiles > hashed
    assert 503 not in statuses[-hashed // 2 :]
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert_refused(refused, 503)
    assert int(refused.headers["retry-after"]) > 0


async def test_a5_every_failing_login_takes_as_long(slow_hashing: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong password, an impossible one, and an account that has none: each costs one check of a hash of one cost.

    The processor's time is compared at its least, which other load on the machine does not lengthen.
    """
    api, checked = slow_hashing.api, list[bytes]()
    await api.signup("slow@example.com", "slow password")
    await api.signup("provider@example.com", "slow password")
    api.database["users"].update_one({"email": "provider@example.com"}, {"$set": {"password": "provider@example.com"}})
    real = bcrypt.checkpw

    def recorded(raw: bytes, stored: bytes) -> bool:
        checked.append(stored[:7])
        return real(raw, stored)

    monkeypatch.setattr(bcrypt, "checkpw", recorded)
    attempts = [
        ("slow@example.com", "wrong password"),
        ("slow@example.com", "x" * 73),
        ("provider@example.com", "provider@example.com"),
    ]
    least = dict.fromkeys(attempts, float("inf"))
    for _ in range(7):
        for attempt in attempts:
            started = time.process_time()
            assert_refused(await api.login(*attempt), 401)
            least[attempt] = min(least[attempt], time.process_time() - started)
    assert checked == [b"$2b$09$"] * 21
    assert max(least.values()) < 1.5 * min(least.values())


async def test_a6_fifty_signups_with_one_address_make_one_account(fresh_victim: Victim) -> None:
    for round_ in range(20):
        emails = [f"Twin{round_}@example.com" if n % 2 else f"twin{round_}@EXAMPLE.com" for n in range(50)]
        answers = await asyncio.gather(*(fresh_victim.api.signup(email) for email in emails))
        assert sorted(answer.status_code for answer in answers) == [201] + [400] * 49
        assert fresh_victim.api.database["users"].count_documents({"email": f"twin{round_}@example.com"}) == 1


async def test_a7_two_updates_of_different_fields_both_survive(fresh_victim: Victim) -> None:
    for round_ in range(200):
        one, two = await asyncio.gather(
            fresh_victim.as_user("PUT", json={"left": round_}), fresh_victim.as_user("PUT", json={"right": round_})
        )
        assert (one.status_code, two.status_code) == (200, 200)
        data = (await fresh_victim.as_user("GET")).json()["data"]
        assert (data["left"], data["right"], data["name"]) == (round_, round_, "Vic")


async def test_i4_an_api_key_reaches_its_own_project_only(api: Api, victim: Victim) -> None:
    assert (await api.login("victim@example.com", "victim's password")).status_code == 404
    assert (await api.users()).json()["total"] == 0

"""Counting on real counters: several holders stand for several workers, and a clock that tests set for the time."""

import asyncio
from collections import Counter
from dataclasses import dataclass

import pytest

from service.domain.limits.leases import IDLE_SECONDS, REFUSAL_SECONDS
from service.domain.limits.limiter import Limits, Quota
from service.domain.limits.policies import ANONYMOUS, AUTH, DAILY, DAY, HOUR, LOGIN, SIGNUP, Policy
from service.domain.projects.lookup import Project
from service.services import Services
from service.storage.counters import Counters
from tests.conftest import CommandRecorder, MakeApi


@dataclass
class Clock:
    now: float = 1_000_000 * HOUR + 10.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def workers(services: Services, clock: Clock) -> list[Limits]:
    return [Limits(Counters(services.base.databases), clock) for _ in range(3)]


async def _project(make_api: MakeApi, **settings: str) -> Project:
    return (await make_api(**settings)).project


async def _passed(workers: list[Limits], project: Project, policy: Policy, requests: int) -> int:
    """The number of parallel requests that pass, dealt to the workers in turn."""
    counted = await asyncio.gather(
        *(workers[i % len(workers)].count(project, policy, "192.0.2.1") for i in range(requests))
    )
    return Counter(quotas[-1].exceeded for quotas in counted)[False]


@pytest.mark.parametrize(
    ("policy", "project_settings", "limit"),
    [
        pytest.param(SIGNUP, {"SIGNUP_LIMIT": "10"}, 10, id="signup"),
        pytest.param(LOGIN, {"LOGIN_LIMIT": "20"}, 20, id="login"),
        pytest.param(AUTH, {"AUTH_LIMIT": "1000"}, 1000, id="auth"),
        pytest.param(AUTH, {"AUTH_LIMIT": "1"}, 1, id="auth of one"),
        pytest.param(DAILY, {"DAILY_LIMIT": "345"}, 345, id="daily"),
    ],
)
async def test_exactly_the_limit_passes_over_all_workers(
    make_api: MakeApi, workers: list[Limits], policy: Policy, project_settings: dict[str, str], limit: int
) -> None:
    project = await _project(make_api, **project_settings)
    assert await _passed(workers, project, policy, limit * 2 + 50) == limit


async def test_addresses_and_projects_are_counted_apart(make_api: MakeApi, workers: list[Limits]) -> None:
    one, two = await _project(make_api, LOGIN_LIMIT="1"), await _project(make_api, LOGIN_LIMIT="1")
    counted = [
        (await workers[0].count(project, LOGIN, address))[-1].exceeded
        for project, address in [(one, "a"), (one, "b"), (two, "a"), (one, "a")]
    ]
    assert counted == [False, False, False, True]


async def test_a_new_window_starts_anew(make_api: MakeApi, workers: list[Limits], clock: Clock) -> None:
    project = await _project(make_api, AUTH_LIMIT="5", TIER="free")
    assert await _passed(workers, project, AUTH, 20) == 5
    clock.now += HOUR
    assert await _passed(workers, project, AUTH, 20) == 5


async def test_no_limit_counts_nothing(make_api: MakeApi, workers: list[Limits]) -> None:
    project = await _project(make_api)
    assert await workers[0].count(project, AUTH, "") == []


async def test_quotas_say_how_the_request_stands(make_api: MakeApi, workers: list[Limits], clock: Clock) -> None:
    project = await _project(make_api, LOGIN_LIMIT="2", TIER="free")
    day_ends_in = DAY - int(clock.now) % DAY
    assert await workers[0].count(project, LOGIN, "a") == [
        Quota(LOGIN, 2, 1, HOUR - 10),
        Quota(DAILY, 1000, 999, day_ends_in),
    ]
    await workers[0].count(project, LOGIN, "a")
    assert await workers[0].count(project, LOGIN, "a") == [Quota(LOGIN, 2, 0, HOUR - 10, exceeded=True)]


async def test_what_one_limit_refuses_the_daily_limit_does_not_count(make_api: MakeApi, workers: list[Limits]) -> None:
    project = await _project(make_api, LOGIN_LIMIT="2", TIER="free")
    # One worker, for what another holds of the day is left out of what this one says.
    await _passed(workers[:1], project, LOGIN, 50)
    assert (await workers[0].count(project, DAILY, ""))[0].remaining == 997


async def test_an_idle_worker_gives_back_what_it_holds(make_api: MakeApi, workers: list[Limits], clock: Clock) -> None:
    """One worker is busy, then silent; another gets every later request, and the limit is still reached exactly."""
    project = await _project(make_api, AUTH_LIMIT="200")
    assert await _passed(workers[:1], project, AUTH, 60) == 60
    first = await _passed(workers[1:2], project, AUTH, 300)
    clock.now += IDLE_SECONDS + REFUSAL_SECONDS
    await workers[0].close()
    assert first + await _passed(workers[1:2], project, AUTH, 300) == 140


async def test_a_worker_that_dies_loses_at_most_one_slice(make_api: MakeApi, workers: list[Limits]) -> None:
    project = await _project(make_api, AUTH_LIMIT="1000")
    before = await _passed(workers[:1], project, AUTH, 300)
    after = await _passed(workers[1:], project, AUTH, 2000)
    assert before == 300
    assert 1000 - 100 <= before + after <= 1000


async def test_a_lowered_limit_holds_at_once(make_api: MakeApi, workers: list[Limits]) -> None:
    generous = await _project(make_api, AUTH_LIMIT="1000")
    assert await _passed(workers, generous, AUTH, 100) == 100
    strict = await _project(make_api, AUTH_LIMIT="50")
    lowered = Project(generous.id, "", strict.settings, generous.signing_key, generous.database, generous.created_at)
    assert await _passed(workers, lowered, AUTH, 100) == 0


async def test_a_thousand_requests_ask_the_database_a_few_times(
    make_api: MakeApi, services: Services, clock: Clock, commands: CommandRecorder
) -> None:
    project = await _project(make_api, DAILY_LIMIT="100000")
    counters = Counters(services.base.databases)
    limits = Limits(counters, clock)
    commands.commands.clear()
    for _ in range(1000):
        await limits.count(project, DAILY, "")
    # Slices of 1, 4, 16, 64, 256 and 1,000: what is taken beyond the thousand is less than one slice.
    assert commands.names == ["findAndModify"] * 6
    stored = await services.base.databases.system["counters"].find_one({})
    assert stored is not None
    assert stored["used"] == 1341


async def test_who_sends_no_credential_spends_nothing_of_those_who_do(make_api: MakeApi, workers: list[Limits]) -> None:
    project = await _project(make_api, AUTH_LIMIT="100")
    for _ in range(7):
        await workers[0].count(project, AUTH, "")
    (quota, *_) = await workers[0].count(project, ANONYMOUS, "192.0.2.1")
    assert (quota.policy, quota.remaining) == (ANONYMOUS, 99)


async def test_n11_a_lease_of_the_new_window_survives_the_return_of_the_old_one(
    make_api: MakeApi, services: Services, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first idle lease is given back the window turns, and a request leases by the second one's name."""
    first, second = [await _project(make_api, AUTH_LIMIT="100") for _ in range(2)]
    counters = Counters(services.base.databases)
    limits = Limits(counters, clock)
    for project in (first, second):
        for _ in range(3):
            await limits.count(project, AUTH, "")
    clock.now += HOUR
    give_back = counters.give_back

    async def give_back_slowly(key: str, amount: int) -> None:
        if key.startswith(first.id):
            await limits.count(second, AUTH, "")
            await limits.count(second, AUTH, "")
        await give_back(key, amount)

    monkeypatch.setattr(counters, "give_back", give_back_slowly)
    before = set(map(id, limits._leases.values()))  # noqa: SLF001 - what must not be lost is held nowhere else
    await asyncio.wait_for(_return_idle(limits), 60)
    left = list(limits._leases.values())  # noqa: SLF001
    assert [lease.key.split("/")[0] for lease in left] == [second.id]
    assert not before & set(map(id, left))
    assert left[0].left > 0


async def _return_idle(limits: Limits) -> None:
    await limits.return_idle_leases()

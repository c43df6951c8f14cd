"""Background jobs: a failure is logged and counted, and the job runs again; what is for the deployment has one leader."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from faults.waiting import until, waiting_for
from service.domain.jobs import Job, Jobs, Leader, backoff
from service.errors import Unavailable
from service.services import Services
from service.storage.leases import Leases

# Not the lease of the application of the tests.
NAME = "another deployment's leader"


@pytest.fixture
def leader(services: Services, emptied: None) -> Leader:
    return Leader(Leases(services.base.databases), name=NAME)


def metric(name: str, job: str) -> float:
    return REGISTRY.get_sample_value(f"background_job_{name}", {"job": job}) or 0.0


@asynccontextmanager
async def running(jobs: list[Job], leader: Leader) -> AsyncIterator[None]:
    started = Jobs(jobs, leader, first_backoff=0.01, look=0.02)
    started.start()
    try:
        yield
    finally:
        await started.close()


class Flaky:
    """Fails so many times, then succeeds."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.runs = 0

    async def run(self) -> None:
        self.runs += 1
        if self.errors:
            raise self.errors.pop(0)


async def test_n9_a_job_that_fails_is_logged_counted_and_runs_again(leader: Leader) -> None:
    flaky = Flaky(KeyError("files"), Unavailable(), asyncio.CancelledError())
    with capture_logs() as logs:
        async with running([Job("n9", flaky.run, every=0.01)], leader):
            await until(lambda: metric("runs_total", "n9") >= 2)
    # Jobs of the application that all tests share may fail meanwhile, too.
    failed = [line for line in logs if line["event"] == "job_failed" and line["job"] == "n9"]
    assert [line["failures"] for line in failed] == [1, 2, 3]
    assert isinstance(failed[0]["exc_info"], KeyError)
    assert failed[1]["code"] == "unavailable"
    assert metric("failures_total", "n9") == 3
    assert metric("last_success_timestamp_seconds", "n9") > 1_700_000_000


async def test_a_job_without_an_interval_runs_until_it_has_succeeded_once(leader: Leader) -> None:
    flaky = Flaky(Unavailable(), Unavailable())
    async with running([Job("once", flaky.run)], leader):
        await until(lambda: metric("runs_total", "once") == 1)
        await asyncio.sleep(0.05)
    assert flaky.runs == 3


def test_the_waiting_doubles_up_to_its_bound() -> None:
    assert [backoff(failures, 1.0) for failures in (1, 2, 3, 6, 7, 99_999)] == [1, 2, 4, 32, 60, 60]


async def test_of_two_processes_one_leads(services: Services, emptied: None) -> None:
    leaders = [Leader(Leases(services.base.databases), name=NAME) for _ in range(2)]
    for each in leaders:
        await each.renew()
    assert [each.is_leading for each in leaders] == [True, False]
    await leaders[0].resign()
    await leaders[1].renew()
    assert [each.is_leading for each in leaders] == [False, True]


async def test_work_for_the_deployment_waits_for_the_lead(services: Services, leader: Leader) -> None:
    store, flaky = Leases(services.base.databases), Flaky()
    assert await store.take(NAME, "another")
    async with running([Job("lead", flaky.run, every=0.01, for_deployment=True)], leader):
        await asyncio.sleep(0.05)
        assert flaky.runs == 0
        await store.release(NAME, "another")
        await leader.renew()
        await until(lambda: flaky.runs > 0)
    assert not leader.is_leading


async def test_work_is_cancelled_when_the_lead_is_lost(services: Services, emptied: None) -> None:
    leader = Leader(Leases(services.base.databases), name=NAME, lease_seconds=0.2)
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with (
        running([Job("long", work, every=10, for_deployment=True)], leader),
        waiting_for("work that was cancelled"),
    ):
        while not begun.is_set():
            await leader.renew()
            await asyncio.sleep(0.01)
        await ended.wait()
    assert metric("runs_total", "long") == 0


async def test_a_lease_is_one_holders_until_it_is_released_or_has_run_out(services: Services, emptied: None) -> None:
    store = Leases(services.base.databases)
    assert [await store.take("x", holder) for holder in "aba"] == [True, False, True]
    await store.release("x", "b")
    assert not await store.take("x", "b")
    await store.release("x", "a")
    over = Leases(services.base.databases, lease_seconds=-1.0)
    assert await over.take("x", "b")
    assert await over.take("x", "a")


async def test_what_runs_alone_runs_alone(services: Services, emptied: None) -> None:
    store, may_end, runs = Leases(services.base.databases, renew_seconds=0.02), asyncio.Event(), 0

    async def work() -> None:
        nonlocal runs
        runs += 1
        await may_end.wait()

    waiting = {asyncio.create_task(store.run_alone("work", work)) for _ in range(5)}
    async with waiting_for("the refusals of all but one"):
        while len(waiting) > 1:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert [task.result() for task in done] == [False] * len(done)
    # Its lease is renewed meanwhile.
    await asyncio.sleep(0.1)
    may_end.set()
    assert [await task for task in waiting] == [True]
    assert runs == 1
    assert await store.run_alone("work", work)


async def test_who_loses_the_lease_is_cancelled(services: Services, emptied: None) -> None:
    store = Leases(services.base.databases, renew_seconds=0.02)

    async def work() -> None:
        await services.base.databases.system["leases"].update_one({"_id": "work"}, {"$set": {"holder": "another"}})
        await asyncio.Event().wait()

    assert not await store.run_alone("work", work)

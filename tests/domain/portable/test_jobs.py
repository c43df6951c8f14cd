"""Row G3: a job that lost its process begins again, three times at most; one that was cancelled ends soon."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from faults.waiting import until
from service.domain.portable import jobs as portable_jobs
from service.domain.portable.jobs import ATTEMPTS, JobKind, JobRunner, Progress, cancel_job, describe_job
from service.errors import HistoryLost, JobNotCancellable, ProjectBusy, Unavailable
from service.services import Services
from service.storage.databases import Databases
from service.storage.long_jobs import JobStore, ensure_job_indexes

Json = dict[str, Any]
Work = Callable[[Json, Progress], Awaitable[Json]]


@pytest.fixture
async def databases(services: Services, database_prefix: str) -> AsyncIterator[Databases]:
    """A deployment of its own, of which the application runs no job."""
    found = Databases(services.base.databases.client, f"{database_prefix}j_")
    await ensure_job_indexes(found)
    yield found
    await found.client.drop_database(found.system)


@pytest.fixture
def jobs(databases: Databases) -> JobStore:
    return JobStore(databases)


async def begin(jobs: JobStore) -> str:
    job = describe_job("test", "shop", {"secret": "s"})
    await jobs.insert(job)
    return str(job["_id"])


async def find(jobs: JobStore, job_id: str) -> Json:
    return await jobs.find({"_id": job_id}) or {}


class Kind:
    """Runs `work`, and notes what was abandoned."""

    def __init__(self, jobs: JobStore, work: Work) -> None:
        self.abandoned: list[str] = []
        self.runner = JobRunner(jobs, {"test": JobKind(work, self._abandon)})

    async def _abandon(self, job: Json) -> None:
        self.abandoned.append(job["_id"])


async def succeed(_: Json, progress: Progress) -> Json:
    progress.totals = {"documents": 2}
    progress.advance("documents", 3)
    return {"n": 1}


async def test_a_project_has_one_open_job_until_it_has_ended(jobs: JobStore) -> None:
    job_id = await begin(jobs)
    with pytest.raises(ProjectBusy) as caught:
        await begin(jobs)
    assert caught.value.body()["job_id"] == job_id
    kind = Kind(jobs, succeed)
    await kind.runner.run_waiting()
    job = await find(jobs, job_id)
    assert (job["state"], job["result"], job["attempt"], kind.abandoned) == ("done", {"n": 1}, 1, [])
    assert job.keys().isdisjoint({"params", "open", "holder", "until"})
    assert {name: job["progress"][name] for name in ("done", "total")} == {"done": 3, "total": 3}
    await begin(jobs)


async def test_a_job_of_a_later_version_is_left_to_it(jobs: JobStore) -> None:
    job = describe_job("later", "shop", {})
    await jobs.insert(job)
    await Kind(jobs, succeed).runner.run_waiting()
    assert (await find(jobs, job["_id"]))["state"] == "queued"


async def test_two_runners_run_a_job_once(jobs: JobStore) -> None:
    runs = 0

    async def work(_: Json, __: Any) -> Json:
        nonlocal runs
        runs += 1
        return {}

    await begin(jobs)
    await asyncio.gather(*(Kind(jobs, work).runner.run_waiting() for _ in range(5)))
    assert runs == 1


async def test_a_failure_is_told_by_its_code_and_abandons_what_was_made(jobs: JobStore) -> None:
    async def work(_: Json, __: Any) -> Json:
        raise HistoryLost

    job_id, kind = await begin(jobs), Kind(jobs, work)
    await kind.runner.run_waiting()
    job = await find(jobs, job_id)
    assert (job["state"], job["error"]["code"], kind.abandoned) == ("failed", "history_lost", [job_id])


async def test_a_job_that_lost_its_process_begins_again_three_times(jobs: JobStore, databases: Databases) -> None:
    async def work(_: Json, __: Any) -> Json:
        raise Unavailable

    job_id, kind = await begin(jobs), Kind(jobs, work)
    for attempt in range(1, ATTEMPTS + 1):
        with pytest.raises(Unavailable):
            await kind.runner.run_waiting()
        assert ((await find(jobs, job_id))["attempt"], kind.abandoned) == (attempt, [])
        await kind.runner.run_waiting()
        assert (await find(jobs, job_id))["attempt"] == attempt
        await databases.system["jobs"].update_one({}, [{"$set": {"until": {"$subtract": ["$$NOW", 1]}}}])
    await kind.runner.run_waiting()
    job = await find(jobs, job_id)
    assert (job["state"], job["error"]["code"], kind.abandoned) == ("failed", "job_interrupted", [job_id])


@pytest.mark.parametrize("is_lost", [False, True])
async def test_a_job_that_is_cancelled_or_another_process_has_is_ended(
    jobs: JobStore, databases: Databases, monkeypatch: pytest.MonkeyPatch, *, is_lost: bool
) -> None:
    """The process that lost it stores no outcome, and abandons nothing of the other one's."""
    monkeypatch.setattr(portable_jobs, "BEAT_SECONDS", 0.01)
    was_ended = asyncio.Event()

    async def work(_: Json, progress: Progress) -> Json:
        progress.advance("documents", 5)
        try:
            await asyncio.Event().wait()
        finally:
            was_ended.set()
        return {}

    job_id, kind = await begin(jobs), Kind(jobs, work)
    running = asyncio.create_task(kind.runner.run_waiting())

    async def is_shown() -> bool:
        return bool((await find(jobs, job_id)).get("progress", {}).get("done") == 5)

    await until(is_shown)
    if is_lost:
        await databases.system["jobs"].update_one({}, {"$set": {"holder": "another"}})
    else:
        await cancel_job(jobs, job_id)
    await running
    job = await find(jobs, job_id)
    expected = ("running", []) if is_lost else ("cancelled", [job_id])
    assert (job["state"], kind.abandoned, was_ended.is_set()) == (*expected, True)


async def test_a_job_that_waits_is_cancelled_at_once(jobs: JobStore) -> None:
    job_id = await begin(jobs)
    assert (await cancel_job(jobs, job_id, "shop"))["state"] == "cancelled"
    with pytest.raises(JobNotCancellable):
        await cancel_job(jobs, job_id)

"""Background work that is supervised: each failure is logged and counted, and the job runs again after a while."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

import structlog

from service.errors import ServiceError
from service.observe.metrics import JOB_FAILURES, JOB_LAST_SUCCESS, JOB_RUNS
from service.storage.leases import LEADER, LEASE_SECONDS, RENEW_SECONDS, Leases

log = structlog.get_logger()

# A job that failed runs again after one second, then two, and so on up to a minute.
FIRST_BACKOFF_SECONDS = 1.0
LONGEST_BACKOFF_SECONDS = 60.0
# Seconds between two checks that this process still leads, while a job for the whole deployment runs.
LOOK_SECONDS = 1.0
CLOSE_SECONDS = 2.0


class Leader:
    """This process's part in the lease `name`. `renew` must be called every RENEW_SECONDS."""

    def __init__(self, leases: Leases, *, name: str = LEADER, lease_seconds: float = LEASE_SECONDS) -> None:
        self._leases = leases
        self._name = name
        self._lease_seconds = lease_seconds
        self._holder = secrets.token_hex(8)
        self._until = 0.0

    @property
    def is_leading(self) -> bool:
        """True while no other process can have the lease: this one counts from before its request."""
        return monotonic() < self._until

    async def renew(self) -> None:
        """Takes or keeps the lease, unless another process has it. Raises Unavailable; then it runs out."""
        asked_at = monotonic()
        self._until = asked_at + self._lease_seconds if await self._leases.take(self._name, self._holder) else 0.0

    async def resign(self) -> None:
        """Lets another process begin at once."""
        if self._until:
            self._until = 0.0
            await self._leases.release(self._name, self._holder)


@dataclass(frozen=True, slots=True)
class Job:
    """Work to run every `every` seconds, the first time after `delay`; without `every` until it has succeeded once.

    `run` may be cancelled at any moment and run again. A job that is `for_deployment` runs in the leading process only.
    One that `only_reads` also runs while writing is forbidden.
    """

    name: str
    run: Callable[[], Awaitable[object]]
    every: float | None = None
    delay: float = 0.0
    for_deployment: bool = False
    only_reads: bool = False


class Jobs:
    """The jobs of one process."""

    def __init__(
        self,
        jobs: Sequence[Job],
        leader: Leader,
        is_halted: Callable[[], bool] = bool,
        *,
        first_backoff: float = FIRST_BACKOFF_SECONDS,
        look: float = LOOK_SECONDS,
    ) -> None:
        """While `is_halted()`, no job runs but those that only read."""
        self.jobs = (Job("leader", leader.renew, every=RENEW_SECONDS), *jobs)
        self._leader = leader
        self._is_halted = is_halted
        self._first_backoff = first_backoff
        self._look = look
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._keep_running(job), name=f"background: {job.name}") for job in self.jobs
        ]

    async def close(self) -> None:
        """Cancels the jobs and waits for their end, as far as it comes soon."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)
        with suppress(ServiceError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._leader.resign()

    async def _keep_running(self, job: Job) -> None:
        failures, wait = 0, job.delay
        while True:
            await asyncio.sleep(wait)
            try:
                await self._run(job)
            except (Exception, asyncio.CancelledError) as error:
                if _is_ending():
                    raise
                failures += 1
                wait = backoff(failures, self._first_backoff)
                _report(job, error, failures)
            else:
                if job.every is None:
                    return
                failures, wait = 0, job.every

    async def _run(self, job: Job) -> None:
        if self._is_halted() and not job.only_reads:
            return
        if job.for_deployment:
            if not await self._run_while_leading(job):
                return
        else:
            await job.run()
        JOB_RUNS.labels(job.name).inc()
        JOB_LAST_SUCCESS.labels(job.name).set_to_current_time()

    async def _run_while_leading(self, job: Job) -> bool:
        """True if the job ran to its end. It is cancelled when another process may have taken the lead."""
        if not self._leader.is_leading:
            return False
        task = asyncio.create_task(_await(job.run), name=f"background: {job.name}")
        try:
            while not task.done() and self._leader.is_leading:
                await asyncio.wait([task], timeout=self._look)
            if task.done():
                await task
                return True
            return False
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def backoff(failures: int, first: float) -> float:
    """Seconds to wait after so many failures in a row: `first`, then twice as long each time."""
    return min(first * 2.0 ** min(failures - 1, 10), LONGEST_BACKOFF_SECONDS)


def _is_ending() -> bool:
    """True if this task is cancelled; otherwise a CancelledError comes from a job."""
    task = asyncio.current_task()
    return task is not None and bool(task.cancelling())


async def _await(run: Callable[[], Awaitable[object]]) -> None:
    await run()


def _report(job: Job, error: BaseException, failures: int) -> None:
    """A database that is away is no fault of ours, and needs no traceback."""
    JOB_FAILURES.labels(job.name).inc()
    if isinstance(error, ServiceError):
        cause = type(error.__cause__).__name__
        log.warning("job_failed", job=job.name, failures=failures, code=error.code, cause=cause)
    else:
        log.error("job_failed", job=job.name, failures=failures, exc_info=error)

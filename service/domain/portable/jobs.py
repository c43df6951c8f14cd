"""Long jobs of projects: a request begins one, the leading process runs it, and requests follow and cancel it."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from time import monotonic

import structlog

from service.domain.audit.origin import ORIGIN, AuditActor, Origin, find_origin
from service.errors import JobNotCancellable, JobNotFound, ServiceError, Unavailable
from service.schema.values import now
from service.storage.client import Document
from service.storage.ids import new_id
from service.storage.long_jobs import CANCELLING, RUNNING, JobStore

log = structlog.get_logger()

# Seconds between two looks at a job that runs: its progress is stored, and a wish to cancel it is read.
BEAT_SECONDS = 1.0
ATTEMPTS = 3
INTERRUPTED = {"code": "job_interrupted", "detail": f"The process that ran the job ended {ATTEMPTS} times; try again"}


@dataclass(slots=True)
class Progress:
    """The records that a job has gone through in its phase. `totals` has an estimate of all by phase."""

    phase: str = ""
    done: int = 0
    totals: Mapping[str, int] = field(default_factory=dict)
    _began: float = field(default_factory=monotonic)

    def advance(self, phase: str, count: int) -> None:
        if phase != self.phase:
            self.phase, self.done, self._began = phase, 0, monotonic()
        self.done += count

    def write(self) -> Document:
        rate = round(self.done / max(monotonic() - self._began, 0.001))
        # An estimate was too low where more was done.
        total = max(self.totals[self.phase], self.done) if self.phase in self.totals else None
        return {"phase": self.phase, "progress": {"done": self.done, "total": total, "rate": rate}}


async def do_nothing(_: Document) -> None:
    """The end of a kind that leaves nothing behind."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of jobs. `run` returns the result; `abandon` is called after a run that failed or was cancelled.

    A run may be cut short anywhere, and begins again.
    """

    run: Callable[[Document, Progress], Awaitable[Document]]
    abandon: Callable[[Document], Awaitable[None]] = do_nothing


def describe_job(kind: str, project_id: str, params: Document) -> Document:
    """The record of a new job of the caller's."""
    described = {"_id": new_id(), "kind": kind, "project_id": project_id, "params": params, "warnings": []}
    return {**described, "by": asdict(find_origin().actor), "created_at": now()}


async def find_job(jobs: JobStore, job_id: str, project_id: str | None = None) -> Document:
    """Raises JobNotFound, also for a job of another project than the one that is given."""
    match: Document = {"_id": job_id} if project_id is None else {"_id": job_id, "project_id": project_id}
    if (found := await jobs.find(match)) is None:
        raise JobNotFound
    return found


async def cancel_job(jobs: JobStore, job_id: str, project_id: str | None = None) -> Document:
    """The job, which ends soon. Raises JobNotFound, JobNotCancellable."""
    await find_job(jobs, job_id, project_id)
    if not await jobs.cancel(job_id):
        raise JobNotCancellable
    return await find_job(jobs, job_id, project_id)


class JobRunner:
    """Runs jobs in this process, one at a time for each call of `run_waiting`."""

    def __init__(self, jobs: JobStore, kinds: Mapping[str, JobKind]) -> None:
        self._jobs = jobs
        self._kinds = kinds

    async def run_waiting(self) -> None:
        """Runs the jobs that wait, and those whose process died. A later version may have others. Raises Unavailable."""
        while (job := await self._jobs.claim(holder := secrets.token_hex(8), self._kinds)) is not None:
            await self._take(job, holder)

    async def run_one(self, job_id: str) -> None:
        """Runs this job, unless it has ended or another process has it. Raises Unavailable."""
        if (job := await self._jobs.claim(holder := secrets.token_hex(8), self._kinds, job_id)) is not None:
            await self._take(job, holder)

    async def _take(self, job: Document, holder: str) -> None:
        if job["state"] == CANCELLING:
            await self._end(job, holder, {"state": "cancelled"})
        elif job["attempt"] > ATTEMPTS:
            await self._end(job, holder, {"state": "failed", "error": INTERRUPTED})
        else:
            await self._run(job, holder)

    async def _run(self, job: Document, holder: str) -> None:
        """Another process that has the job meanwhile ends it, and this one stores nothing more."""
        progress = Progress()
        task = asyncio.create_task(self._work(job, progress), name=f"background: {job['kind']}")
        state: str | None = RUNNING
        try:
            while not task.done() and state == RUNNING:
                await asyncio.wait([task], timeout=BEAT_SECONDS)
                # While MongoDB is away the lease may run out, and another process begins the job again.
                with suppress(ServiceError):
                    state = await self._jobs.renew(job["_id"], holder, progress.write())
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if state is not None:
            await self._end(job, holder, _judge(task))

    async def _work(self, job: Document, progress: Progress) -> Document:
        """The actor of audit entries is the one who began the job."""
        origin = Origin(AuditActor(**job["by"]))
        ORIGIN.set(lambda: origin)
        return await self._kinds[job["kind"]].run(job, progress)

    async def _end(self, job: Document, holder: str, outcome: Document) -> None:
        if outcome["state"] != "done":
            await self._kinds[job["kind"]].abandon(job)
        await self._jobs.end(job["_id"], holder, outcome)


def _judge(task: asyncio.Task[Document]) -> Document:
    """The outcome of a run. Raises Unavailable for one that MongoDB could not serve, which begins again later."""
    if task.cancelled():
        return {"state": "cancelled"}
    error = task.exception()
    if error is None:
        return {"state": "done", "result": task.result()}
    if isinstance(error, Unavailable):
        raise error
    if isinstance(error, ServiceError):
        return {"state": "failed", "error": {"code": error.code, "detail": error.detail}}
    log.error("job_failed", exc_info=error)
    return {"state": "failed", "error": {"code": ServiceError.code, "detail": ServiceError.detail}}

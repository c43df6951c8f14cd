"""Runs a long job in the command's own process, and shows the progress of a job that any process runs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import typer

from service.cli.progress import Progressing, show_progress
from service.cli.runtime import run_command
from service.domain.portable.backups import BackupFolder
from service.domain.portable.job_kinds import build_runner
from service.domain.portable.jobs import cancel_job, find_job
from service.errors import JobNotCancellable, Unavailable
from service.services import Services
from service.storage.client import Document

LOOK_SECONDS = 0.5
Begin = Callable[[Services], Awaitable[Document]]


def begin_and_run(begin: Begin, *, as_json: bool) -> Document:
    """The job that `begin` stores, when it has ended. This process runs it, unless a server was faster.

    A command that is interrupted cancels the job. Ends the command with status 1 where the job is not done.
    """
    with show_progress(as_json=as_json) as progress:

        async def work(services: Services) -> Document:
            job = await begin(services)
            return await run_job(services.backups, job["_id"], progress)

        job = run_command(work)
    return check_outcome(job)


def check_outcome(job: Document) -> Document:
    """The job, if it is done; else one line says why, and the command ends with status 1."""
    if job["state"] != "done":
        error = job.get("error") or {"code": job["state"], "detail": f"The job {job['_id']} was cancelled"}
        typer.echo(f"auth-collections: {error['code']}: {error['detail']}", err=True)
        raise typer.Exit(1)
    return job


async def run_job(backups: BackupFolder, job_id: str, progress: Progressing) -> Document:
    """The job when it has ended. If the process that has it dies, this one takes it over."""
    running = asyncio.create_task(_keep_running(backups, job_id))
    try:
        return await follow_job(backups, job_id, progress)
    except asyncio.CancelledError:
        with suppress(JobNotCancellable):
            await cancel_job(backups.jobs, job_id)
        await running
        raise
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def follow_job(backups: BackupFolder, job_id: str, progress: Progressing) -> Document:
    """The job when it has ended. Raises JobNotFound."""
    shown = _Shown(progress)
    while "ended_at" not in (job := await find_job(backups.jobs, job_id)):
        shown.show(job)
        await asyncio.sleep(LOOK_SECONDS)
    shown.show(job)
    return job


async def _keep_running(backups: BackupFolder, job_id: str) -> None:
    runner = build_runner(backups)
    while "ended_at" not in await find_job(backups.jobs, job_id):
        with suppress(Unavailable):
            await runner.run_one(job_id)
        await asyncio.sleep(LOOK_SECONDS)


class _Shown:
    """The progress of a job that was shown so far. A job stores the count of its phase."""

    def __init__(self, progress: Progressing) -> None:
        self._progress = progress
        self._phase = ""
        self._done = 0

    def show(self, job: Mapping[str, Any]) -> None:
        if not (phase := job.get("phase", "")):
            return
        if phase != self._phase:
            self._phase, self._done = phase, 0
        found = job["progress"]
        # A job that began again counts from zero, and the count that is shown stays.
        self._progress.advance(phase, max(found["done"] - self._done, 0))
        self._done = max(found["done"], self._done)
        if found["total"] is not None:
            self._progress.expect(phase, found["total"])

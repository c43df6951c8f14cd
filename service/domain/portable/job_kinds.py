"""The kinds of long jobs: a backup, its verification, a restore, and a clone."""

import asyncio
import socket
from typing import Any

import orjson

from service.domain.portable.backups import BackupFolder, abandon_backup, find_whole, open_file
from service.domain.portable.cloning import clone_project
from service.domain.portable.jobs import JobKind, JobRunner, Progress
from service.domain.portable.reading import BackupFile
from service.domain.portable.restoring import Choices, Restored, RestoringJob, free_id, restore_project
from service.domain.portable.taking import Taken, Wanted, describe_taken, take_backup
from service.domain.portable.targets import FileTarget
from service.domain.portable.verifying import check_content, check_maker
from service.schema.values import now, read_time
from service.storage.backups import DONE, MAKING
from service.storage.client import ClientSession, Document
from service.storage.moments import estimate_records

# Warnings, and documents that were left out, which a record names.
SHOWN = 100


class PortableKinds:
    """The work of each kind, given the record of its job."""

    def __init__(self, backups: BackupFolder) -> None:
        self._backups = backups
        self._portable = backups.portable

    def by_name(self) -> dict[str, JobKind]:
        return {
            "backup": JobKind(self._back_up, self._abandon),
            "verify": JobKind(self._verify),
            "restore": JobKind(self._restore),
            "clone": JobKind(self._clone),
        }

    async def _back_up(self, job: Document, progress: Progress) -> Document:
        """The file has its name before the record says that the backup is done. This host may be another one by now."""
        params, making = job["params"], {"_id": job["params"]["backup_id"], "state": MAKING}
        backup = await self._backups.records.change(making, {"host": socket.gethostname()})
        if backup is None:
            return {"backup_id": params["backup_id"]}
        await asyncio.to_thread(self._backups.make_folder)
        path = self._backups.find_path(backup)
        progress.totals = await estimate_records(self._portable.databases.project(job["project_id"]))
        with FileTarget(path) as target:
            wanted = Wanted(job["project_id"], frozenset(params["without"]))
            taken = await take_backup(self._portable, wanted, target.begin, progress.advance)
            await asyncio.to_thread(target.publish)
        with await open_file(self._backups, backup) as found:
            check_maker(self._portable, found)
        await self._complete(backup, taken)
        return {"backup_id": backup["_id"]}

    async def _complete(self, backup: Document, taken: Taken) -> None:
        act = describe_taken(taken)

        async def note(session: ClientSession) -> None:
            await self._portable.audit.record(session, act)

        await self._backups.records.change({"_id": backup["_id"], "state": MAKING}, _describe(taken), note)

    async def _abandon(self, job: Document) -> None:
        if backup := await self._backups.records.find({"_id": job["params"]["backup_id"], "state": MAKING}):
            await abandon_backup(self._backups, backup)

    async def _verify(self, job: Document, progress: Progress) -> Document:
        backup = await find_whole(self._backups, job["params"]["backup_id"])
        with await open_file(self._backups, backup) as found:
            progress.totals = _count(found)
            await asyncio.to_thread(check_content, found, progress.advance)
            check_maker(self._portable, found)
        await self._backups.records.change({"_id": backup["_id"]}, {"verified_at": now()})
        return {"backup_id": backup["_id"]}

    async def _restore(self, job: Document, progress: Progress) -> Document:
        if (result := await self._find_result(job, job["project_id"])) is not None:
            return result
        backup = await find_whole(self._backups, job["params"]["backup_id"])
        choices = Choices(**job["params"]["choices"], job=self._keep(job))
        with await open_file(self._backups, backup) as found:
            progress.totals = _count(found)
            return _show(await restore_project(self._portable, found, job["project_id"], choices, progress.advance))

    async def _clone(self, job: Document, progress: Progress) -> Document:
        params = job["params"]
        if (result := await self._find_result(job, params["id"])) is not None:
            return result
        choices = Choices(**params["choices"], job=self._keep(job))
        wanted = Wanted(job["project_id"], is_empty=params["is_empty"])
        progress.totals = await estimate_records(self._portable.databases.project(job["project_id"]))
        return _show(await clone_project(self._portable, wanted, params["id"], choices, progress.advance))

    async def _find_result(self, job: Document, project_id: str) -> Document | None:
        """The result of an earlier run that made the project visible; else what that run left is dropped."""
        if "result" not in job:
            await free_id(self._portable, project_id, job["_id"])
        return job.get("result")

    def _keep(self, job: Document) -> RestoringJob:
        async def keep(session: ClientSession, restored: Restored) -> None:
            await self._backups.jobs.keep_result(job["_id"], _show(restored), session)

        return RestoringJob(job["_id"], keep)


def build_runner(backups: BackupFolder) -> JobRunner:
    return JobRunner(backups.jobs, PortableKinds(backups).by_name())


def _count(backup: BackupFile) -> dict[str, int]:
    """The records that are read, and those that are restored, by phase."""
    total = sum(backup.manifest.counts.values())
    return {"documents": total, "restored": total}


def _describe(taken: Taken) -> Document:
    manifest = taken.manifest
    return {
        "state": DONE,
        "at": read_time(manifest.taken_at),
        "bytes": taken.bytes,
        "sha256": taken.sha256,
        "documents": manifest.documents,
        "files": manifest.files,
        "consistency": manifest.consistency,
        "service_version": manifest.service_version,
        "warnings": manifest.warnings[:SHOWN],
        "manifest": orjson.dumps(manifest.model_dump() | {"warnings": manifest.warnings[:SHOWN]}).decode(),
    }


def _show(restored: Restored) -> dict[str, Any]:
    names = ("project_id", "needs", "left_out")
    return {name: getattr(restored, name) for name in names} | {"rejected": restored.rejected[:SHOWN]}

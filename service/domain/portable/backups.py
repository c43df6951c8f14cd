"""The backups that the service takes into its folder: begun, listed, pinned, deleted, and opened."""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from service.bounds import MAX_BACKUPS
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Target
from service.domain.audit.changes import compare
from service.domain.audit.origin import find_origin
from service.domain.portable import Portable, build_portable
from service.domain.portable.jobs import describe_job
from service.domain.portable.reading import BackupFile, open_backup
from service.domain.portable.targets import FileTarget
from service.domain.projects import Foundation
from service.domain.projects.lookup import Project
from service.errors import BackupInUse, BackupNotFound, BackupOnOtherHost, ConfigurationError, Conflict
from service.schema.values import now
from service.storage.backups import BACKUPS, DONE, FAILED, MAKING, BackupStore
from service.storage.client import ClientSession, Document
from service.storage.ids import new_id
from service.storage.long_jobs import JobStore

FOLDER_MODE = 0o700
COPIED_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class BackupFolder:
    """The capability with its records of jobs and backups, and the folder of their files, which hosts may share."""

    portable: Portable
    jobs: JobStore
    records: BackupStore
    folder: Path

    def find_path(self, backup: Mapping[str, Any]) -> Path:
        """The place of a backup's file, on the host that has it."""
        return self.folder / str(backup["name"])

    def make_folder(self) -> None:
        """Raises ConfigurationError."""
        try:
            self.folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"{self.folder}: {error.strerror}") from None


def build_backups(base: Foundation, folder: Path) -> BackupFolder:
    return BackupFolder(build_portable(base), JobStore(base.databases), BackupStore(base.databases), folder)


async def begin_backup(
    backups: BackupFolder, project_id: str, *, without: Sequence[str], note: str
) -> tuple[Document, Document]:
    """The records of the job and of the backup. Raises ProjectBusy, Conflict where the project has too many."""
    if await backups.records.count(project_id) >= MAX_BACKUPS:
        raise Conflict(f"The project has {int(MAX_BACKUPS)} backups; delete some first")
    moment, backup_id = now(), new_id()
    backup: Document = {
        "_id": backup_id,
        "project_id": project_id,
        "state": MAKING,
        "name": f"{project_id}-{moment:%Y%m%dT%H%M%SZ}-{backup_id}.zip",
        "host": socket.gethostname(),
        "created_at": moment,
        "by": asdict(find_origin().actor),
        "pinned": False,
        "note": note,
    }
    job = describe_job("backup", project_id, {"backup_id": backup_id, "without": list(without)})
    await backups.jobs.insert(job, [(BACKUPS, backup)])
    return job, backup


def match_project(project: Project) -> Document:
    """The backups of a project, and none of an earlier one that had its id."""
    return {"project_id": project.id, "created_at": {"$gte": project.created_at}}


async def find_backup(backups: BackupFolder, backup_id: str, project: Project | None = None) -> Document:
    """Raises BackupNotFound, also for a backup of another project than the one that is given."""
    match: Document = {} if project is None else match_project(project)
    if (found := await backups.records.find({"_id": backup_id, **match})) is None:
        raise BackupNotFound
    return found


async def find_whole(backups: BackupFolder, backup_id: str, project: Project | None = None) -> Document:
    """A backup that is complete. Raises BackupNotFound."""
    found = await find_backup(backups, backup_id, project)
    if found["state"] != DONE:
        raise BackupNotFound("The backup is not complete")
    return found


async def change_backup(backups: BackupFolder, backup_id: str, project: Project | None, changes: Document) -> Document:
    """The backup afterwards. Raises BackupNotFound."""
    before = await find_backup(backups, backup_id, project)
    compared = compare({name: before[name] for name in changes}, changes)
    act = _act(Action.BACKUP_CHANGED, before, compared)

    async def record(session: ClientSession) -> None:
        await backups.portable.audit.record(session, act)

    found = await backups.records.change({"_id": backup_id}, changes, record)
    if found is None:
        raise BackupNotFound
    return found


async def begin_verification(backups: BackupFolder, backup: Mapping[str, Any]) -> Document:
    """The record of the job. Raises ProjectBusy."""
    job = describe_job("verify", backup["project_id"], {"backup_id": backup["_id"]})
    await backups.jobs.insert(job)
    return job


async def begin_restore(backups: BackupFolder, backup_id: str, project_id: str, choices: Mapping[str, Any]) -> Document:
    """The record of the job; `choices` are fields of `Choices`. Raises BackupNotFound, Conflict, ProjectBusy."""
    backup, store = await find_whole(backups, backup_id), backups.portable.store
    if await store.is_taken(project_id) and not choices["is_dry_run"]:
        raise await store.conflict(project_id)
    job = describe_job("restore", project_id, {"backup_id": backup["_id"], "choices": dict(choices)})
    await backups.jobs.insert(job)
    return job


async def delete_backup(backups: BackupFolder, backup_id: str, project: Project | None = None) -> None:
    """Removes the file, then the record. Raises BackupNotFound, BackupInUse, BackupOnOtherHost."""
    found = await find_backup(backups, backup_id, project)
    if found["state"] == MAKING or await backups.jobs.find({"open": True, "params.backup_id": backup_id}):
        raise BackupInUse
    if found["state"] == DONE:
        with suppress(BackupNotFound):
            await asyncio.to_thread((await find_file(backups, found)).unlink, missing_ok=True)

    async def record(session: ClientSession) -> None:
        await backups.portable.audit.record(session, _act(Action.BACKUP_DELETED, found, compare({}, {})))

    if not await backups.records.delete({"_id": backup_id}, record):
        raise BackupNotFound


async def note_download(backups: BackupFolder, backup: Document) -> None:
    """Stores the audit entry of a backup that is sent to an operator."""
    digest = compare({}, {"sha256": backup["sha256"]})
    await backups.portable.audit.note(_act(Action.BACKUP_DOWNLOADED, backup, digest))


async def copy_backup(backups: BackupFolder, backup: Document, path: Path) -> None:
    """Writes the file of a backup to `path`. Raises BackupNotFound, BackupOnOtherHost, ConfigurationError."""
    if backup["state"] != DONE:
        raise BackupNotFound("The backup is not complete")
    source = await find_file(backups, backup)
    await note_download(backups, backup)
    await asyncio.to_thread(_copy, source, path)


def _copy(source: Path, path: Path) -> None:
    with FileTarget(path) as target, source.open("rb") as file:
        while piece := file.read(COPIED_BYTES):
            target.write(piece)
        target.publish()


async def find_file(backups: BackupFolder, backup: Mapping[str, Any]) -> Path:
    """Raises BackupOnOtherHost, and BackupNotFound where the file is gone from its own host."""
    path = backups.find_path(backup)
    if await asyncio.to_thread(path.is_file):
        return path
    if backup["host"] != socket.gethostname():
        raise BackupOnOtherHost(f"The file is on the host {backup['host']}")
    raise BackupNotFound("The file of the backup is gone")


async def open_file(backups: BackupFolder, backup: Mapping[str, Any]) -> BackupFile:
    """Raises BackupNotFound where the file is gone, BackupOnOtherHost, BackupDamaged."""
    return await asyncio.to_thread(open_backup, await find_file(backups, backup))


async def abandon_backup(backups: BackupFolder, backup: Document) -> None:
    """A backup that was not completed has failed, and leaves no file."""
    for name in (backup["name"], f"{backup['name']}.part"):
        with suppress(OSError):
            await asyncio.to_thread((backups.folder / name).unlink)
    act = _act(Action.BACKUP_FAILED, backup, compare({}, {}))

    async def record(session: ClientSession) -> None:
        await backups.portable.audit.record(session, act)

    await backups.records.change({"_id": backup["_id"], "state": MAKING}, {"state": FAILED}, record)


def _act(action: Action, backup: Mapping[str, Any], changes: Any) -> Act:
    return Act(action, Target("backup", backup["_id"]), backup["project_id"], changes)

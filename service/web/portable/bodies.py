"""Bodies and answers of backups and long jobs."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

import orjson
from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from service.domain.audit.origin import ActorKind
from service.domain.projects.admin import MAX_NAME
from service.domain.projects.lookup import PROJECT_ID
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME, Id, Strict, Time, WholeNumber

MAX_NOTE = 500
STATES = ("making", "done", "failed")
EXAMPLE_ACTOR = {"kind": "operator", "id": "66f0c1a2b3c4d5e6f7a8b9c1", "name": "Olga"}
EXAMPLE_JOB: dict[str, Any] = {
    "id": "66f0c1a2b3c4d5e6f7a8b9c2",
    "kind": "backup",
    "project_id": "shop",
    "state": "running",
    "phase": "documents",
    "progress": {"done": 8_000, "total": 8_845, "unit": "records", "rate": 21_000},
    "warnings": [],
    "result": None,
    "error": None,
    "by": EXAMPLE_ACTOR,
    "attempt": 1,
    "created_at": EXAMPLE_TIME,
    "started_at": EXAMPLE_TIME,
    "ended_at": None,
}
EXAMPLE_BACKUP = {
    "id": EXAMPLE_ID,
    "project_id": "shop",
    "at": EXAMPLE_TIME,
    "created_at": EXAMPLE_TIME,
    "state": "done",
    "bytes": 9_400_320,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "documents": 8_845,
    "files": 12,
    "encrypted": False,
    "consistency": "snapshot",
    "service_version": "1.0.0",
    "host": "host-1",
    "by": EXAMPLE_ACTOR,
    "scheduled": False,
    "pinned": False,
    "note": "Before the move",
    "warnings": [],
    "verified_at": None,
}

ProjectId = Annotated[str, StringConstraints(pattern=f"^{PROJECT_ID.pattern}$")]
ProjectName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
NoteText = Annotated[str, StringConstraints(max_length=MAX_NOTE, pattern="^[^\\x00]*$")]
IdText = Annotated[str, StringConstraints(pattern="^[0-9a-f]{24}$")]


class NewBackup(Strict):
    """`without` leaves out parts of the project."""

    without: Annotated[list[Literal["events", "sessions", "files"]], Field(max_length=3)] = Field(default_factory=list)
    note: NoteText = ""


class BackupChange(Strict):
    """Fields that the body does not name stay."""

    pinned: bool | None = None
    note: NoteText | None = None


class NewClone(Strict):
    """`empty` copies schemas, rules and settings only; `name` is else that of the project."""

    id: ProjectId
    name: ProjectName | None = None
    empty: bool = False
    with_secrets: bool = False


class NewRestore(Strict):
    """`as` is the id that the project had, or another one for a copy, which `with_secrets` and `name` are for."""

    backup_id: IdText
    as_: Annotated[ProjectId, Field(alias="as")]
    name: ProjectName | None = None
    with_secrets: bool = False
    with_keys: bool = False
    accept_foreign: bool = False
    skip_invalid: bool = False
    dry_run: bool = False


class JobActor(TypedDict):
    kind: ActorKind
    id: str | None
    name: str | None


class JobProgress(TypedDict):
    """`total` is an estimate, and null where there is none; `rate` is records a second."""

    done: WholeNumber
    total: WholeNumber | None
    unit: str
    rate: WholeNumber


class JobError(TypedDict):
    code: str
    detail: str


class JobView(TypedDict):
    id: Id
    kind: Literal["backup", "verify", "restore", "clone"]
    project_id: str
    state: Literal["queued", "running", "cancelling", "done", "failed", "cancelled"]
    phase: str
    progress: JobProgress
    warnings: list[str]
    result: dict[str, Any] | None
    error: JobError | None
    by: JobActor
    attempt: WholeNumber
    created_at: Time
    started_at: Time | None
    ended_at: Time | None


class JobList(TypedDict):
    jobs: list[JobView]
    next: str | None


class BackupView(TypedDict):
    """`at` is the moment of the records. All that is measured is null until the backup is done."""

    id: Id
    project_id: str
    at: Time | None
    created_at: Time
    state: Literal["making", "done", "failed"]
    bytes: WholeNumber | None
    sha256: str | None
    documents: WholeNumber | None
    files: WholeNumber | None
    encrypted: bool
    consistency: Literal["snapshot", "corrected"] | None
    service_version: str | None
    host: str
    by: JobActor
    scheduled: bool
    pinned: bool
    note: str
    warnings: list[str]
    verified_at: Time | None


class BackupDetail(BackupView):
    """`manifest` is null until the backup is done."""

    manifest: dict[str, Any] | None


class BackupList(TypedDict):
    backups: list[BackupView]
    next: str | None


class StartedJob(TypedDict):
    job: JobView


class StartedBackup(StartedJob):
    backup: BackupView


def show_job(job: Mapping[str, Any]) -> JobView:
    progress = job.get("progress") or {"done": 0, "total": None, "rate": 0}
    return {
        "id": job["_id"],
        "kind": job["kind"],
        "project_id": job["project_id"],
        "state": job.get("state", "queued"),
        "phase": job.get("phase", ""),
        "progress": {
            "done": progress["done"],
            "total": progress["total"],
            "unit": "records",
            "rate": progress["rate"],
        },
        "warnings": job["warnings"],
        "result": job.get("result"),
        "error": job.get("error"),
        "by": job["by"],
        "attempt": job.get("attempt", 0),
        "created_at": job["created_at"],
        "started_at": job.get("started_at"),
        "ended_at": job.get("ended_at"),
    }


MEASURED = ("at", "bytes", "sha256", "documents", "files", "consistency", "service_version", "verified_at")
STORED = ("project_id", "created_at", "state", "host", "by", "pinned", "note")


def show_backup(backup: Mapping[str, Any]) -> BackupView:
    shown = {
        "id": backup["_id"],
        **{name: backup[name] for name in STORED},
        **{name: backup.get(name) for name in MEASURED},
        "encrypted": False,
        "scheduled": False,
        "warnings": backup.get("warnings", []),
    }
    return cast(BackupView, shown)


def show_detail(backup: Mapping[str, Any]) -> BackupDetail:
    manifest = orjson.loads(backup["manifest"]) if "manifest" in backup else None
    return {**show_backup(backup), "manifest": manifest}

"""`auth-collections backup ...` and `job ...`: backups in BACKUP_STORE, and the jobs that a command runs itself."""

import asyncio
import hashlib
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from rich.console import Console

from faults.commands import Shell
from faults.waiting import until
from service.cli.following import run_job
from service.cli.progress import Bars, Lines
from service.domain.portable.backups import begin_backup
from service.services import Services
from tests.conftest import Api


def test_a_backup_is_taken_listed_verified_restored_downloaded_and_deleted(
    shell: Shell, tmp_path: Path, mongo: MongoClient[Any], database_prefix: str
) -> None:
    shell.json("project", "create", "P", "--id", "p")
    system = mongo[f"{database_prefix}c_system"]
    result = shell.run("backup", "create", "p", "--without", "events", "--note", "Before", "--json")
    made = json.loads(result.stdout)
    assert (result.returncode, made["project_id"], made["documents"]) == (0, "p", 0)
    (file,) = (tmp_path / "backups").iterdir()
    assert (made["bytes"], made["sha256"]) == (file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest())
    assert shell.json("backup", "show", made["id"])["manifest"]["left_out"] == ["events"]
    assert shell.json("backup", "verify", made["id"]) == {"backup_id": made["id"]}
    assert shell.json("backup", "pin", made["id"]) == {"id": made["id"], "pinned": True}
    copy = tmp_path / "copy.zip"
    shell.json("backup", "download", made["id"], str(copy))
    assert (copy.read_bytes(), oct(copy.stat().st_mode & 0o777)) == (file.read_bytes(), "0o600")
    taken = shell.run("backup", "restore", made["id"], "--as", "p")
    assert (taken.returncode, "already exists" in taken.stderr) == (1, True)
    restored = shell.json("backup", "restore", made["id"], "--as", "p-copy")
    assert (restored["project_id"], restored["left_out"]) == ("p-copy", ["events"])
    line = shell.run("backup", "list", "--project", "p").stdout.rstrip("\n").split("\t")
    assert (line[0], *line[2:]) == (made["id"], "p", "done", str(made["bytes"]), "pinned", "Before")
    jobs = [line.split("\t")[2:5] for line in shell.run("job", "list").stdout.splitlines()]
    assert jobs == [["restore", "p-copy", "done"], ["verify", "p", "done"], ["backup", "p", "done"]]
    assert shell.run("backup", "delete", made["id"]).returncode == 2
    assert shell.json("backup", "delete", made["id"], "--yes") == {"id": made["id"], "deleted": True}
    assert not file.exists()
    entry = system["audit"].find_one({"action": "backup.deleted"})
    assert entry is not None
    assert entry["actor"]["kind"] == "cli"


def test_a_job_that_failed_or_was_cancelled_is_one_line_and_status_1(
    shell: Shell, mongo: MongoClient[Any], database_prefix: str
) -> None:
    shell.json("project", "create", "P", "--id", "p")
    made = shell.json("backup", "create", "p")
    backup = mongo[f"{database_prefix}c_system"]["backups"].find_one({}) or {}
    path = Path(shell.environment["DATA_DIR"]) / "backups" / backup["name"]
    path.write_bytes(path.read_bytes()[:-100])
    failed = shell.run("backup", "verify", made["id"])
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "auth-collections: backup_damaged: the file is no ZIP" in failed.stderr
    jobs = mongo[f"{database_prefix}c_system"]["jobs"]
    jobs.insert_one({**(jobs.find_one({"kind": "backup"}) or {}), "_id": "f" * 24, "state": "queued", "open": True})
    jobs.update_one({"_id": "f" * 24}, {"$unset": {"ended_at": "", "expires_at": "", "result": ""}})
    cancelled = shell.json("job", "cancel", "f" * 24)
    assert (cancelled["kind"], cancelled["state"]) == ("backup", "cancelled")
    followed = shell.run("job", "follow", "f" * 24)
    assert (followed.returncode, "The job ffffffffffffffffffffffff was cancelled" in followed.stderr) == (1, True)
    assert shell.json("job", "show", "f" * 24)["state"] == "cancelled"
    assert shell.run("job", "cancel", "f" * 24).returncode == 1


async def test_a_command_that_is_interrupted_cancels_its_job(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = asyncio.Event()

    async def wait(*_: Any) -> Any:
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("service.domain.portable.job_kinds.take_backup", wait)
    job, backup = await begin_backup(services.backups, api.project.id, without=[], note="")
    command = asyncio.create_task(run_job(services.backups, job["_id"], Lines(as_json=True)))
    await started.wait()
    command.cancel()
    with suppress(asyncio.CancelledError):
        await command

    async def has_ended() -> bool:
        found = await services.backups.jobs.find({"_id": job["_id"]}) or {}
        return bool(found["state"] == "cancelled")

    await until(has_ended)
    found = await services.backups.records.find({"_id": backup["_id"]}) or {}
    assert found["state"] == "failed"


def test_a_bar_shows_the_share_of_a_known_total(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("service.cli.progress.Console", lambda **_: Console(file=shown, force_terminal=True, width=100))
    with Bars() as bars:
        bars.advance("documents", 4_000)
        bars.expect("documents", 8_000)
        (task,) = bars._progress.tasks  # noqa: SLF001 - the text of a bar depends on the width of the terminal
        assert (task.completed, task.total, task.percentage) == (4_000, 8_000, 50)
    assert "documents" in shown.getvalue()


def test_lines_name_the_total(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines(as_json=True) as lines:
        lines.advance("documents", 3)
        lines.expect("documents", 8)
    shown = json.loads(capsys.readouterr().err)
    assert (shown["phase"], shown["done"], shown["total"]) == ("documents", 3, 8)

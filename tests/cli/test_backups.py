"""`auth-collections project backup`, `verify`, `restore` and `clone`."""

import hashlib
import json
from pathlib import Path
from subprocess import PIPE
from typing import Any

from pymongo import MongoClient

from faults.commands import Shell
from faults.starts import start_command


def test_a_project_is_written_into_a_file_verified_and_restored(
    shell: Shell, tmp_path: Path, mongo: MongoClient[Any], database_prefix: str
) -> None:
    shell.json("project", "create", "P", "--id", "p")
    path = tmp_path / "b.zip"
    path.write_text("an earlier one")
    shown = shell.json("project", "backup", "p", str(path), "--without", "events")
    assert (shown["path"], shown["project_id"], shown["documents"], shown["files"]) == (str(path), "p", 0, 0)
    assert (shown["sha256"], shown["bytes"]) == (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size)
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    assert list(tmp_path.glob("*.part")) == []
    found = shell.json("project", "verify", str(path), "--against", "p", "--deep")
    assert (found["project_id"], found["differing"], found["deep"]["damaged"]) == ("p", [], False)
    system = mongo[f"{database_prefix}c_system"]
    assert [each["project_id"] for each in system["audit"].find({"action": "backup.made"})] == ["p"]
    mongo[f"{database_prefix}c_p_p"]["users"].insert_one({"_id": "1", "email": "ann@example.com"})
    elsewhere = {"DATABASE_PREFIX": f"{database_prefix}c_r"}
    refused = shell.run("project", "restore", str(path), "--as", "p")
    assert (refused.returncode, "already exists" in refused.stderr) == (1, True)
    restored = shell.run("project", "restore", str(path), "--as", "p", "--json", **elsewhere)
    expected = {"project_id": "p", "needs": [], "left_out": ["events"], "rejected": []}
    assert (restored.returncode, json.loads(restored.stdout)) == (0, expected)
    copied = shell.json("project", "clone", "p", "--as", "q", "--empty")
    assert (copied["left_out"], copied["api_key"][:5], copied["publishable_key"][:6]) == (
        ["records"],
        "ac_q_",
        "acp_q_",
    )
    result = shell.run("project", "verify", str(path), "--against", "p")
    assert (result.returncode, "p/users.bson.gz differs" in result.stdout) == (1, True)
    mongo[f"{database_prefix}c_p_p"]["files.files"].insert_one({"_id": "p-x", "length": 5, "chunkSize": 5})
    shell.json("project", "backup", "p", str(path))
    assert shell.run("project", "verify", str(path)).returncode == 0
    judged = shell.run("project", "verify", str(path), "--deep")
    assert (judged.returncode, "the file p-x lacks chunks" in judged.stdout) == (1, True)


def test_stdout_has_the_backup_alone_and_errors_are_one_line(shell: Shell, tmp_path: Path) -> None:
    shell.json("project", "create", "P", "--id", "p")
    path, damaged = tmp_path / "piped.zip", tmp_path / "damaged.zip"
    command = ["project", "backup", "p", "-"]
    with path.open("wb") as file, start_command(command, shell.environment, stdout=file, stderr=PIPE) as process:
        assert process.wait(60) == 0
    assert shell.json("project", "verify", str(path))["project_id"] == "p"
    damaged.write_bytes(path.read_bytes()[:-100])
    for arguments, status, line in (
        (["backup", "p", "--without", "users"], 2, "--without users: expected some of events,sessions,files"),
        (["verify", str(damaged)], 1, "auth-collections: backup_damaged: the file is no ZIP, or not all of one"),
    ):
        result = shell.run("project", *arguments)
        assert (result.returncode, len(result.stderr.splitlines())) == (status, 1), result.stderr
        assert line in result.stderr

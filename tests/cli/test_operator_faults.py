"""THREATS rows N21, N29, N37 and N40: what operators get wrong is one line that names it, and nothing is broken by it."""

import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from faults.commands import Shell, free_port

OTHER_KEY = base64.b64encode(b"o" * 32).decode()


def assert_one_line(result: subprocess.CompletedProcess[str], *says: str) -> None:
    assert result.returncode == 1
    assert result.stdout == ""
    errors = [line for line in result.stderr.splitlines() if not line.endswith(", which begins now")]
    assert len(errors) == 1, result.stderr
    assert all(words in result.stderr for words in says), result.stderr


def test_n29_serve_does_not_start_with_another_secret_key(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    result = shell.run("serve", "--port", str(free_port()), SECRET_KEY=OTHER_KEY)
    assert_one_line(result, "SECRET_KEY does not open")


def test_n29_nothing_is_sealed_with_another_secret_key(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    assert_one_line(shell.run("project", "create", "Q", "--id", "q", SECRET_KEY=OTHER_KEY), "SECRET_KEY")
    assert_one_line(shell.run("project", "set", "p", "IDP_CLIENT_SECRET=s", SECRET_KEY=OTHER_KEY), "SECRET_KEY")
    assert [project["project_id"] for project in shell.json("project", "list")] == ["p"]
    assert "ok    project p: SECRET_KEY opens its secrets" in shell.run("check").stdout


def test_n29_a_service_from_before_the_canary_knows_its_key_by_its_projects(
    shell: Shell, mongo: MongoClient[Any]
) -> None:
    shell.json("project", "create", "P", "--id", "p")
    mongo[f"{shell.environment['DATABASE_PREFIX']}system"]["canary"].drop()
    assert_one_line(shell.run("project", "create", "Q", SECRET_KEY=OTHER_KEY), "SECRET_KEY")
    shell.json("project", "create", "Q")


def test_n29_projects_whose_secrets_do_not_open_are_listed_checked_and_deleted(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    other = Shell(shell.environment | {"SECRET_KEY": OTHER_KEY})
    assert [project["project_id"] for project in other.json("project", "list")] == ["p"]
    checked = other.run("check")
    assert checked.returncode == 1
    assert "WRONG project p: SECRET_KEY does not open" in checked.stdout
    assert "topology: replica set" in checked.stdout
    assert other.json("project", "delete", "p", "--yes") == {"project_id": "p", "deleted": True}
    assert shell.json("project", "list") == []


def test_n21_check_names_a_low_limit_of_open_files(shell: Shell) -> None:
    command = ["/bin/sh", "-c", 'ulimit -n 512; exec "$@"', "sh", sys.executable, "-m", "service", "check"]
    result = subprocess.run(command, env=shell.environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert result.returncode == 1
    assert "WRONG open files: at most 512" in result.stdout
    assert "LimitNOFILE" in result.stdout


def test_n37_a_data_dir_that_cannot_be_used_is_one_line(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "mongodb").write_text("")
    for folder in ("file", "file/inside", "half"):
        result = shell.run("project", "create", "P", MONGODB_URI="", DATA_DIR=str(tmp_path / folder))
        assert_one_line(result, "DATA_DIR", "cannot be used")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00binary", b"c2hvcnQ="], ids=["empty", "binary", "short"])
def test_n37_a_kept_key_that_is_none_is_one_line(shell: Shell, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret_key").write_bytes(content)
    result = shell.run("project", "create", "P", MONGODB_URI="", SECRET_KEY="", DATA_DIR=str(tmp_path))
    assert_one_line(result, "secret_key", "32 bytes in base64")


def test_n37_a_missing_file_of_certificates_is_one_line(shell: Shell, tmp_path: Path) -> None:
    missing = tmp_path / "ca.pem"
    uri = f"mongodb://user:hidden-word@127.0.0.1:1/?tls=true&tlsCAFile={missing}"
    result = shell.run("project", "list", MONGODB_URI=uri)
    assert_one_line(result, "MONGODB_URI", str(missing), "No such file")
    assert "hidden-word" not in result.stderr


def test_n40_a_wrong_password_of_mongodb_is_named(shell: Shell) -> None:
    address = shell.environment["MONGODB_URI"].rpartition("@")[2]
    uri = f"mongodb://nobody:hidden-word@{address}"
    result = shell.run("project", "list", MONGODB_URI=uri)
    assert_one_line(result, "MONGODB_URI", "password", "18")
    assert "hidden-word" not in result.stderr

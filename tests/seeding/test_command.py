"""`auth-collections seed` as a process: its one-line errors, its exit status, and a run that is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from faults.commands import KEY, Shell

DOCUMENTS = 30_000
MANIFEST = """
project: {id: killed, name: Killed}
collections:
  things:
    schema: {number: {type: integer, required: true}}
    documents: [{file: things.jsonl, key: [number]}]
"""


@pytest.fixture
def shell(mongodb_uri: str, mongo: MongoClient[dict[str, Any]]) -> Iterator[Shell]:
    prefix = f"k_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_"
    yield Shell({"PATH": os.environ["PATH"], "MONGODB_URI": mongodb_uri, "SECRET_KEY": KEY, "DATABASE_PREFIX": prefix})
    for name in mongo.list_database_names():
        if name.startswith(prefix):
            mongo.drop_database(name)


def test_a_mistake_is_one_line_on_stderr(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "seed.yaml").write_text("project: {id: p}")
    result = shell.run("seed", str(tmp_path / "seed.yaml"))
    assert result.returncode == 1
    assert result.stderr == f"auth-collections: {tmp_path / 'seed.yaml'}: project.name: Field required\n"


def test_the_report_ends_with_counts_and_the_rate_and_a_refusal_is_status_1(shell: Shell, tmp_path: Path) -> None:
    manifest = {"project": {"id": "p", "name": "P"}, "users": [{"rows": [{"email": "x", "password": "12345678"}]}]}
    (tmp_path / "seed.json").write_text(json.dumps(manifest))
    result = shell.run("seed", str(tmp_path / "seed.json"))
    assert result.returncode == 1
    refusal, project, users, rate, keys, url, secret, publishable = result.stdout.splitlines()
    assert refusal == "! users[0].rows[0]: email: An email address must have an @-sign."
    assert (project, users) == ("project: 1 created", "users: 1 refused")
    assert rate.startswith("2 rows in ")
    assert keys == "The secret key of p, and its publishable key for pages and apps, shown this once:"
    assert url.startswith("export URL=http://127.0.0.1:")
    assert secret.startswith("export API_KEY=ac_p_")
    assert publishable.startswith("export PUBLISHABLE_KEY=acp_p_")


def test_a_dry_run_says_that_it_is_one(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "seed.json").write_text('{"project": {"id": "p", "name": "P"}}')
    result = shell.run("seed", str(tmp_path / "seed.json"), "--dry-run")
    assert result.stdout.splitlines()[-1].startswith("Dry run: nothing was changed")
    assert shell.json("project", "list") == []


def test_n10_a_record_of_17_megabytes_is_one_line(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "seed.yaml").write_text(MANIFEST)
    (tmp_path / "things.jsonl").write_text(f'{{"number": "{"x" * 17_000_000}"}}\n{{"number": 2}}\n')
    result = shell.run("seed", str(tmp_path / "seed.yaml"))
    assert (result.returncode, result.stderr.partition(" at ")[0]) == (1, "MongoDB")
    refusal, *counts = result.stdout.splitlines()
    assert refusal == "! things.jsonl:1: has more than 1 MiB"
    assert counts[:3] == ["project: 1 created", "collections: 1 created", "things: 1 created, 1 refused"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: " + "9" * 30, "an integer must have at most 64 bits"),
        ("a: .nan", "a number must be between -1.8e308 and 1.8e308"),
        ("1: x", 'a name must be text, which "1" is not; put quotes around it'),
        ("a: !!set {x}", "set is no type of JSON"),
        ("a: " + "[" * 5_000, "nested too deeply"),
    ],
    ids=["30 digits", "nan", "name", "set", "deep"],
)
def test_n37_what_a_manifest_cannot_hold_is_one_line(shell: Shell, tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "seed.yaml").write_text(f"project: {{id: p, name: P}}\nusers:\n- rows:\n  - {text}\n")
    result = shell.run("seed", str(tmp_path / "seed.yaml"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"auth-collections: {tmp_path / 'seed.yaml'}: not valid YAML: {fault}")
    assert result.stderr.count("\n") == 1


def test_a_killed_run_is_continued_by_the_next(
    shell: Shell, mongo: MongoClient[dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "seed.yaml").write_text(MANIFEST)
    (tmp_path / "things.jsonl").write_text("".join(f'{{"number": {number}}}\n' for number in range(DOCUMENTS)))
    things = mongo[f"{shell.environment['DATABASE_PREFIX']}p_killed"]["c_things"]
    command = [sys.executable, "-m", "service", "seed", str(tmp_path / "seed.yaml")]
    process = subprocess.Popen(command, env=shell.environment)  # noqa: S603 - our own command
    while things.estimated_document_count() == 0 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 0 < things.count_documents({}) < DOCUMENTS
    result = shell.run("seed", str(tmp_path / "seed.yaml"))
    assert result.returncode == 0, result.stderr
    assert things.count_documents({}) == DOCUMENTS
    assert len(things.distinct("data.number")) == DOCUMENTS

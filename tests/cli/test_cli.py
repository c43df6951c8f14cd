"""The command line as an operator meets it: real processes on the test database."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pymongo import MongoClient

from faults.commands import Shell, await_ready, free_port, serving
from faults.starts import NOWHERE
from faults.waiting import wait_until
from service.cli.demo import DEMO_PASSWORD

# A server that looks after a deletion for two seconds instead of the half minute in which late writes may come.
IMPATIENT = """
from service.domain.projects import deletion
deletion.QUIET_SECONDS = 2.0
from service.cli.main import main
main()
"""
# The settings that every new project has.
NEW = {"TOKEN_ISSUER": "project"}


def test_a_project_from_creation_to_deletion(shell: Shell, mongo: MongoClient[Any]) -> None:
    made = shell.json("project", "create", "My app", "--id", "my-app", "--set", "PASSWORD_MIN_LENGTH=10")
    assert made.keys() == {"project_id", "name", "api_key", "publishable_key"}
    assert made["api_key"].startswith("ac_my-app_")
    assert [project["project_id"] for project in shell.json("project", "list")] == ["my-app"]
    changed = shell.json("project", "set", "my-app", "TIER=pro", "PASSWORD_MIN_LENGTH=")
    assert changed["settings"] == NEW | {"TIER": "pro"}
    assert shell.json("project", "show", "my-app") == changed
    rotated = shell.json("project", "rotate-key", "my-app")
    assert rotated["api_key"] != made["api_key"]
    system = mongo[f"{shell.environment['DATABASE_PREFIX']}system"]
    assert system["api_keys"].count_documents({"kind": "secret"}) == 1
    assert rotated["api_key"] not in str(list(system["api_keys"].find()))
    assert shell.json("project", "delete", "my-app", "--yes") == {"project_id": "my-app", "deleted": True}
    assert shell.json("project", "list") == []
    assert not [name for name in mongo.list_database_names() if name.endswith("p_my-app")]


def test_secrets_are_sealed_at_rest_and_masked_in_print(shell: Shell, mongo: MongoClient[Any]) -> None:
    shell.json("project", "create", "P", "--id", "p", "--set", "IDP_CLIENT_SECRET=s3cret-value")
    stored = str(list(mongo[f"{shell.environment['DATABASE_PREFIX']}system"]["projects"].find()))
    assert "s3cret-value" not in stored
    assert '"d"' not in stored
    assert shell.json("project", "show", "p")["settings"] == NEW | {
        "TIER": "enterprise",
        "IDP_CLIENT_SECRET": "********",
    }
    other = base64.b64encode(b"o" * 32).decode()
    refused = shell.run("project", "show", "p", SECRET_KEY=other)
    assert refused.returncode == 1
    assert "SECRET_KEY does not open" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("project", "create", "P", "--set", "NONSENSE=1"), 1, "NONSENSE is not a project setting"),
        (("project", "create", "P", "--set", "TIER=gold"), 1, "TIER"),
        (("project", "create", "P", "--set", "SIGNUP_LIMIT=-1"), 1, "SIGNUP_LIMIT"),
        (("project", "create", "P", "--set", "CORS_ORIGINS=app.example.com"), 1, "CORS_ORIGINS"),
        (("project", "create", "P", "--set", "TIER"), 1, "KEY=VALUE"),
        (("project", "create", "P", "--id", "Not An Id"), 1, "id"),
        (("project", "create", ""), 1, "name"),
        (("project", "show", "nobody"), 1, "There is no project nobody"),
        (("project", "set", "nobody", "TIER=pro"), 1, "There is no project nobody"),
        (("project", "delete", "nobody", "--yes"), 1, "There is no project nobody"),
        (("project", "create"), 2, "NAME"),
        (("project", "frobnicate"), 2, "frobnicate"),
        (("serve", "--port", "99999999"), 2, "port"),
        (("--nonsense",), 2, "nonsense"),
    ],
)
def test_errors_are_one_line(shell: Shell, arguments: tuple[str, ...], status: int, says: str) -> None:
    result = shell.run(*arguments)
    assert result.returncode == status
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"BCRYPT_COST": "99"}, "BCRYPT_COST"),
        ({"SECRET_KEY": "short"}, "SECRET_KEY"),
        ({"SECRET_KEY": ""}, "SECRET_KEY is not set"),
        ({"MONGODB_URI": "localhost"}, "MONGODB_URI"),
        ({"BASE_URL": "example.com"}, "BASE_URL"),
        ({"TRUSTED_PROXIES": "everyone"}, "TRUSTED_PROXIES"),
        ({"LOG_FORMAT": "xml", "LOG_LEVEL": "loud"}, "LOG_FORMAT"),
        ({"DATABASE_PREFIX": "a b"}, "DATABASE_PREFIX"),
    ],
)
def test_a_bad_environment_is_named(shell: Shell, changes: dict[str, str], says: str) -> None:
    result = shell.run("project", "list", **changes)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_a_taken_id_is_a_conflict(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    result = shell.run("project", "create", "Q", "--id", "p")
    assert result.returncode == 1
    assert "already exists" in result.stderr


def test_check_says_what_is_well(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    checked = shell.run("check")
    assert checked.returncode == 0
    assert "topology: replica set" in checked.stdout
    assert "users and files have their indexes" in checked.stdout


def test_n16_a_deletion_asks_at_a_terminal_for_the_id(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    refused, asked = delete_at_terminal(shell, "q\n")
    assert refused == 1
    assert "This deletes p with all its data. Type its id to go on" in asked
    assert [project["project_id"] for project in shell.json("project", "list")] == ["p"]
    deleted, _ = delete_at_terminal(shell, "p\n")
    assert deleted == 0
    assert shell.json("project", "list") == []


def delete_at_terminal(shell: Shell, answer: str) -> tuple[int, str]:
    """The exit status of the command, and its output, after a person typed `answer`."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "service", "project", "delete", "p"]
    try:
        os.write(ours, answer.encode())
        result = subprocess.run(  # noqa: S603
            command, env=shell.environment, stdin=theirs, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return result.returncode, result.stdout + result.stderr


def test_n16_without_a_terminal_a_deletion_needs_yes(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    result = shell.run("project", "delete", "p")
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert "--yes" in result.stderr
    assert [project["project_id"] for project in shell.json("project", "list")] == ["p"]


def test_n5_an_interrupted_deletion_is_finished_by_the_next_server(shell: Shell, mongo: MongoClient[Any]) -> None:
    """The state after a command that ended right after its first write; meanwhile the id is taken."""
    key = shell.json("project", "create", "P", "--id", "p")["api_key"]
    prefix = shell.environment["DATABASE_PREFIX"]
    mongo[f"{prefix}system"]["projects"].update_one({"_id": "p"}, {"$set": {"deleting": datetime.now(UTC)}})
    refused = shell.run("project", "create", "P", "--id", "p")
    assert refused.returncode == 1
    assert "The project p is being deleted" in refused.stderr
    port = free_port()
    command = [sys.executable, "-c", IMPATIENT, "serve", "--port", str(port)]
    with subprocess.Popen(command, env=shell.environment, stdout=NOWHERE, stderr=NOWHERE) as server:  # noqa: S603
        await_ready(f"http://127.0.0.1:{port}")
        users = httpx2.get(f"http://127.0.0.1:{port}/auth-collections/users", headers={"x-api-key": key})
        wait_until(lambda: not mongo[f"{prefix}system"]["projects"].count_documents({"_id": "p"}))
        server.send_signal(signal.SIGTERM)
        server.wait(30)
    assert users.status_code == 401
    assert not mongo[f"{prefix}system"]["projects"].find_one({"_id": "p"})
    assert f"{prefix}p_p" not in mongo.list_database_names()
    shell.json("project", "create", "P", "--id", "p")


def test_check_says_what_a_collection_lacks_and_how_to_mend_it(shell: Shell, mongo: MongoClient[Any]) -> None:
    project = mongo[f"{shell.environment['DATABASE_PREFIX']}p_p"]
    shell.json("project", "create", "P", "--id", "p")
    moment = datetime.now(UTC)
    project["collections"].insert_one({"_id": "things", "schema": {}, "created_at": moment, "updated_at": moment})
    result = shell.run("check")
    assert result.returncode == 1
    assert 'WRONG project p, collection things: lacks its validator, the index "created_at"' in result.stdout
    assert 'mend it by PATCH /api/collections/<name> with {"schema": {}}' in result.stdout


def test_what_a_command_logs_goes_to_stderr_as_a_servers_log_does(shell: Shell, mongo: MongoClient[Any]) -> None:
    shell.json("project", "create", "P", "--id", "p")
    # Not what the service writes: an intent that names no files.
    project = mongo[f"{shell.environment['DATABASE_PREFIX']}p_p"]
    project["uploads"].insert_one({"_id": "broken", "created_at": datetime(2020, 1, 1, tzinfo=UTC)})
    as_json, as_text = shell.run("sweep"), shell.run("sweep", LOG_FORMAT="console")
    for result in (as_json, as_text):
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.splitlines()[-1] == "p: could not be swept (KeyError); the others were"
    line = json.loads(as_json.stderr.splitlines()[0])
    assert (line["event"], line["project"]) == ("sweep_failed", "p")
    assert "KeyError" in line["exception"]
    assert "sweep_failed" in as_text.stderr
    # Python's own form, without the variables of each frame.
    assert "Traceback (most recent call last):" in as_text.stderr


def test_n17_check_says_how_to_mend_a_pattern_that_re2_does_not_know(shell: Shell, mongo: MongoClient[Any]) -> None:
    """A change of nothing would be refused: the field has to be declared with another pattern."""
    project = mongo[f"{shell.environment['DATABASE_PREFIX']}p_p"]
    shell.json("project", "create", "P", "--id", "p")
    moment = datetime.now(UTC)
    schema = {"a": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string", "pattern": "^(?=a)"}}}
    project["collections"].insert_one({"_id": "things", "schema": schema, "created_at": moment, "updated_at": moment})
    result = shell.run("check")
    assert result.returncode == 1
    assert 'a pattern that RE2 knows in place of "^(?=a)"' in result.stdout
    assert 'with {"schema": {"tags": {...}}}: each field with another pattern, or none' in result.stdout


def test_v2_check_names_rules_that_exceed_a_later_bound(shell: Shell, mongo: MongoClient[Any]) -> None:
    project = mongo[f"{shell.environment['DATABASE_PREFIX']}p_p"]
    shell.json("project", "create", "P", "--id", "p")
    rule = {"read": {"or": [{"data.a_eq": f"s{number}"} for number in range(30)]}}
    rules = {"users": {"read": "users", "fields": {f"data.f{number}": rule for number in range(4)}}}
    project["rules"].insert_one({"_id": "rules", "version": "1", "text": json.dumps(rules)})
    result = shell.run("check")
    assert result.returncode == 1
    assert "WRONG project p: its rules cannot be saved again: ['users', 'fields']: " in result.stdout
    assert "at most 100 conditions together, not 120" in result.stdout


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_that_is_taken_is_one_line(shell: Shell, workers: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = shell.run("serve", "--port", str(port), "--workers", workers)
    said = f"auth-collections: Cannot listen on 127.0.0.1 port {port}: Address already in use; see --host and --port\n"
    assert (result.returncode, result.stdout, result.stderr) == (1, "", said)


def test_serve_from_nothing(shell: Shell, tmp_path: Path) -> None:
    """A machine without MongoDB: one is embedded, the demo project made once, and the printed curl answers."""
    port = free_port()
    nothing = {"MONGODB_URI": "", "SECRET_KEY": "", "DATA_DIR": str(tmp_path / "fresh")}
    with serving(shell, "--demo", "--port", str(port), **nothing) as first:
        await_ready(f"http://127.0.0.1:{port}")
        first.send_signal(signal.SIGTERM)
        banner, log = first.communicate(timeout=60)
    assert first.returncode == 0, log
    key = next(word for word in banner.replace("'", " ").split() if word.startswith("ac_demo_"))
    assert DEMO_PASSWORD in banner
    with serving(shell, "--demo", "--port", str(port), "--workers", "2", **nothing) as second:
        await_ready(f"http://127.0.0.1:{port}")
        users = httpx2.get(
            f"http://127.0.0.1:{port}/auth-collections/users?name_eq=Valjean", headers={"x-api-key": key}
        )
        second.send_signal(signal.SIGINT)
        banner, log = second.communicate(timeout=60)
    assert users.json()["total"] == 1
    assert second.returncode == 0, log
    assert key not in banner + log
    assert "rotate-key" in banner


def test_f3_a_new_project_has_the_deployments_tier_and_says_so(shell: Shell) -> None:
    def create(name: str, *more: str, **environment: str) -> str:
        return shell.run("project", "create", name, "--id", name, *more, **environment).stdout

    assert "tier: enterprise (no daily limit)" in create("usual")
    assert "tier: pro (100,000 requests a day)" in create("hosted", DEFAULT_TIER="pro")
    assert "tier: free (1,000 requests a day)" in create("small", "--set", "TIER=free")
    assert "tier: enterprise (5,000 requests a day)" in create("limited", "--set", "DAILY_LIMIT=5000")
    assert shell.json("project", "show", "hosted")["settings"] == NEW | {"TIER": "pro"}
    assert shell.json("project", "set", "small", "TIER=")["settings"] == NEW | {"TIER": "enterprise"}
    wrong = shell.run("project", "list", DEFAULT_TIER="gold")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
    assert "DEFAULT_TIER" in wrong.stderr


NEEDS_TIER = "DAILY_LIMIT needs TIER=enterprise; set TIER=enterprise as well, or DAILY_LIMIT=0"


def test_b7_a_daily_limit_that_would_mean_nothing_is_refused(shell: Shell, tmp_path: Path) -> None:
    shell.json("project", "create", "P", "--id", "p", "--set", "TIER=free")
    manifest = tmp_path / "seed.yaml"
    manifest.write_text("project: {id: p, name: P, settings: {DAILY_LIMIT: 5000}}")
    other = tmp_path / "other.yaml"
    other.write_text("project: {id: q, name: Q, settings: {TIER: pro, DAILY_LIMIT: 5000}}")
    for command in (
        ("project", "set", "p", "DAILY_LIMIT=5000"),
        ("project", "create", "Q", "--id", "q", "--set", "DAILY_LIMIT=5000", "--set", "TIER=pro"),
        ("seed", str(manifest)),
        ("seed", str(manifest), "--dry-run"),
        ("seed", str(other)),
        ("seed", str(other), "--dry-run"),
    ):
        refused = shell.run(*command)
        assert (refused.returncode, NEEDS_TIER in refused.stderr) == (1, True), (command, refused.stderr)
    assert shell.json("project", "show", "p")["settings"] == NEW | {"TIER": "free"}
    assert [each["project_id"] for each in shell.json("project", "list")] == ["p"]
    both = shell.json("project", "set", "p", "TIER=enterprise", "DAILY_LIMIT=5000")
    assert both["settings"] == NEW | {"TIER": "enterprise", "DAILY_LIMIT": 5000}
    assert NEEDS_TIER in shell.run("project", "set", "p", "TIER=pro").stderr
    assert shell.json("project", "set", "p", "DAILY_LIMIT=0", "TIER=free")["settings"]["TIER"] == "free"

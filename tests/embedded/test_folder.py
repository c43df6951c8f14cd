"""A mongod that outlived its service, whatever `mongod.json` says; and the cause of one that does not start."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pymongo import MongoClient

from service.embedded.folder import find_cause, find_process, is_listening
from service.embedded.mongod import embedded_mongodb
from service.errors import ConfigurationError

LINES = {
    "text": (
        {"s": "F", "msg": "Cannot listen", "attr": {"error": "Address already in use"}},
        "Cannot listen: Address already in use",
    ),
    "engine": (
        {"s": "E", "msg": "Engine", "attr": {"error": 22, "message": {"msg": "unknown key", "error_str": "Invalid"}}},
        "Engine: Invalid: unknown key",
    ),
    "plain": ({"s": "F", "msg": "\n\n***aborting"}, "***aborting"),
    "numbers": ({"s": "E", "msg": "Engine", "attr": {"error": 22}}, "Engine"),
}


def kill_in(name: str, folder: Path) -> None:
    """Starts a mongod of `folder` in a process that is killed where it would call `name`."""
    program = (
        "import os, pathlib, signal, sys\n"
        "from service.embedded import mongod\n"
        f"mongod.{name} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "mongod.embedded_mongodb(pathlib.Path(sys.argv[1])).__enter__()\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, check=False)  # noqa: S603
    assert killed.returncode == -signal.SIGKILL, killed.stderr


def await_process(folder: Path) -> int:
    """The pid of the mongod of `folder`, as soon as it holds its files."""
    deadline = time.monotonic() + 60
    while not (pid := find_process(folder / "mongodb")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert pid
    return pid


@pytest.mark.parametrize("name", ["_await_listening", "write_state"])
def test_a_mongod_that_outlived_its_start_is_joined(tmp_path: Path, name: str) -> None:
    kill_in(name, tmp_path)
    pid = await_process(tmp_path)
    with embedded_mongodb(tmp_path) as uri, MongoClient[dict[str, object]](uri) as client:
        assert client.admin.command("serverStatus")["pid"] == pid
        assert json.loads((tmp_path / "mongodb" / "mongod.json").read_text())["pid"] == pid
    assert find_process(tmp_path / "mongodb") is None


@pytest.mark.parametrize("left", ["", '{"pid": 1', None])
def test_a_mongod_whose_port_is_lost_is_joined(tmp_path: Path, left: str | None) -> None:
    kill_in("watch_repeatedly", tmp_path)
    pid, state = await_process(tmp_path), tmp_path / "mongodb" / "mongod.json"
    if left is None:
        state.unlink()
    else:
        state.write_text(left)
    with embedded_mongodb(tmp_path) as uri, MongoClient[dict[str, object]](uri) as client:
        assert client.admin.command("serverStatus")["pid"] == pid
    assert find_process(tmp_path / "mongodb") is None


def test_a_process_with_the_pid_of_a_dead_mongod_is_left_alone(tmp_path: Path) -> None:
    """`mongod.json` still names the mongod before, as where a process died between a start and its note."""
    state = tmp_path / "mongodb" / "mongod.json"
    with subprocess.Popen(["sleep", "600"]) as bystander:  # noqa: S607
        with embedded_mongodb(tmp_path) as uri:
            state.write_text(json.dumps(json.loads(state.read_text()) | {"pid": bystander.pid}))
        assert bystander.poll() is None
        bystander.kill()
    assert not is_listening(int(uri.rpartition(":")[2].partition("/")[0]))


def test_another_program_that_has_the_files_open_is_named(tmp_path: Path) -> None:
    with embedded_mongodb(tmp_path):
        pass
    lock = tmp_path / "mongodb" / "db" / "mongod.lock"
    program = (
        "import fcntl, sys, time\n"
        "lock = open(sys.argv[1], 'w')\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "print('4194000', file=lock, flush=True)\n"
        "print(flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(lock)], stdout=subprocess.PIPE) as holder:  # noqa: S603
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(ConfigurationError, match="Process 4194000 has the files of"), embedded_mongodb(tmp_path):
            pass
        holder.kill()


def test_the_cause_of_a_mongod_that_does_not_start_is_said_in_words(tmp_path: Path) -> None:
    with embedded_mongodb(tmp_path):
        pass
    (tmp_path / "mongodb" / "keyfile").write_text("abc")
    with pytest.raises(ConfigurationError) as caught, embedded_mongodb(tmp_path):
        pass
    assert "Security key size is out range; see " in caught.value.detail
    assert "{" not in caught.value.detail


@pytest.mark.parametrize(("entry", "cause"), LINES.values(), ids=LINES)
def test_the_first_error_of_this_start_is_the_cause(tmp_path: Path, entry: dict[str, object], cause: str) -> None:
    earlier = b'{"s": "F", "msg": "of an earlier start"}\n'
    lines = [
        json.dumps({"s": "I", "msg": "fine"}),
        "no json",
        json.dumps(entry),
        json.dumps({"s": "F", "msg": "later"}),
    ]
    (tmp_path / "mongod.log").write_bytes(earlier + "\n".join(lines).encode())
    assert find_cause(tmp_path, len(earlier)) == cause


def test_a_log_without_an_error_names_no_cause(tmp_path: Path) -> None:
    (tmp_path / "mongod.log").write_text('{"s": "I", "msg": "fine"}\n')
    assert not find_cause(tmp_path, 0)

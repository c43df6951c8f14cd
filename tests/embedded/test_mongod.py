"""The embedded MongoDB: started once, shared, stopped by the last, and found again after a crash."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pymongo import MongoClient

from service.embedded.mongod import ENVIRONMENT, embedded_mongodb
from service.errors import ConfigurationError


def port_of(uri: str) -> int:
    return int(uri.rpartition(":")[2].partition("/")[0])


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_last_to_leave_stops_it_and_the_data_stays(tmp_path: Path) -> None:
    with embedded_mongodb(tmp_path) as uri:
        with embedded_mongodb(tmp_path) as same:
            assert same == uri
        with MongoClient[dict[str, object]](uri) as client:
            assert client.admin.command("hello")["setName"] == "embedded"
            client.shop.things.insert_one({"_id": 1})
    assert not listening(port_of(uri))
    # Another port than last time, as when something else has taken it meanwhile.
    with (
        hanging_up(port_of(uri)),
        embedded_mongodb(tmp_path) as other,
        MongoClient[dict[str, object]](other) as client,
    ):
        assert other != uri
        assert client.shop.things.find_one() == {"_id": 1}
        with client.start_session() as session, session.start_transaction():
            client.shop.things.insert_one({"_id": 2}, session=session)


@contextmanager
def hanging_up(port: int) -> Iterator[None]:
    """A server that has nothing to say to anybody."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                listener.accept()[0].close()

    with socket.create_server(("127.0.0.1", port)) as listener:
        server = threading.Thread(target=serve)
        server.start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
        server.join()


def test_ctrl_c_does_not_reach_it_and_linux_schedules_it_with_the_service(tmp_path: Path) -> None:
    """A process group of its own for the one, the same session for the other (sched(7), "The autogroup feature")."""
    with embedded_mongodb(tmp_path):
        pid = json.loads((tmp_path / "mongodb" / "mongod.json").read_text())["pid"]
        assert os.getpgid(pid) == pid
        assert os.getsid(pid) == os.getsid(0)


def test_a_killed_process_leaves_a_server_that_the_next_one_joins(tmp_path: Path) -> None:
    """As does the server being killed: both recover without help."""
    program = (
        "import time, pathlib, sys\n"
        "from service.embedded.mongod import embedded_mongodb\n"
        "with embedded_mongodb(pathlib.Path(sys.argv[1])) as uri:\n"
        "    print(uri, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        uri = process.stdout.readline().strip()
        process.kill()
    assert listening(port_of(uri))
    with embedded_mongodb(tmp_path) as joined, MongoClient[dict[str, object]](joined) as client:
        assert joined == uri
        client.shop.things.insert_one({"_id": 1})
        os.kill(client.admin.command("serverStatus")["pid"], signal.SIGKILL)
    await_silence(port_of(uri))
    with embedded_mongodb(tmp_path) as again, MongoClient[dict[str, object]](again) as client:
        assert client.shop.things.find_one() == {"_id": 1}
    assert not listening(port_of(again))


def await_silence(port: int) -> None:
    deadline = time.monotonic() + 60
    while listening(port) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not listening(port)


def test_two_first_starts_share_one_server(tmp_path: Path) -> None:
    program = (
        "import time, pathlib, sys\n"
        "from service.embedded.mongod import embedded_mongodb\n"
        "with embedded_mongodb(pathlib.Path(sys.argv[1])) as uri:\n"
        "    print(uri, flush=True)\n"
        "    time.sleep(2)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]  # noqa: S603
    uris = {process.communicate(timeout=60)[0] for process in started}
    assert [process.returncode for process in started] == [0, 0, 0]
    assert len(uris) == 1


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "bin" / "mongod"
    broken.parent.mkdir()
    says = "mongod: error while loading shared libraries: libcurl.so.4: cannot open shared object file"
    broken.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(broken.parent), prepend=os.pathsep)
    with pytest.raises(ConfigurationError) as caught, embedded_mongodb(tmp_path):
        pass
    assert "libcurl.so.4" in caught.value.detail
    assert "MONGODB_URI" in caught.value.detail
    assert "\n" not in caught.value.detail


def test_the_last_to_leave_need_not_be_the_one_that_started_it(tmp_path: Path) -> None:
    """The server is then a child of a process that lives on, and never asks after it."""
    program = (
        "import pathlib, sys\n"
        "from service.embedded.mongod import embedded_mongodb\n"
        "with embedded_mongodb(pathlib.Path(sys.argv[1])) as uri:\n"
        "    print(uri, flush=True)\n"
        "    sys.stdin.readline()\n"
        "print('left', flush=True)\n"
        "sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:  # noqa: S603
        assert starter.stdin is not None
        assert starter.stdout is not None
        starter.stdout.readline()
        with embedded_mongodb(tmp_path) as uri:
            starter.stdin.write("\n")
            starter.stdin.flush()
            assert starter.stdout.readline() == "left\n"
            started = time.monotonic()
        assert not listening(port_of(uri))
        assert time.monotonic() - started < 20
        starter.stdin.close()


def test_n21_mongod_has_as_many_files_as_it_may(tmp_path: Path) -> None:
    program = (
        "import pathlib, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (512, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
        "from service.embedded.mongod import embedded_mongodb\n"
        "with embedded_mongodb(pathlib.Path(sys.argv[1])):\n"
        "    pid = __import__('json').loads((pathlib.Path(sys.argv[1]) / 'mongodb/mongod.json').read_text())['pid']\n"
        "    print(pathlib.Path(f'/proc/{pid}/limits').read_text())\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    limits = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    soft, hard = next(line for line in limits.splitlines() if line.startswith("Max open files")).split()[3:5]
    assert soft == hard


def test_n28_a_server_that_was_never_initiated_is_initiated_by_whoever_joins(tmp_path: Path) -> None:
    """As when the process that started it was killed before it made it a replica set."""
    program = (
        "import os, pathlib, signal, sys\n"
        "from service.embedded import access, mongod\n"
        "access.become_primary = lambda client, port: os.kill(os.getpid(), signal.SIGKILL)\n"
        "mongod.embedded_mongodb(pathlib.Path(sys.argv[1])).__enter__()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    killed = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    assert killed.returncode == -signal.SIGKILL
    with embedded_mongodb(tmp_path) as uri, MongoClient[dict[str, object]](uri) as client:
        assert client.admin.command("hello")["isWritablePrimary"] is True


def test_v29_mongod_inherits_no_secret_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECRET_KEY", "MONGODB_URI", "SMTP_URL"):
        monkeypatch.setenv(name, "hidden-word")
    monkeypatch.setenv("TZ", "UTC")
    with embedded_mongodb(tmp_path):
        pid = json.loads((tmp_path / "mongodb" / "mongod.json").read_text())["pid"]
        environment = Path(f"/proc/{pid}/environ").read_text()
    assert "TZ=UTC" in environment.split("\0")
    assert "hidden-word" not in environment
    assert {line.partition("=")[0] for line in environment.split("\0") if line} <= set(ENVIRONMENT)

"""THREATS row V14: only who has the password of the folder may speak to the embedded MongoDB."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from faults.commands import free_port
from service.embedded.folder import mongod_binary
from service.embedded.mongod import embedded_mongodb
from service.errors import ConfigurationError

UNAUTHORIZED, AUTHENTICATION_FAILED = 13, 18
NOBODY = 65534
REFUSED: tuple[dict[str, Any], ...] = (
    {"find": "users"},
    {"insert": "users", "documents": [{"_id": 1}]},
    {"listDatabases": 1},
    {"createUser": "mine", "pwd": "mine", "roles": ["root"]},
    {"replSetInitiate": {}},
    {"setParameter": 1, "quiet": True},
    {"getCmdLineOpts": 1},
    {"currentOp": 1},
    {"shutdown": 1},
)


def port_of(folder: Path) -> int:
    return int(json.loads((folder / "mongodb" / "mongod.json").read_text())["port"])


def refusal(client: MongoClient[dict[str, Any]], command: dict[str, Any]) -> int | None:
    with pytest.raises(OperationFailure) as caught:
        client.admin.command(command)
    return caught.value.code


def test_v14_a_client_without_the_password_is_refused_every_command(tmp_path: Path) -> None:
    with embedded_mongodb(tmp_path) as uri:
        address = f"mongodb://127.0.0.1:{port_of(tmp_path)}/?directConnection=true"
        with MongoClient[dict[str, Any]](address) as stranger:
            assert {refusal(stranger, command) for command in REFUSED} == {UNAUTHORIZED}
        guess = address.replace("//", "//auth-collections:guess@")
        with MongoClient[dict[str, Any]](guess) as guesser:
            assert refusal(guesser, {"ping": 1}) == AUTHENTICATION_FAILED
        with MongoClient[dict[str, Any]](uri) as client:
            assert client.admin["users"].find_one() is None
            client.shop.things.insert_one({"_id": 1})


def test_v14_its_secrets_are_files_of_their_owner_alone(tmp_path: Path) -> None:
    with embedded_mongodb(tmp_path) as uri:
        folder = tmp_path / "mongodb"
        for name in ("password", "keyfile"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
            arguments = Path(f"/proc/{json.loads((folder / 'mongod.json').read_text())['pid']}/cmdline")
            assert (folder / name).read_bytes() not in arguments.read_bytes()
        assert (folder / "password").read_text() in uri


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_v14_another_user_of_the_machine_reads_neither_the_password_nor_a_document(tmp_path: Path) -> None:
    program = (
        "import os, sys, pymongo\n"
        "os.setgroups([]), os.setgid(int(sys.argv[3])), os.setuid(int(sys.argv[3]))\n"
        "client = pymongo.MongoClient('127.0.0.1', int(sys.argv[1]), directConnection=True)\n"
        "for look in (lambda: client.shop.things.find_one(), lambda: open(sys.argv[2]).read()):\n"
        "    try:\n"
        "        print('seen', look())\n"
        "    except (pymongo.errors.OperationFailure, PermissionError) as error:\n"
        "        print(type(error).__name__)\n"
    )
    with embedded_mongodb(tmp_path) as uri, MongoClient[dict[str, Any]](uri) as client:
        client.shop.things.insert_one({"_id": 1})
        password = str(tmp_path / "mongodb" / "password")
        command = [sys.executable, "-c", program, str(port_of(tmp_path)), password, str(NOBODY)]
        seen = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert seen.stdout.split() == ["OperationFailure", "PermissionError"]


def test_v14_a_second_process_joins_with_the_password(tmp_path: Path) -> None:
    program = (
        "import pathlib, pymongo, sys\n"
        "from service.embedded.mongod import embedded_mongodb\n"
        "with embedded_mongodb(pathlib.Path(sys.argv[1])) as uri, pymongo.MongoClient(uri) as client:\n"
        "    print(uri, client.shop.things.find_one())\n"
    )
    with embedded_mongodb(tmp_path) as uri, MongoClient[dict[str, Any]](uri) as client:
        client.shop.things.insert_one({"_id": 1})
        command = [sys.executable, "-c", program, str(tmp_path)]
        joined = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert joined.stdout == f"{uri} {{'_id': 1}}\n"


@contextmanager
def of_an_older_version(data_dir: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The mongod that 2112db0 started for a folder: the primary of its set, without a password."""
    folder = data_dir / "mongodb"
    (folder / "db").mkdir(parents=True)
    port = free_port()
    options = ["--dbpath", str(folder / "db"), "--port", str(port), "--bind_ip", "127.0.0.1", "--nounixsocket"]
    options += ["--replSet", "embedded", "--logpath", str(folder / "mongod.log"), "--quiet"]
    with subprocess.Popen([str(mongod_binary()), *options], stdout=subprocess.DEVNULL) as process:  # noqa: S603
        (folder / "mongod.json").write_text(json.dumps({"pid": process.pid, "port": port}))
        with MongoClient[dict[str, Any]]("127.0.0.1", port, directConnection=True) as client:
            host = f"127.0.0.1:{port}"
            client.admin.command("replSetInitiate", {"_id": "embedded", "members": [{"_id": 0, "host": host}]})
            while not client.admin.command("hello")["isWritablePrimary"]:
                time.sleep(0.02)
            client.shop.things.insert_one({"_id": "old"})
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)


def test_v14_an_old_folder_gets_its_password_at_the_next_start(tmp_path: Path) -> None:
    with of_an_older_version(tmp_path):
        pass
    for _ in range(2):
        with embedded_mongodb(tmp_path) as uri, MongoClient[dict[str, Any]](uri) as client:
            assert client.shop.things.find_one() == {"_id": "old"}
            with MongoClient[dict[str, Any]]("127.0.0.1", port_of(tmp_path), directConnection=True) as stranger:
                assert refusal(stranger, {"find": "things"}) == UNAUTHORIZED


def test_v14_an_open_mongod_that_a_killed_older_version_left_is_replaced(tmp_path: Path) -> None:
    with (
        of_an_older_version(tmp_path) as old,
        embedded_mongodb(tmp_path) as uri,
        MongoClient[dict[str, Any]](uri) as client,
    ):
        assert old.wait(30) == 0
        assert client.shop.things.find_one() == {"_id": "old"}


def test_v14_an_open_mongod_that_an_older_version_uses_is_left_alone_and_named(tmp_path: Path) -> None:
    program = (
        "import fcntl, sys\n"
        "users = open(sys.argv[1], 'a')\n"
        "fcntl.flock(users, fcntl.LOCK_SH)\n"
        "print('there', flush=True)\n"
        "sys.stdin.readline()\n"
    )
    with of_an_older_version(tmp_path) as old:
        command = [sys.executable, "-c", program, str(tmp_path / "mongodb" / "users.lock")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:  # noqa: S603
            assert user.stdout is not None
            assert user.stdout.readline() == "there\n"
            with (
                pytest.raises(ConfigurationError, match="has no password yet; stop it first"),
                embedded_mongodb(tmp_path),
            ):
                pass
            assert old.poll() is None
            user.communicate("\n")


def test_v14_a_copied_folder_is_closed_to_others_again(tmp_path: Path) -> None:
    """As `cp -r` of a backup leaves it. mongod refuses a key that others may read."""
    with embedded_mongodb(tmp_path) as first:
        pass
    files = [tmp_path / "mongodb" / name for name in ("password", "keyfile")]
    for file in files:
        file.chmod(0o644)
    with embedded_mongodb(tmp_path) as second, MongoClient[dict[str, Any]](second) as client:
        assert client.admin.command("ping")["ok"] == 1
        assert second == first
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600] * 2


@pytest.mark.parametrize("left", ["", "\n"])
@pytest.mark.parametrize("name", ["password", "keyfile"])
def test_v14_an_empty_secret_is_a_lost_one(tmp_path: Path, name: str, left: str) -> None:
    with embedded_mongodb(tmp_path) as uri, MongoClient[dict[str, Any]](uri) as client:
        client.shop.things.insert_one({"_id": 1})
    (tmp_path / "mongodb" / name).write_text(left)
    with embedded_mongodb(tmp_path) as uri, MongoClient[dict[str, Any]](uri) as client:
        assert client.shop.things.find_one() == {"_id": 1}
    assert (tmp_path / "mongodb" / name).read_text().strip()


def test_v14_a_folder_that_lost_its_secrets_gets_new_ones(tmp_path: Path) -> None:
    with embedded_mongodb(tmp_path) as first, MongoClient[dict[str, Any]](first) as client:
        client.shop.things.insert_one({"_id": 1})
    for name in ("password", "keyfile"):
        (tmp_path / "mongodb" / name).unlink()
    with embedded_mongodb(tmp_path) as second, MongoClient[dict[str, Any]](second) as client:
        assert second != first
        assert client.shop.things.find_one() == {"_id": 1}

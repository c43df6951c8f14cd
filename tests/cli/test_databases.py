"""Which database a command speaks to, and how another program is led to it."""

from pathlib import Path
from typing import Any

from pymongo import MongoClient

from faults.commands import Shell
from service.embedded.mongod import embedded_mongodb


def test_v14_mongodb_uri_prints_a_uri_that_opens_the_embedded_mongodb(shell: Shell, tmp_path: Path) -> None:
    with embedded_mongodb(tmp_path) as uri:
        printed = shell.run("mongodb-uri", MONGODB_URI="")
        assert (printed.returncode, printed.stdout, printed.stderr) == (0, f"{uri}\n", "")
        with MongoClient[dict[str, Any]](printed.stdout.strip()) as client:
            assert client.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"] == [
                {"user": "auth-collections", "db": "admin"}
            ]
    assert shell.run("mongodb-uri", MONGODB_URI="").stdout == f"{uri}\n"


def test_mongodb_uri_prints_that_of_the_environment(shell: Shell) -> None:
    assert shell.run("mongodb-uri").stdout == f"{shell.environment['MONGODB_URI']}\n"


def test_mongodb_uri_makes_no_folder(shell: Shell, tmp_path: Path) -> None:
    result = shell.run("mongodb-uri", MONGODB_URI="", DATA_DIR=str(tmp_path / "none"))
    assert result.returncode == 1
    assert result.stderr == f"auth-collections: no data in {tmp_path}/none; name DATA_DIR or MONGODB_URI\n"
    assert not (tmp_path / "none").exists()

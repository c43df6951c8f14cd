"""Which database a command speaks to, and how another program is led to it."""

import json
import socket
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from faults.commands import Shell, await_ready, free_port, serving
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


@pytest.mark.parametrize(
    "arguments", [("project", "list"), ("check",), ("migrate",), ("seed", "MANIFEST", "--dry-run"), ("mail", "list")]
)
def test_a_command_begins_no_database(shell: Shell, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "m.yaml").write_text("project: {id: p, name: P}\n")
    named = [str(tmp_path / "m.yaml") if each == "MANIFEST" else each for each in arguments]
    result = shell.run(*named, MONGODB_URI="", DATA_DIR=str(tmp_path / "none"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"auth-collections: no data in {tmp_path}/none; name DATA_DIR or MONGODB_URI\n"
    assert not (tmp_path / "none").exists()


def test_a_database_begins_with_a_project_and_is_named_from_then_on(shell: Shell, tmp_path: Path) -> None:
    folder = {"MONGODB_URI": "", "DATA_DIR": str(tmp_path / "new")}
    begun = shell.run("project", "create", "P", "--id", "p", "--json", **folder)
    assert begun.returncode == 0
    assert begun.stderr == f"MongoDB of {tmp_path}/new, which begins now\n"
    assert json.loads(begun.stdout)["project_id"] == "p"
    listed = shell.run("project", "list", "--json", **folder)
    assert listed.stderr == f"MongoDB of {tmp_path}/new\n"
    assert [each["project_id"] for each in json.loads(listed.stdout)] == ["p"]


def test_a_project_that_is_not_found_is_missed_in_a_named_database(shell: Shell, tmp_path: Path) -> None:
    folder = {"MONGODB_URI": "", "DATA_DIR": str(tmp_path / "new")}
    assert shell.run("project", "create", "P", **folder).returncode == 0
    missed = shell.run("project", "show", "other", **folder)
    assert missed.stderr == f"auth-collections: There is no project other (MongoDB of {tmp_path}/new)\n"


def test_the_database_of_the_environment_is_named_without_its_password(shell: Shell) -> None:
    host = shell.environment["MONGODB_URI"].rpartition("@")[2].partition("/")[0]
    assert shell.run("project", "list").stderr == f"MongoDB at {host}\n"


def test_a_redirect_url_has_the_address_of_the_server_that_runs(shell: Shell, tmp_path: Path) -> None:
    first, second = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
    folder = {"MONGODB_URI": "", "DATA_DIR": str(tmp_path / "new")}
    assert shell.run("project", "create", "P", "--id", "p", **folder).returncode == 0

    def ask() -> tuple[str, str]:
        """The address in the redirect URL, and the warning about it without the sentence that all have."""
        done = shell.run("provider", "set", "p", "google", "CLIENT_ID=a", "CLIENT_SECRET=b", **folder)
        url = done.stdout.partition("redirect_url: ")[2].partition("/auth-collections/")[0]
        return url, next((line for line in done.stderr.splitlines() if "so redirect_url" in line), "")

    def serve(address: str) -> AbstractContextManager[object]:
        return serving(shell, "--port", address.rpartition(":")[2], **folder)

    advice = "set BASE_URL to the address of the service before you register it"
    default = "http://127.0.0.1:8000"
    assert ask() == (default, f"BASE_URL is not set, so redirect_url begins with {default}; {advice}")
    with serve(first):
        await_ready(first)
        assert ask() == (first, "")
        with serve(second):
            await_ready(second)
            both = f"Servers of {tmp_path}/new answer at {second} and {first}; this is the address of the last one"
            assert ask() == (second, f"{both}, so redirect_url begins with {second}; {advice}")
        assert ask() == (first, "")
    none = f"No server of {tmp_path}/new runs; this is the address of the last one"
    assert ask() == (second, f"{none}, so redirect_url begins with {second}; {advice}")


def test_serve_prints_where_it_listens(shell: Shell) -> None:
    port = str(free_port())
    with serving(shell, "--port", port, BASE_URL="http://service.example") as process:
        await_ready(f"http://127.0.0.1:{port}")
        assert process.stdout is not None
        assert process.stdout.readline() == (
            f"Serving on http://127.0.0.1:{port}; clients reach it at BASE_URL http://service.example (Ctrl-C stops)\n"
        )


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_connection_is_refused_once_serve_has_printed_its_address(shell: Shell, workers: str) -> None:
    port = free_port()
    with serving(shell, "--port", str(port), "--workers", workers) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Serving on ")
        socket.create_connection(("127.0.0.1", port)).close()

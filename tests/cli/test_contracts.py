"""`auth-collections types`: a project's types in a file, and the comparison of both."""

import json
import subprocess
from pathlib import Path

import pytest

from faults.commands import Shell

MANIFEST = """
project: {id: p, name: P}
collections:
  authors: {schema: {name: {type: string, required: true}}}
  books: {schema: {title: {type: string}, author_id: {type: reference, collection: authors}}}
rules:
  collections: {books: {read: anyone}}
"""
TYPES = ("types", "p", "--language", "typescript")


@pytest.fixture
def project(shell: Shell, tmp_path: Path) -> Shell:
    seed(shell, tmp_path, MANIFEST)
    return shell


def seed(shell: Shell, folder: Path, text: str) -> None:
    (folder / "seed.yaml").write_text(text)
    made = shell.run("seed", str(folder / "seed.yaml"), "--migrate")
    assert made.returncode == 0, made.stdout + made.stderr


def run(shell: Shell, *arguments: str, status: int = 0) -> "subprocess.CompletedProcess[str]":
    done = shell.run(*arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_types_are_printed_or_written_into_a_file(project: Shell, tmp_path: Path) -> None:
    out = tmp_path / "schema.ts"
    printed = run(project, *TYPES).stdout
    assert printed.startswith("// auth-collections types 1.")
    assert run(project, *TYPES, "--out", str(out)).stdout == ""
    assert out.read_text() == printed
    assert [path.name for path in tmp_path.glob("*schema*")] == ["schema.ts"]
    guests = run(project, *TYPES, "--view", "anyone").stdout
    assert "Books" in guests
    assert "Authors" not in guests


def test_check_names_the_collections_that_differ(project: Shell, tmp_path: Path) -> None:
    for language in ("typescript", "python"):
        out = tmp_path / f"schema.{language}"
        command = ("types", "p", "--language", language, "--out", str(out))
        assert run(project, *command, "--check", status=1).stdout.split("\n")[1:] == ["authors", "books", "users", ""]
        run(project, *command)
        assert run(project, *command, "--check").stdout == ""
    changed = MANIFEST.replace("title: {type: string}", "title: {type: integer}")
    seed(project, tmp_path, changed.replace("  authors:", "  magazines: {schema: {}}\n  authors:"))
    for language in ("typescript", "python"):
        out = tmp_path / f"schema.{language}"
        before = out.read_bytes()
        command = ("types", "p", "--language", language, "--out", str(out))
        assert run(project, *command, "--check", status=1).stdout.split("\n")[1:] == ["books", "magazines", ""]
        assert out.read_bytes() == before


def test_check_names_a_collection_that_is_gone(project: Shell, tmp_path: Path) -> None:
    out = tmp_path / "schema.ts"
    run(project, *TYPES, "--out", str(out))
    command = (*TYPES, "--view", "anyone", "--out", str(out), "--check", "--json")
    found = json.loads(run(project, *command, status=1).stdout)
    assert (found["language"], found["view"], found["equal"]) == ("typescript", "anyone", False)
    assert "authors" in found["differs"]


def test_the_document_is_printed_or_written_into_a_file(project: Shell, tmp_path: Path) -> None:
    out = tmp_path / "openapi.json"
    printed = json.loads(run(project, "openapi", "p", "--view", "anyone").stdout)
    assert "/api/collections/books/documents" in printed["paths"]
    assert "/api/collections/authors/documents" not in printed["paths"]
    run(project, "openapi", "p", "--out", str(out))
    assert "/api/collections/authors/documents" in json.loads(out.read_text())["paths"]
    run(project, "openapi", "q", status=2)


def test_json_describes_the_text_without_having_it(project: Shell, tmp_path: Path) -> None:
    out = tmp_path / "schema.ts"
    found = json.loads(run(project, *TYPES, "--out", str(out), "--json").stdout)
    assert found.keys() == {"language", "view", "etag", "bytes", "out"}
    assert found["bytes"] == len(out.read_bytes())
    checked = json.loads(run(project, *TYPES, "--out", str(out), "--check", "--json").stdout)
    assert checked == found | {"equal": True, "differs": []}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--check",),
        ("--json",),
        ("--out", "no-such-folder/schema.ts"),
        ("--out", "/", "--check"),
        ("--view", "all"),
    ],
)
def test_what_fails_has_status_2(project: Shell, arguments: tuple[str, ...]) -> None:
    run(project, *TYPES, *arguments, status=2)


def test_a_project_that_is_not_there_has_status_2(shell: Shell, project: Shell) -> None:
    run(project, "types", "q", "--language", "python", status=2)

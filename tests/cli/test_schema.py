"""`auth-collections schema`: schemas in a file, compared and saved."""

import json
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from faults.commands import Shell

MANIFEST = """
project: {id: p, name: P}
collections:
  authors:
    schema: {name: {type: string}}
  books:
    schema: {title: {type: string}, year: {type: string}}
    documents:
      - {key: [title], rows: [{title: Indiana, year: "1832"}, {title: Consuelo}]}
"""
SCHEMAS = """
collections:
  publishers:
    schema: {name: {type: string, required: true}}
  books:
    schema:
      title: {type: string}
      year: {type: string}
      pages: {type: integer, required: true, default: 0}
      publisher_id: {type: reference, collection: publishers}
    realtime: true
"""
BREAKING = SCHEMAS.replace("year: {type: string}", "year: {type: integer}")


@pytest.fixture
def project(shell: Shell, tmp_path: Path) -> Shell:
    """The project `p` with a collection that has two documents."""
    (tmp_path / "seed.yaml").write_text(MANIFEST)
    made = shell.run("seed", str(tmp_path / "seed.yaml"))
    assert made.returncode == 0, made.stdout + made.stderr
    return shell


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "schemas.yaml"
    path.write_text(text)
    return str(path)


def database(shell: Shell, mongo: MongoClient[Any]) -> Any:
    return mongo[f"{shell.environment['DATABASE_PREFIX']}p_p"]


def in_force(shell: Shell, mongo: MongoClient[Any]) -> dict[str, Any]:
    return {each["_id"]: each["schema"] for each in database(shell, mongo)["collections"].find()}


def test_push_makes_and_changes_what_diff_shows(project: Shell, tmp_path: Path, mongo: MongoClient[Any]) -> None:
    path, before = written(tmp_path, SCHEMAS), in_force(project, mongo)
    shown = project.run("schema", "diff", "p", path)
    assert (shown.returncode, shown.stderr.partition(" at ")[0]) == (1, "MongoDB")
    assert shown.stdout.splitlines()[:2] == ["--- p (in force)", f"+++ {path}"]
    assert '+  "publishers": {' in shown.stdout.splitlines()
    dry = project.run("schema", "push", "p", path, "--dry-run")
    assert (dry.returncode, dry.stdout.splitlines()) == (
        0,
        [
            "publishers: create",
            "books: update, 2 documents to repair",
            "Dry run: the schemas would be saved; nothing was changed.",
        ],
    )
    assert in_force(project, mongo) == before
    pushed = project.run("schema", "push", "p", path)
    assert (pushed.returncode, pushed.stdout.splitlines()[-1]) == (
        0,
        "The schemas are saved; servers follow within five seconds.",
    )
    schemas = in_force(project, mongo)
    assert schemas.keys() == {"authors", "books", "publishers"}
    assert schemas["books"].keys() == {"title", "year", "pages", "publisher_id"}
    assert [each["data"]["pages"] for each in database(project, mongo)["c_books"].find()] == [0, 0]
    assert database(project, mongo)["collections"].find_one({"_id": "books"})["realtime"] is True
    again = project.run("schema", "diff", "p", path)
    assert (again.returncode, again.stdout) == (0, "")
    same = project.run("schema", "push", "p", path, "--json")
    assert (same.returncode, json.loads(same.stdout)["changed"]) == (0, False)


def test_push_changes_nothing_where_one_schema_is_refused(
    project: Shell, tmp_path: Path, mongo: MongoClient[Any]
) -> None:
    before, path = in_force(project, mongo), written(tmp_path, BREAKING)
    id_ = database(project, mongo)["c_books"].find_one({"data.title": "Indiana"})["_id"]
    refused = project.run("schema", "push", "p", path)
    assert (refused.returncode, refused.stdout.splitlines()) == (
        1,
        [
            "publishers: create",
            "! books: 1 document breaks the new schema; nothing was changed",
            f"! books: document {id_}: year: Must be a whole number",
            "Nothing was changed.",
        ],
    )
    told = json.loads(project.run("schema", "push", "p", path, "--dry-run", "--json").stdout)
    assert (told["changed"], told["saved"]) == (True, False)
    (books,) = (each for each in told["collections"] if each["name"] == "books")
    assert (books["change"], books["error"]["code"]) == ("update", "schema_conflict")
    assert books["error"]["conflicts"]["total"] == 1
    wrong = written(tmp_path, "collections: {books: {schema: {title: {type: text}}}, a b: {schema: {}}}")
    refused = project.run("schema", "push", "p", wrong)
    assert refused.returncode == 1
    assert refused.stdout.splitlines()[0].startswith("! books: schema.title.type: Must be one of string, ")
    assert refused.stdout.splitlines()[1].startswith("! a b: name: Must begin with a letter")
    assert in_force(project, mongo) == before


def test_a_manifest_is_a_file_of_schemas(project: Shell, tmp_path: Path) -> None:
    assert project.run("schema", "diff", "p", str(tmp_path / "seed.yaml")).returncode == 0
    shown = project.run("schema", "diff", "p", written(tmp_path, MANIFEST.replace("{name:", "{full_name:")), "--json")
    assert (shown.returncode, json.loads(shown.stdout)["changed"]) == (1, True)


def test_what_cannot_be_compared_has_a_status_of_its_own(project: Shell, tmp_path: Path) -> None:
    for project_id, text, said in (
        ("nobody", SCHEMAS, "There is no project nobody"),
        ("p", "collections: {books: {}}", "collections.books.schema: Field required"),
        ("p", "books: {schema: {}}", "collections: Field required"),
        ("p", f"{SCHEMAS}users: []", "users: Extra inputs are not permitted"),
    ):
        shown = project.run("schema", "diff", project_id, written(tmp_path, text))
        assert (shown.returncode, shown.stdout) == (2, "")
        assert said in shown.stderr
        assert project.run("schema", "push", project_id, written(tmp_path, text)).returncode == 1


def test_seed_migrates_schemas(project: Shell, tmp_path: Path, mongo: MongoClient[Any]) -> None:
    path = tmp_path / "seed.yaml"
    path.write_text(MANIFEST.replace("title: {type: string}", "title: {type: string, max_length: 30}"))
    refused = project.run("seed", str(path))
    assert refused.returncode == 1
    assert "seed --migrate" in refused.stdout
    dry = project.run("seed", str(path), "--migrate", "--dry-run")
    assert (dry.returncode, "title" in dry.stdout) == (0, True)
    assert in_force(project, mongo)["books"]["title"] == {"type": "string"}
    migrated = project.run("seed", str(path), "--migrate")
    assert (migrated.returncode, "collections: 1 unchanged, 1 updated" in migrated.stdout) == (0, True)
    assert in_force(project, mongo)["books"]["title"] == {"type": "string", "max_length": 30}

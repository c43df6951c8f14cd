"""`auth-collections rules`: rules in a file, tested, compared and saved."""

import json
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from pymongo import MongoClient

from faults.commands import Shell

MANIFEST = """
project: {id: p, name: P}
collections:
  posts:
    schema: {title: {type: string}, status: {type: string}, team_id: {type: string}}
"""
RULES = """
collections:
  posts:
    read: {or: [{status_eq: published}, {$user.roles_eq: editor}]}
    create: users
tests:
  - {name: guests see no drafts, as: anyone, action: read, collection: posts, given: {status: draft}, expect: refused}
  - {name: editors see drafts, as: {roles: [editor]}, action: read, collection: posts, given: {status: draft}, expect: allowed}
"""
TIGHTENED = RULES.replace(", {$user.roles_eq: editor}", "")
WRONG = RULES.replace("status_eq: published", "state_eq: published")


@pytest.fixture
def project(shell: Shell, tmp_path: Path) -> Shell:
    """The project `p`, without rules."""
    (tmp_path / "seed.yaml").write_text(MANIFEST)
    made = shell.run("seed", str(tmp_path / "seed.yaml"))
    assert made.returncode == 0, made.stdout + made.stderr
    return shell


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    return str(path)


def in_force(shell: Shell, mongo: MongoClient[Any]) -> Any:
    found = mongo[f"{shell.environment['DATABASE_PREFIX']}p_p"]["rules"].find_one()
    return None if found is None else json.loads(found["text"])


def test_tests_run_before_anything_is_saved(project: Shell, tmp_path: Path, mongo: MongoClient[Any]) -> None:
    passed = project.run("rules", "test", "p", written(tmp_path, RULES))
    assert (passed.returncode, passed.stderr.partition(" at ")[0]) == (0, "MongoDB")
    assert passed.stdout.splitlines() == [
        "ok     guests see no drafts: refused",
        "ok     editors see drafts: allowed",
        "2 tests, 0 failed",
    ]
    failed = project.run("rules", "test", "p", written(tmp_path, TIGHTENED))
    assert failed.returncode == 1
    assert failed.stdout.splitlines()[1:] == [
        "FAILED editors see drafts: expected allowed, got refused",
        "2 tests, 1 failed",
    ]
    judged = project.run("rules", "test", "p", written(tmp_path, TIGHTENED), "--json")
    assert (judged.returncode, json.loads(judged.stdout)[1]) == (
        1,
        {"name": "editors see drafts", "expected": "allowed", "got": "refused"},
    )
    assert in_force(project, mongo) is None


def test_push_saves_what_diff_shows(project: Shell, tmp_path: Path, mongo: MongoClient[Any]) -> None:
    path = written(tmp_path, RULES)
    shown = project.run("rules", "diff", "p", path)
    assert shown.returncode == 1
    assert shown.stdout.splitlines()[:2] == ["--- p (in force)", f"+++ {path}"]
    assert '+      "create": "users",' in shown.stdout.splitlines()
    dry = project.run("rules", "push", "p", path, "--dry-run")
    assert (dry.returncode, in_force(project, mongo)) == (0, None)
    assert "nothing was changed" in dry.stdout
    pushed = project.run("rules", "push", "p", path)
    assert (pushed.returncode, pushed.stderr.partition(" at ")[0]) == (0, "MongoDB")
    assert pushed.stdout.splitlines() == [
        "advice: posts: an index on status, created_at, since the read rule compares status with one value or a list of "
        "them (--indexes builds it)",
        "The rules are saved; servers follow within five seconds.",
    ]
    assert in_force(project, mongo)["collections"]["posts"]["create"] == "users"
    equal = project.run("rules", "diff", "p", path)
    assert (equal.returncode, equal.stdout) == (0, "")


def test_the_rules_of_a_manifest_are_those_of_its_file(project: Shell, tmp_path: Path, mongo: MongoClient[Any]) -> None:
    rules = written(tmp_path, RULES)
    (tmp_path / "with.yaml").write_text(f"{MANIFEST}rules:\n{indent(RULES, '  ')}")
    (tmp_path / "beside.yaml").write_text(f"{MANIFEST}rules: rules.yaml\n")
    assert project.run("rules", "push", "p", rules).returncode == 0
    for name in ("with.yaml", "beside.yaml"):
        equal = project.run("rules", "diff", "p", str(tmp_path / name))
        assert (equal.returncode, equal.stdout) == (0, ""), equal.stderr
        assert project.run("rules", "test", "p", str(tmp_path / name)).stdout.endswith("2 tests, 0 failed\n")
    none = project.run("rules", "push", "p", str(tmp_path / "seed.yaml"))
    assert (none.returncode, none.stdout) == (1, "")
    assert none.stderr.endswith("seed.yaml: rules: the manifest has none; add them, or name a file that has\n")
    assert in_force(project, mongo)["collections"]["posts"]["create"] == "users"


def test_a_second_push_changes_nothing_but_builds_indexes_where_asked(
    project: Shell, tmp_path: Path, mongo: MongoClient[Any]
) -> None:
    path, database = written(tmp_path, RULES), mongo[f"{project.environment['DATABASE_PREFIX']}p_p"]
    assert project.json("rules", "push", "p", path)["saved"] is True
    before = database["rules"].find_one()
    again = project.json("rules", "push", "p", path)
    assert (again["changed"], again["saved"]) == (False, False)
    assert database["rules"].find_one() == before
    built = project.run("rules", "push", "p", path, "--indexes")
    assert built.stdout.startswith("built: posts: an index on status, created_at")
    assert "rule status created_at" in database["c_posts"].index_information()


def test_rules_that_fail_their_tests_are_not_saved(project: Shell, tmp_path: Path, mongo: MongoClient[Any]) -> None:
    result = project.run("rules", "push", "p", written(tmp_path, TIGHTENED))
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "! FAILED editors see drafts: expected allowed, got refused",
        "Nothing was changed.",
    ]
    assert in_force(project, mongo) is None


def test_every_mistake_in_rules_is_a_line_with_its_place(project: Shell, tmp_path: Path) -> None:
    for command in ("test", "push"):
        result = project.run("rules", command, "p", written(tmp_path, f"{WRONG}\nassign: {{Editor: users}}"))
        assert result.returncode == 1
        lines = result.stdout.splitlines()
        assert any(line.startswith("! collections.posts.read.or[0].state_eq: ") for line in lines)
        assert any(line.startswith("! assign.Editor: ") for line in lines)
    refused = project.run("rules", "push", "p", written(tmp_path, WRONG), "--json")
    assert json.loads(refused.stdout)["errors"][0]["loc"] == [
        "body",
        "collections",
        "posts",
        "read",
        "or",
        0,
        "state_eq",
    ]


@pytest.mark.parametrize(("command", "status"), [("test", 1), ("diff", 2), ("push", 1)], ids=["test", "diff", "push"])
def test_what_cannot_be_read_is_one_line(shell: Shell, tmp_path: Path, command: str, status: int) -> None:
    for text, says in (
        ("[1]", "must be an object"),
        (RULES, "There is no project p"),
    ):
        result = shell.run("rules", command, "p", written(tmp_path, text))
        assert (result.returncode, result.stdout) == (status, "")
        assert len(result.stderr.splitlines()) == 1
        assert says in result.stderr

"""F33: users of a project, and its settings, on the command line."""

import re
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from faults.commands import Shell
from service.domain.projects.settings import ProjectSettings

MANIFEST = """
project: {id: people, name: People}
users:
  - rows:
      - {email: ann@example.com, password: correct horse, name: Ann, roles: [admin], email_verified: true}
      - {email: bob@example.com, password: correct horse, name: Bob}
"""


@pytest.fixture
def people(shell: Shell, tmp_path: Path) -> Shell:
    path = tmp_path / "people.yaml"
    path.write_text(MANIFEST)
    assert shell.run("seed", str(path)).returncode == 0
    return shell


def test_f33_users_are_listed_shown_disabled_and_deleted(people: Shell, mongo: MongoClient[Any]) -> None:
    listed = people.json("user", "list", "people")
    assert ([each["email"] for each in listed["users"]], listed["total"]) == (["ann@example.com", "bob@example.com"], 2)
    (ann,) = people.json("user", "list", "people", "roles_eq=admin")["users"]
    assert people.json("user", "show", "people", ann["id"]) == people.json("user", "show", "people", "Ann@example.com")
    assert (ann["roles"], ann["email_verified"], ann["data"]) == (["admin"], True, {"name": "Ann"})
    shown = people.run("user", "show", "people", ann["id"]).stdout.splitlines()
    assert {"email: ann@example.com", "email_verified: true", "disabled: false", "roles: ["} <= set(shown)
    lines = people.run("user", "list", "people", "sort_by=-created_at").stdout.splitlines()
    assert [line.split("\t")[1:] for line in lines] == [
        ["bob@example.com", listed["users"][1]["created_at"], "unverified", "", ""],
        ["ann@example.com", ann["created_at"], "verified", "admin", ""],
    ]
    assert people.json("user", "disable", "people", "ann@example.com")["disabled"] is True
    assert people.json("user", "list", "people", "disabled_eq=true")["total"] == 1
    assert people.json("user", "enable", "people", ann["id"])["disabled"] is False
    assert people.run("user", "delete", "people", ann["id"]).returncode == 2
    assert people.json("user", "delete", "people", "ann@example.com", "--yes") == {"id": ann["id"], "deleted": True}
    database = mongo[f"{people.environment['DATABASE_PREFIX']}p_people"]
    assert [user["email"] for user in database["users"].find()] == ["bob@example.com"]
    assert [event["type"] for event in database["events"].find({"user_id": ann["id"]}).sort("at", 1)] == [
        *("user_disabled", "user_enabled", "user_deleted"),
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("list", "nowhere"), "There is no project nowhere"),
        (("list", "people", "sort_by=roles"), "sort_by: Not a field that can be sorted by"),
        (("list", "people", "page=2"), "page: Unknown parameter"),
        (("list", "people", "roles"), "expected KEY=VALUE"),
        (("show", "people", "nobody@example.com"), "User not found"),
        (("disable", "people", "0" * 24), "User not found"),
        (("delete", "people", "x", "--yes"), "User not found"),
    ],
)
def test_f33_what_is_wrong_is_one_line(people: Shell, arguments: tuple[str, ...], reason: str) -> None:
    refused = people.run("user", *arguments)
    assert (refused.returncode, reason in refused.stderr) == (1, True), refused.stderr


def test_f33_the_settings_are_listed_with_values_and_meanings(people: Shell) -> None:
    names = [name.upper() for name in ProjectSettings.model_fields]
    listed = people.json("project", "settings")
    assert [row["name"] for row in listed] == names
    assert all(row["meaning"] and row.keys() == {"name", "default", "meaning"} for row in listed)
    people.json("project", "set", "people", "PASSWORD_MIN_LENGTH=12", "IDP_CLIENT_SECRET=very-secret")
    values = {row["name"]: row["value"] for row in people.json("project", "settings", "people")}
    assert list(values) == names
    assert (values["PASSWORD_MIN_LENGTH"], values["TIER"], values["LOGIN_LIMIT"]) == (12, "enterprise", 20)
    text = people.run("project", "settings", "people").stdout
    assert "PASSWORD_MIN_LENGTH = 12\n    Characters a new password must have." in text
    assert "IDP_CLIENT_ID = (not set)" in text
    assert "very-secret" not in text + str(values)
    assert re.findall(r"^(\w+) = ", text, re.MULTILINE) == names


def test_f33_a_deletion_says_what_it_waits_for(people: Shell) -> None:
    deleted = people.run("project", "delete", "people", "--yes", "--json")
    assert deleted.returncode == 0
    assert "people is closed; if a server runs, its data is gone in about half a minute" in deleted.stderr

"""`auth-collections project rename` and `project settings --schema`."""

import json

from faults.commands import Shell


def test_a_project_gets_another_name_and_keeps_its_id(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    assert shell.json("project", "rename", "p", "Shop")["name"] == "Shop"
    assert shell.json("project", "show", "p")["name"] == "Shop"
    for name in ("", "a\nb", "x" * 101):
        failed = shell.run("project", "rename", "p", name)
        assert (failed.returncode, len(failed.stderr.splitlines())) == (1, 1)


def test_the_schema_of_all_settings_needs_no_project(shell: Shell) -> None:
    schema = json.loads(shell.run("project", "settings", "--schema").stdout)
    assert schema["properties"]["EVENT_DAYS"]["maximum"] == 400
    assert shell.run("project", "settings", "p", "--schema").returncode == 1

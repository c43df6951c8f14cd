"""`auth-collections audit list`: entries of commands, for people and for programs."""

import os
import pwd

from faults.commands import Shell


def test_commands_leave_entries_with_the_name_of_the_machines_user(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    shell.json("project", "set", "p", "EVENT_DAYS=30")
    shell.json("project", "create", "Q", "--id", "q")
    entries = shell.json("audit", "list", "--project", "p")["entries"]
    assert [each["action"] for each in entries] == ["settings.changed", "project.created"]
    user = pwd.getpwuid(os.getuid()).pw_name
    assert [each["actor"] for each in entries] == [{"kind": "cli", "id": None, "name": user}] * 2
    assert entries[0]["changes"] == [{"path": ["settings", "EVENT_DAYS"], "before": None, "after": 30}]
    assert (entries[0]["status"], entries[0]["request_id"]) == (None, None)
    line = shell.run("audit", "list", "--action", "settings.changed").stdout.rstrip("\n").split("\t")
    assert line[1:] == [f"cli:{user}", "p", "settings.changed", "p", "settings.EVENT_DAYS"]
    assert len(shell.json("audit", "list", "--limit", "1")["entries"]) == 1
    assert shell.json("audit", "list", "--since", "2999-01-01")["entries"] == []


def test_an_unknown_action_and_a_bad_time_are_refused(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    for arguments in (("--action", "project.eaten"), ("--since", "yesterday")):
        failed = shell.run("audit", "list", *arguments)
        assert (failed.returncode, len(failed.stderr.splitlines())) == (1, 1)

"""`auth-collections schema show` and `set`: the schema of profiles."""

import json
from pathlib import Path

from faults.commands import Shell

HASH = "$2b$04$abcdefghijklmnopqrstuuIh9D3PZrMDPvpGYyzWcqRQXFX1BfjzG"
MANIFEST = f"""
project: {{id: p, name: P}}
profile: {{schema: {{plan: {{type: string, default: free}}}}}}
users: [{{rows: [{{email: ann@example.com, password_hash: "{HASH}"}}]}}]
"""


def test_commands_show_and_replace_the_profile_of_a_manifest(shell: Shell, tmp_path: Path) -> None:
    seed, other = tmp_path / "seed.yaml", tmp_path / "profile.json"
    seed.write_text(MANIFEST)
    made = shell.run("seed", str(seed))
    assert made.returncode == 0, made.stdout + made.stderr
    shown = json.loads(shell.run("schema", "show", "p").stdout)
    assert shown == {"schema": {"plan": {"type": "string", "default": "free"}}, "additional": True}

    other.write_text(json.dumps({"schema": {"plan": {"type": "integer"}}}))
    refused = shell.run("schema", "set", "p", str(other))
    lines = refused.stdout.splitlines()
    assert (refused.returncode, lines[0], lines[-1]) == (
        1,
        "! 1 user breaks the new schema; nothing was changed",
        "Nothing was changed.",
    )
    assert lines[1].startswith("! user ")
    assert lines[1].endswith(": plan: Must be a whole number")
    other.write_text(json.dumps({"schema": {"level": {"type": "integer", "default": 1}}}))
    saved = json.loads(shell.run("schema", "set", "p", str(other), "--json").stdout)
    assert (saved["saved"], saved["repairs"], list(saved["schema"])) == (True, 1, ["level"])

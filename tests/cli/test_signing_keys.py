"""`auth-collections project rotate-signing-key`."""

from datetime import timedelta
from typing import Any

from pymongo import MongoClient

from faults.commands import Shell


def test_the_signing_key_is_rotated_when_the_next_one_is_known(shell: Shell, mongo: MongoClient[Any]) -> None:
    shell.json("project", "create", "P", "--id", "p")
    refused = shell.run("project", "rotate-signing-key", "p")
    assert refused.returncode == 1
    assert "rotate in" in refused.stderr
    projects = mongo[f"{shell.environment['DATABASE_PREFIX']}system"]["projects"]
    (stored,) = projects.find()
    early = stored["next_signing_key"]["published_at"] - timedelta(minutes=10)
    projects.update_one({}, {"$set": {"next_signing_key.published_at": early}})
    rotated = shell.json("project", "rotate-signing-key", "p")
    assert rotated.keys() == {"project_id", "kid", "next", "previous"}
    assert len({rotated["kid"], rotated["next"], *rotated["previous"]}) == 3
    assert '"d"' not in str(list(projects.find()))
    missing = shell.run("project", "rotate-signing-key", "nobody")
    assert (missing.returncode, "There is no project nobody" in missing.stderr) == (1, True)

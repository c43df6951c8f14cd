"""THREATS rows V7 and V12: what stays behind in MongoDB, and what `check` says of a MongoDB that is not ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from faults.commands import KEY, Shell
from faults.members import replica_set
from service.checks import check_version
from service.embedded.mongod import embedded_mongodb

IMAGES = "changeStreamOptions"
# The rights of a user who may use databases, and nothing of the server.
PLAIN = "readWriteAnyDatabase"


def expiry(client: MongoClient[dict[str, Any]]) -> Any:
    found = client.admin.command({"getClusterParameter": IMAGES})
    return found["clusterParameters"][0]["preAndPostImages"]["expireAfterSeconds"]


def set_expiry(client: MongoClient[dict[str, Any]], seconds: Any) -> None:
    client.admin.command({"setClusterParameter": {IMAGES: {"preAndPostImages": {"expireAfterSeconds": seconds}}}})


@contextmanager
def own_mongodb(folder: Path) -> Iterator[tuple[Shell, MongoClient[dict[str, Any]], str]]:
    """Commands on an embedded MongoDB of their own, a client of it, and the URI of a user with plain rights."""
    with embedded_mongodb(folder) as uri, MongoClient[dict[str, Any]](uri) as client:
        client.admin.command("createUser", "plain", pwd="plain", roles=[PLAIN])
        plain = f"mongodb://plain:plain@127.0.0.1:{client.address[1] if client.address else 0}/?directConnection=true"
        yield Shell({"PATH": "", "DATA_DIR": str(folder), "BCRYPT_COST": "4"}), client, plain


def test_v7_the_embedded_mongodb_forgets_images_and_keeps_an_operators_own_value(tmp_path: Path) -> None:
    with own_mongodb(tmp_path) as (shell, client, _):
        assert expiry(client) == "off"
        assert shell.run("project", "create", "P", "--id", "p").returncode == 0
        assert expiry(client) == 600
        assert "ok    images of changes stay 600 s" in shell.run("check").stdout
        for own in (120, "off"):
            set_expiry(client, own)
            assert shell.run("project", "set", "p", "TIER=pro").returncode == 0
            assert expiry(client) == own
        checked = shell.run("check")
        assert checked.returncode == 1
        assert "WRONG images of changes stay until the oplog forgets them (db.adminCommand({set" in checked.stdout


def test_v7_v12_v14_check_names_what_another_mongodb_lacks(tmp_path: Path) -> None:
    """A user without rights over the server leaves its settings alone, and hears that they could not be read."""
    with own_mongodb(tmp_path) as (shell, client, plain):
        limited = Shell(shell.environment | {"MONGODB_URI": plain, "SECRET_KEY": KEY})
        assert limited.run("project", "create", "P").returncode == 0
        assert expiry(client) == "off"
        checked = limited.run("check")
        assert checked.returncode == 0
        assert "NOTE  images of changes: this user may not read how long they stay" in checked.stdout
        assert "NOTE  transactions: this user may not read how long one may live" in checked.stdout
        assert "ok    a password for MongoDB" in checked.stdout
        client.admin.command({"setParameter": 1, "transactionLifetimeLimitSeconds": 60})
        assert "WRONG a transaction of a server that was killed holds its documents for up to 60 s" in (
            shell.run("check").stdout
        )


def test_v12_the_embedded_mongodb_ends_a_transaction_within_25_seconds(mongo: MongoClient[dict[str, Any]]) -> None:
    found = mongo.admin.command({"getParameter": 1, "transactionLifetimeLimitSeconds": 1})
    # MongoDB looks for such transactions every half of it.
    assert 1.5 * found["transactionLifetimeLimitSeconds"] <= 25


def test_v7_v12_v14_check_names_what_a_mongodb_without_access_control_lacks(tmp_path: Path) -> None:
    with replica_set(tmp_path, 1) as members:
        shell = Shell({"PATH": "", "MONGODB_URI": members.uri, "SECRET_KEY": KEY, "BCRYPT_COST": "4"})
        assert shell.run("project", "create", "P").returncode == 0
        checked = shell.run("check")
    assert checked.returncode == 1
    assert "WRONG a password for MongoDB (start it with --keyFile" in checked.stdout
    assert "ok    images of changes stay 600 s" in checked.stdout
    assert "WRONG a transaction of a server that was killed holds its documents for up to 60 s" in checked.stdout


@pytest.mark.parametrize(("version", "good"), [("6.0.5", True), ("8.0.4", None), ("7.0.28", None), ("5.0.9", False)])
def test_check_names_a_version_that_the_tests_have_not_seen(version: str, good: bool | None) -> None:
    finding = check_version(version)
    assert finding.good is good
    assert finding.text == f"MongoDB {version} (6.0 or newer is needed; the tests of this version ran on 6.0)"

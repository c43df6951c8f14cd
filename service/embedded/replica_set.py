"""A mongod that runs becomes the primary of a replica set with no other member, for only such a set has transactions."""

import time
from typing import Any

from pymongo import MongoClient
from pymongo.errors import AutoReconnect, OperationFailure

from service.errors import ConfigurationError

REPLICA_SET = "embedded"
NOT_YET_INITIALIZED = 94
START_TIMEOUT = 60.0
LOOK_SECONDS = 0.02


def become_primary(client: MongoClient[dict[str, Any]], port: int) -> None:
    """Makes the server a one-member replica set, also when it comes back on another port than before.

    Raises ConfigurationError where it does not become one in time.
    """
    host = f"127.0.0.1:{port}"
    config = client.local["system.replset"].find_one()
    if config is None:
        client.admin.command("replSetInitiate", {"_id": REPLICA_SET, "members": [{"_id": 0, "host": host}]})
    elif config["members"][0]["host"] != host:
        config["members"][0]["host"] = host
        config["version"] += 1
        reconfigure(client, config)
    await_primary(client)


def reconfigure(client: MongoClient[dict[str, Any]], config: dict[str, Any], *, seconds: float = START_TIMEOUT) -> None:
    """A server that has just begun to answer may not have read its own configuration yet.

    It closes connections when its role changes, also that of this command, which does no harm when it is done twice.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            client.admin.command("replSetReconfig", config, force=True)
            return
        except (AutoReconnect, OperationFailure) as error:
            known = isinstance(error, AutoReconnect) or error.code == NOT_YET_INITIALIZED
            if not known or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_SECONDS)


def await_primary(client: MongoClient[dict[str, Any]], *, seconds: float = START_TIMEOUT) -> None:
    deadline = time.monotonic() + seconds
    while not _is_primary(client):
        if time.monotonic() > deadline:
            raise ConfigurationError(f"The embedded MongoDB did not become primary within {seconds:.0f} s")
        time.sleep(LOOK_SECONDS)


def _is_primary(client: MongoClient[dict[str, Any]]) -> bool:
    try:
        return bool(client.admin.command("hello").get("isWritablePrimary"))
    except AutoReconnect:
        return False

"""Transactions of a process that died: MongoDB locks their documents until another process ends their sessions."""

import time
from typing import Any

from pymongo import MongoClient

# MongoDB may still read what the process had sent before it died, hence a second and a third look.
PAUSES_SECONDS = (0.0, 1.0, 2.0)


def end_sessions(uri: str, app_name: str) -> None:
    """Ends the sessions of the clients of this name, with their transactions. Raises the driver's errors.

    A user may list and end its own sessions (`allUsers: false`, `killSessions`), which takes no further right.
    """
    with MongoClient[dict[str, Any]](uri, serverSelectionTimeoutMS=3_000, timeoutMS=5_000) as client:
        for pause in PAUSES_SECONDS:
            time.sleep(pause)
            if sessions := _find_sessions(client, app_name):
                client.admin.command("killSessions", sessions)


def _find_sessions(client: MongoClient[dict[str, Any]], app_name: str) -> list[dict[str, Any]]:
    """A client that is gone has only sessions whose command runs on, or whose transaction is open."""
    stages: list[dict[str, Any]] = [
        {"$currentOp": {"allUsers": False, "idleSessions": True}},
        {"$match": {"appName": app_name, "lsid": {"$exists": True}}},
    ]
    return [{"id": each["lsid"]["id"]} for each in client.admin.aggregate(stages)]

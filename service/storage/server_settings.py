"""Settings of the whole MongoDB on which the service relies: the life of images and transactions, and access control."""

from typing import Any

from bson import Timestamp
from pymongo.errors import OperationFailure

from service.storage.client import Document
from service.storage.databases import Databases
from service.storage.records import translated

# Seconds an image stays after its change. A cursor of the change feed holds 120 s.
IMAGE_SECONDS = 600
# The longest life of a transaction of a process that died; the service ends its own after 10 s. MongoDB looks every half
# of it, so its documents are free after 24 s at most.
TRANSACTION_SECONDS = 16
IMAGE_OPTIONS = "changeStreamOptions"


async def expire_images(databases: Databases) -> None:
    """Has MongoDB drop images after IMAGE_SECONDS, unless an operator has set a value or the user lacks the right.

    Raises Unavailable.
    """
    options = await _ask(databases, {"getClusterParameter": IMAGE_OPTIONS})
    if options is None or _is_set(options):
        return
    value = {"preAndPostImages": {"expireAfterSeconds": IMAGE_SECONDS}}
    await _ask(databases, {"setClusterParameter": {IMAGE_OPTIONS: value}})


async def read_image_seconds(databases: Databases) -> float | None:
    """Seconds that images stay: infinity until the oplog drops them; None if the user lacks the right to ask."""
    options = await _ask(databases, {"getClusterParameter": IMAGE_OPTIONS})
    if options is None:
        return None
    seconds = options["clusterParameters"][0]["preAndPostImages"]["expireAfterSeconds"]
    return float("inf") if seconds == "off" else float(seconds)


async def read_transaction_seconds(databases: Databases) -> float | None:
    """Seconds a transaction may live; None if the user lacks the right to ask, or a mongos answers."""
    found = await _ask(databases, {"getParameter": 1, "transactionLifetimeLimitSeconds": 1})
    return None if found is None else float(found["transactionLifetimeLimitSeconds"])


async def asks_for_password(databases: Databases) -> bool:
    """True if this connection belongs to a user: a MongoDB without access control serves it without one."""
    status = await _ask(databases, {"connectionStatus": 1})
    return bool(status and status["authInfo"]["authenticatedUsers"])


def _is_set(options: Document) -> bool:
    """True if a value was ever set, `off` included: an unset parameter has the time zero."""
    parameter = options["clusterParameters"][0]
    return bool(parameter.get("clusterParameterTime", Timestamp(0, 0)).time)


async def _ask(databases: Databases, command: Document) -> dict[str, Any] | None:
    """The answer of MongoDB; None where it refuses the command to this user or does not know it. Raises Unavailable."""
    with translated():
        try:
            return await databases.client.admin.command(command)
        except OperationFailure:
            return None

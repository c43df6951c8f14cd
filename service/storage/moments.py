"""Records as they all were at one moment that is not earlier than another."""

from collections.abc import Sequence

from service.errors import page_too_large
from service.storage.change_feed import to_number, to_timestamp
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.records import PAGE_ERRORS, read


async def find_at(
    database: ProjectDatabase, command: Document, after: int, *, seconds: float
) -> tuple[Sequence[Document], int]:
    """The records that a `find` gives within `seconds`, and the moment of which they are.

    Raises Invalid where they are too large, QueryTooSlow, Unavailable.
    """
    concern = {"level": "snapshot", "afterClusterTime": to_timestamp(after)}
    collection = database.database[command["find"]]
    reply = await read(collection, None, {**command, "readConcern": concern}, seconds=seconds, known=PAGE_ERRORS)
    cursor = reply["cursor"]
    if cursor["id"]:
        raise page_too_large("The records of this page are larger than 16 MB together")
    return cursor["firstBatch"], to_number(cursor["atClusterTime"])

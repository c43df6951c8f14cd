"""Lists of records by `created_at`, the newest first, in pages by cursor."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo import DESCENDING

from service.storage.client import Document
from service.storage.records import Records

NEWEST = ("created_at", DESCENDING), ("_id", DESCENDING)
LIST_SECONDS = 2.0


async def list_newest(
    records: Records, match: Document, *, after: tuple[datetime, str] | None, limit: int, without: Sequence[str] = ()
) -> Sequence[Mapping[str, Any]]:
    """At most `limit` records that match, behind the place `after`, and not the fields `without`. Raises QueryTooSlow."""
    command: Document = {
        "find": records.name,
        "filter": {**match, **(_older(*after) if after else {})},
        "sort": dict(NEWEST),
        "limit": limit,
        "batchSize": limit + 1,
        "projection": dict.fromkeys(without, 0),
    }
    return await records.page(command, seconds=LIST_SECONDS)


def _older(at: datetime, id_: str) -> Document:
    later = [{"created_at": {"$lt": at}}, {"created_at": at, "_id": {"$lt": id_}}]
    return {"$or": later, "$and": [{"created_at": {"$lte": at}}]}

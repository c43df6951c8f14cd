"""Answers kept for a repeated write: `kept_answers`, one record for each key of a client.

The TTL index only cleans up; the stored time decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from service.schema.values import now
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.layout import KEPT_ANSWERS
from service.storage.records import Records

KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The answer to a write.

    `body` is sealed; `fingerprint` is a MAC of the request, which reveals nothing to a reader.
    """

    id: str
    fingerprint: str
    status: int
    body: str
    headers: Mapping[str, str]


class KeptAnswers:
    """The kept answers of one project; bound to a transaction where its database is."""

    __slots__ = ("_records",)

    def __init__(self, database: ProjectDatabase) -> None:
        self._records: Records = database.records(KEPT_ANSWERS)

    async def find(self, id_: str) -> KeptAnswer | None:
        """None also where it has expired; then its id is free."""
        record = await self._records.find({"_id": id_})
        if record is None:
            return None
        moment = now()
        if record["expires"] <= moment:
            await self._records.delete({"_id": id_, "expires": {"$lte": moment}})
            return None
        return KeptAnswer(record["_id"], record["fingerprint"], record["status"], record["body"], record["headers"])

    async def insert(self, answer: KeptAnswer) -> None:
        """Raises DuplicateValue where one with its id is there."""
        record: Document = {
            "_id": answer.id,
            "fingerprint": answer.fingerprint,
            "status": answer.status,
            "body": answer.body,
            "headers": dict(answer.headers),
            "expires": now() + KEPT_FOR,
        }
        await self._records.insert(record)

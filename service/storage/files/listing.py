"""Pages of a project's files, without the variants that the service draws of images."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.files.stored import FILES, StoredFile, read_stored

SortBy = Literal["created_at", "bytes", "name"]
FIELDS: dict[SortBy, str] = {"created_at": "uploadDate", "bytes": "length", "name": "_id"}
PAGE_SECONDS = 2.0
# Names of variants have this character, see VARIANT.
NO_VARIANT: Document = {"_id": {"$not": {"$regex": "~"}}}


@dataclass(frozen=True, slots=True)
class FileQuery:
    """The wanted files: of the record `owner`, with one of the `extensions`, after the place `after`; None for all."""

    owner: str | None = None
    extensions: Collection[str] | None = None
    sort_by: SortBy = "created_at"
    descends: bool = True
    limit: int = 50
    after: tuple[datetime | int | str, str] | None = None

    def match(self) -> Document:
        conditions: list[Document] = [NO_VARIANT]
        if self.owner is not None:
            conditions.append({"metadata.owner": self.owner})
        if self.extensions is not None:
            conditions.append({"_id": {"$regex": rf"\.({'|'.join(sorted(self.extensions))})$"}})
        if self.after is not None:
            conditions.append(self._after(*self.after))
        return {"$and": conditions}

    def _after(self, value: datetime | int | str, id_: str) -> Document:
        field, beyond = FIELDS[self.sort_by], "$lt" if self.descends else "$gt"
        if field == "_id":
            return {"_id": {beyond: id_}}
        return {"$or": [{field: {beyond: value}}, {field: value, "_id": {beyond: id_}}]}


async def list_files(database: ProjectDatabase, query: FileQuery) -> Sequence[StoredFile]:
    """At most one more than `limit`. Raises QueryTooSlow."""
    direction = -1 if query.descends else 1
    command: Document = {
        "find": FILES,
        "filter": query.match(),
        "sort": {FIELDS[query.sort_by]: direction, "_id": direction},
        "limit": query.limit + 1,
        "batchSize": query.limit + 2,
    }
    rows = await database.records(FILES).page(command, seconds=PAGE_SECONDS)
    return [read_stored(row) for row in rows]

"""The backups that the service has taken: `backups` {_id, project_id, state, name, host, at?, created_at, bytes?, documents?,
files?, sha256?, consistency?, service_version, manifest?, left_out, warnings?, by, pinned, note, verified_at?}.

`manifest` is JSON text, for its names are not MongoDB's. `name` and `host` say where the file is.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo import ASCENDING, IndexModel

from service.storage.client import ClientSession, Document
from service.storage.databases import Databases
from service.storage.newest import NEWEST, list_newest
from service.storage.records import Records, translated
from service.storage.transactions import in_transaction

BACKUPS = "backups"
MAKING, DONE, FAILED = "making", "done", "failed"
Place = tuple[datetime, str]
BACKUP_INDEXES = (
    IndexModel([("project_id", ASCENDING), *NEWEST], name="project_id"),
    IndexModel([*NEWEST], name="created_at"),
)


class BackupStore:
    """Every call raises the errors of `records.translated`."""

    def __init__(self, databases: Databases) -> None:
        self._client = databases.client
        self._backups = databases.system[BACKUPS]

    async def find(self, match: Document) -> Document | None:
        return await Records(self._backups).find(match)

    async def count(self, project_id: str) -> int:
        with translated("count backups"):
            return await self._backups.count_documents({"project_id": project_id})

    async def page(self, match: Document, *, after: Place | None, limit: int) -> Sequence[Mapping[str, Any]]:
        """At most `limit` backups without their manifests, the newest first. Raises QueryTooSlow."""
        return await list_newest(Records(self._backups), match, after=after, limit=limit, without=("manifest",))

    async def change(self, match: Document, changes: Document, note: Any = None) -> Document | None:
        """The backup afterwards; None where none matches. `note` writes in the same transaction."""

        async def write(session: ClientSession) -> Document | None:
            found = await Records(self._backups, session).update(match, {"$set": changes})
            if found is not None and note is not None:
                await note(session)
            return found

        return await in_transaction(self._client, write)

    async def delete(self, match: Document, note: Any) -> bool:
        """False where none matches. `note` writes in the same transaction."""

        async def write(session: ClientSession) -> bool:
            if not await Records(self._backups, session).delete(match):
                return False
            await note(session)
            return True

        return await in_transaction(self._client, write)


async def ensure_backup_indexes(databases: Databases) -> None:
    with translated("prepare backups"):
        await databases.system[BACKUPS].create_indexes(list(BACKUP_INDEXES))

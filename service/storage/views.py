"""Views of the console: `views` {_id, project_id, kind, of, name, state, shared, owner_id, version, created_at,
updated_at}, and `<project>/views` {project_id, changes}, which each new view of a project writes.

`state` is JSON text, for its names are not MongoDB's.
"""

from collections.abc import Sequence

from pymongo import ASCENDING, IndexModel

from service.storage.client import ClientSession, Document
from service.storage.databases import Databases
from service.storage.records import Records, translated
from service.storage.transactions import in_transaction

VIEWS = "views"
LIST_SECONDS = 2.0
VIEW_INDEXES = (IndexModel([("project_id", ASCENDING), ("kind", ASCENDING), ("of", ASCENDING)], name="project_id"),)


class ViewStore:
    """Every call raises the errors of `records.translated`."""

    def __init__(self, databases: Databases) -> None:
        self._client = databases.client
        self._collection = databases.system[VIEWS]
        self._views = Records(self._collection)

    async def list(self, match: Document, *, most: int) -> Sequence[Document]:
        """The views that match, by their names. Raises QueryTooSlow."""
        command: Document = {"find": VIEWS, "filter": match, "sort": {"name": 1, "_id": 1}, "limit": most}
        return await self._views.page({**command, "batchSize": most + 1}, seconds=LIST_SECONDS)

    async def insert(self, view: Document, *, most: int) -> bool:
        """False where the project has `most` views. Two at once conflict, so that the second counts the first."""
        project_id = view["project_id"]

        async def write(session: ClientSession) -> bool:
            views = Records(self._collection, session)
            changes: Document = {"$inc": {"changes": 1}, "$set": {"project_id": project_id}}
            await views.upsert({"_id": f"{project_id}/views"}, changes)
            match = {"project_id": project_id, "kind": {"$exists": True}}
            rows = await views.aggregate([{"$match": match}, {"$count": "number"}], size=1)
            if rows and rows[0]["number"] >= most:
                return False
            await views.insert(view)
            return True

        return await in_transaction(self._client, write)

    async def find(self, match: Document) -> Document | None:
        return await self._views.find(match)

    async def update(self, match: Document, changes: Document) -> Document | None:
        """The view afterwards; None where none matches."""
        return await self._views.update(match, {"$set": changes, "$inc": {"version": 1}})

    async def delete(self, match: Document) -> bool:
        return await self._views.delete(match)


async def ensure_view_indexes(databases: Databases) -> None:
    with translated():
        await databases.system[VIEWS].create_indexes(list(VIEW_INDEXES))

"""The end of a document, which takes its files along."""

from service.domain.documents.file_changes import settle_files
from service.domain.documents.references import Target
from service.schema.versions import Versions
from service.storage.databases import ProjectDatabase
from service.storage.documents import DocumentStore, Guard


async def delete_document(target: Target, id_: str, guard: Guard | None, versions: Versions) -> bool:
    """Whether there was a document to delete that has one of `versions` and that `guard` let pass."""
    collection = target.collection
    if not collection.files:
        return await target.store.delete(id_, guard=guard, versions=versions)

    async def delete(database: ProjectDatabase) -> bool:
        store = DocumentStore(database, collection.name)
        before = await store.read_fields({"_id": id_}, collection.files, limit=1)
        is_deleted = await store.delete(id_, guard=guard, versions=versions)
        if is_deleted:
            await settle_files(database, collection, before, {})
        return is_deleted

    return await target.project.database.in_transaction(delete)

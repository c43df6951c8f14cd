"""The files of documents that are written or deleted: new ones come with a write, named ones stay, and the others go.

A client can send back the URL of a file that is in a field already, and no other: a client that could name any file would
make it the document's, to be shown signed, and to be removed with it.
"""

from collections.abc import Iterable, Iterator, Mapping

from service.bounds import MAX_FIELD_FILES
from service.domain.collections.catalog import DeclaredCollection
from service.domain.documents.reader import TargetCollection
from service.domain.documents.writes import Create, Data, Update, Upsert, Write, find_names
from service.errors import Invalid, Location, Violation
from service.schema.fields import Fields
from service.schema.versions import Versions
from service.storage.databases import ProjectDatabase
from service.storage.documents import DocumentStore, Guard, ReplaceData, StoredDocument
from service.storage.files.of_documents import Place, adopt, condemn_lost

LOC: Location = ("body", "data")
TOO_MANY = f"A field may hold {MAX_FIELD_FILES} files"
FOREIGN = "Not a file that this field has; send a new file as a part of a form"


def find_places(data: Data, files: Fields) -> set[Place]:
    """The names of files in `data`, each with its field."""
    return {(field, name) for field in files.keys() & data.keys() for name in _names(data[field])}


def _names(value: object) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield each


def list_foreign(data: Data, files: Fields, own: Iterable[Place] = (), loc: Location = LOC) -> list[Violation]:
    """The violations of fields of `data` that name a file outside of `own`."""
    foreign = find_places(data, files) - set(own)
    return [Violation((*loc, field), FOREIGN, "foreign_file") for field in sorted({field for field, _ in foreign})]


def list_overfull(data: Data, files: Fields, before: Data) -> list[Violation]:
    """The fields of `data` with more files than there may be, and than there were: an answer may have to sign each."""
    overfull = [
        field
        for field in sorted(files.keys() & data.keys())
        if isinstance(data[field], list) and len(data[field]) > max(MAX_FIELD_FILES, _count(before.get(field)))
    ]
    return [Violation((*LOC, field), TOO_MANY, "too_many_files") for field in overfull]


def _count(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def check_new_files(data: Data, collection: DeclaredCollection, create: Create) -> None:
    """Raises Invalid where a new document names a file that does not come with it."""
    own = create.upload.places if create.upload is not None else ()
    if violations := list_foreign(data, collection.files, own):
        raise Invalid(violations)


def touches_files(write: Write, files: Fields) -> bool:
    """True if a write may bring, name or lose files."""
    if not files or write.upload is not None:
        return write.upload is not None
    if isinstance(write, Create):
        return False
    if isinstance(write, Upsert) or isinstance(write.change, ReplaceData):
        return True
    return any(name in files for name in find_names(write))


async def find_before(database: ProjectDatabase, collection: DeclaredCollection, write: Write) -> Mapping[str, Data]:
    """Id → the fields of files of the document that is to be changed, where there is one, in the transaction that does it."""
    match = _match(write)
    if match is None:
        return {}
    return await DocumentStore(database, collection.name).read_fields(match, collection.files, limit=1)


async def settle_write(
    database: ProjectDatabase,
    collection: DeclaredCollection,
    write: Write,
    before: Mapping[str, Data],
    document: StoredDocument,
) -> None:
    """The files of a document that was written in this transaction. Raises Invalid where it names others than its own."""
    sent = write.upload.places if write.upload is not None else set[Place]()
    if sent:
        await adopt(database, document.id, {name for _, name in sent})
    was = {document.id: before.get(document.id, {})}
    await settle_files(database, collection, was, {document.id: document.data}, sent)


def _match(write: Write) -> Mapping[str, object] | None:
    match write:
        case Update():
            return {"_id": write.id}
        case Upsert():
            return {f"data.{write.by}": {"$eq": write.key}}
    return None


async def settle_files(
    database: ProjectDatabase,
    collection: DeclaredCollection,
    before: Mapping[str, Data],
    after: Mapping[str, Data],
    sent: Iterable[Place] = (),
) -> None:
    """Condemns what documents named `before` and name no more; raises Invalid where they name what is not theirs.

    Nor may they name too many. `sent` are new files, which go as well where the document does not name them.
    """
    files, lost = collection.files, dict[str, set[Place]]()
    for id_, data in before.items():
        own, named = find_places(data, files) | set(sent), find_places(after.get(id_, {}), files)
        if violations := [
            *list_foreign(after.get(id_, {}), files, own),
            *list_overfull(after.get(id_, {}), files, data),
        ]:
            raise Invalid(violations)
        if gone := own - named:
            lost[id_] = gone
    if lost:
        await condemn_lost(database, collection.name, lost)


async def delete_document(target: TargetCollection, id_: str, guard: Guard | None, versions: Versions) -> bool:
    """True if a document with one of `versions` passed `guard` and was deleted. Its files go with it."""
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

    return await target.database.in_transaction(delete)

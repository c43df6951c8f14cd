"""Fills the database of a project that is being restored with the documents of a backup, and compares what it holds."""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from service.domain.collections.catalog import DeclaredCollection, read_collection
from service.domain.collections.reconcile import users_validator
from service.domain.portable.copying import Advance
from service.domain.portable.manifest import records_name
from service.domain.portable.reading import BackupFile
from service.domain.portable.rewriting import Rewrite, Rewriting
from service.domain.portions import read_portions
from service.errors import BackupDamaged, DigestMismatch, DuplicateValue, Invalid, RestoreInvalid
from service.schema.collection_options import read_options
from service.schema.fields import parse
from service.schema.indexes import check_indexes
from service.schema.options import COLLECTION_NAME
from service.storage.bson_stream import BadBson, read_document
from service.storage.building import digest_documents, index_chunks, insert_documents
from service.storage.client import Document
from service.storage.collections import CollectionStore, mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.definitions import is_visible
from service.storage.files.stored import CHUNKS
from service.storage.layout import COLLECTIONS, DOCUMENTS, PROFILE, SESSIONS, USERS
from service.storage.wanted_images import wants_images

INSERTED_BYTES, INSERTED_DOCUMENTS = 8_388_608, 1_000
NAMED = 100


@dataclass(slots=True)
class Filled:
    """The number of documents that were written, and the others as "collection id"."""

    documents: int = 0
    rejected: list[str] = field(default_factory=list)


async def fill_database(
    database: ProjectDatabase, backup: BackupFile, rewriting: Rewriting, advance: Advance, *, skips_invalid: bool
) -> Filled:
    """Stores each document as `rewriting` changes it.

    Raises RestoreInvalid for documents that break their definition, unless it `skips_invalid`; DigestMismatch."""
    filled = Filled()
    declared = await _declare(database, backup)
    files = {mongo_collection_name(name): each.files for name, each in declared.items()}
    for collection in list_filled(backup, files.keys()):
        rewrite = rewriting(collection, files.get(collection, ()))
        await _fill(_Member(database, backup, collection), rewrite, filled, advance)
    if filled.rejected and not skips_invalid:
        shown = ", ".join(filled.rejected[:NAMED])
        raise RestoreInvalid(f"{len(filled.rejected)} documents break their definition: {shown}")
    for each in declared.values():
        await _index(database, each)
    return filled


def list_filled(backup: BackupFile, documents: Set[str]) -> list[str]:
    """The collections to fill: sessions end with a restore, and documents of a deleted collection went with it."""
    return [
        name
        for name in backup.collections
        if name not in {SESSIONS, COLLECTIONS, PROFILE} and (name in documents or not name.startswith(DOCUMENTS))
    ]


async def _declare(database: ProjectDatabase, backup: BackupFile) -> Mapping[str, DeclaredCollection]:
    """Stores the definitions and rules, and makes the collections of documents with their validators."""
    records = read_definitions(backup, COLLECTIONS)
    declared = {record["_id"]: read_declared(record) for record in records}
    if records:
        await database.records(COLLECTIONS).insert_many(records)
    if "rules" in backup.collections:
        rules = await asyncio.to_thread(list, backup.documents(records_name("rules")))
        await insert_documents(database, "rules", rules)
    store = CollectionStore(database)
    for record in (profile := read_definitions(backup, PROFILE)):
        await store.set_validator(USERS, judge_users(record))
    if profile:
        await database.records(PROFILE).insert_many(profile)
    for record in records:
        judge = declared[record["_id"]].validator
        await store.set_validator(record["_id"], judge, images=await wants_images(database, record))
    return declared


def read_definitions(backup: BackupFile, registry: str) -> list[Document]:
    """The definitions that were there. One that was being changed has the schema of before."""
    if registry not in backup.collections:
        return []
    found = map(read_document, backup.documents(records_name(registry)))
    return [{name: value for name, value in each.items() if name != "change"} for each in found if is_visible(each)]


def judge_users(record: Document) -> Document:
    try:
        return users_validator(record)
    except (Invalid, KeyError, TypeError, ValueError):
        raise BackupDamaged(f"{records_name(PROFILE)}: the schema of profiles is none") from None


def read_declared(record: Document) -> DeclaredCollection:
    if not COLLECTION_NAME.fullmatch(str(record["_id"])):
        raise BackupDamaged(f"{records_name(COLLECTIONS)}: {record['_id']!r} is no name of a collection")
    try:
        broken = check_indexes(parse(record["schema"]), read_options(record))
        if not broken:
            return read_collection(record)
    except (Invalid, KeyError, TypeError):
        pass
    raise BackupDamaged(f"{records_name(COLLECTIONS)}: the schema of {record['_id']} is none")


async def _index(database: ProjectDatabase, collection: DeclaredCollection) -> None:
    try:
        await CollectionStore(database).add_indexes(collection.name, collection.indexes)
    except DuplicateValue as error:
        names = " and ".join(error.fields)
        raise RestoreInvalid(f"two documents of {collection.name} have the same {names}, which is unique") from None


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of a backup, and the collection that it fills."""

    database: ProjectDatabase
    backup: BackupFile
    collection: str


async def _fill(member: _Member, rewrite: Rewrite, filled: Filled, advance: Advance) -> None:
    """Writes one member, and compares what MongoDB has then with what was sent."""
    database, collection, digest = member.database, member.collection, hashlib.sha256()
    found = _read(member, rewrite)
    async for batch in read_portions(found, len, most=INSERTED_DOCUMENTS, most_bytes=INSERTED_BYTES):
        refused = {} if collection == "rules" else await insert_documents(database, collection, batch)
        for position, document in enumerate(batch):
            if position in refused:
                filled.rejected.append(f"{collection} {read_document(document)['_id']}")
            else:
                digest.update(document)
        filled.documents += 0 if collection == CHUNKS else len(batch) - len(refused)
        advance("restored", len(batch))
    if collection == CHUNKS:
        await index_chunks(database)
    if await digest_documents(database, collection) != digest.hexdigest():
        raise DigestMismatch(f"{collection} does not hold what was sent to it")


def _read(member: _Member, rewrite: Rewrite) -> Iterator[bytes]:
    """The documents as they are to be stored."""
    name = records_name(member.collection)
    try:
        yield from map(rewrite, member.backup.documents(name))
    except BadBson as error:
        raise BackupDamaged(f"the bytes of {name} {error}") from None

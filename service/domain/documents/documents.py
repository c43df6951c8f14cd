"""The documents of declared collections: one class serves every caller, by what the caller's permissions allow."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from service.domain.access.control import require
from service.domain.documents.changes import change_document, delete_document
from service.domain.documents.creation import (
    ATTEMPTS,
    CreateResult,
    check_key,
    create_all,
    create_document,
    create_each,
    match_key,
    upsert_document,
)
from service.domain.documents.reader import Reader, TargetCollection
from service.domain.documents.refusals import judged_again
from service.domain.documents.writes import (
    CHANGED,
    NO_PRECONDITION,
    Change,
    Create,
    Data,
    HiddenDocument,
    OnConflict,
    Precondition,
    RecordOrigin,
    Update,
    Upsert,
    Upserted,
    Written,
    find_names,
)
from service.domain.documents.writing import Sent, write_document
from service.domain.idempotency import Keep
from service.domain.lists import COUNTS, Listing
from service.errors import (
    ConditionFailed,
    DocumentNotFound,
    DuplicateValue,
    NotFound,
    Unavailable,
)
from service.query.bind import bind_distinct
from service.query.names import Path
from service.query.nodes import Count, ListQuery, Where
from service.query.reading import Reading
from service.rules.permissions import Permissions
from service.rules.writes import creation_data
from service.schema.values import Kind
from service.schema.versions import Versions
from service.storage.collections import mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.documents import ReplaceData, SetFields, StoredDocument, read_document
from service.storage.files.uploads import Upload
from service.storage.ids import new_id


@dataclass(frozen=True, slots=True)
class Page:
    """Some documents of a list, related records in their data, and what the list says of itself."""

    documents: list[StoredDocument]
    listing: Listing


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of one collection as one caller may use them.

    Every call raises CollectionNotFound, and Forbidden or Unauthorized by the rules. Documents that the caller may not read
    are not found.
    """

    reader: Reader

    @property
    def name(self) -> str:
        return self.reader.name

    @property
    def permissions(self) -> Permissions:
        return self.reader.permissions

    async def within(self, database: ProjectDatabase) -> "Documents":
        """The same on the database as a transaction sees it."""
        return Documents(await self.reader.within(database))

    async def renewed(self) -> "Documents | None":
        """The same by the caller's sets as they are now; None where those are no others."""
        newer = await self.reader.renewed()
        return None if newer is None else Documents(newer)

    @judged_again
    async def create(
        self, data: Data, keep: Keep[Written] | None = None, *, id_: str | None = None, upload: Upload | None = None
    ) -> Written:
        """Raises Invalid, DuplicateValue."""
        sent = data if self.permissions.creates_freely else creation_data(self.permissions, data)
        return await self._write(create_document, Create(sent, self._as_seen(keep), id_ or new_id(), upload))

    async def create_all(self, creates: Sequence[Create]) -> list[Written]:
        """Creates all in one command, within a transaction, for a caller who may create every document.

        Raises as `create`, with the position in `operation`.
        """
        target = await self.reader.target()
        if all(target.collection.unique.isdisjoint(create.data) for create in creates):
            documents = await create_all(target, creates)
        else:
            async with self._count_conflicts():
                documents = await create_all(target, creates)
        await self._note_write()
        return [await self.view(document) for document in documents]

    async def create_each(
        self, rows: Sequence[Data], origins: Sequence[RecordOrigin] | None = None
    ) -> list[CreateResult]:
        """For each of `rows` its document, or the reason of its refusal; for a caller who may create every document."""
        return await create_each(await self.reader.target(), rows, origins)

    async def list(self, query: ListQuery) -> Page:
        """Raises Invalid, and as `Lists.read`."""
        bound, counted = await self.reader.bind(query), await self.reader.counted(query.counts)
        show = await self.reader.show_rows(bound)
        found = await self.reader.engine.lists.read(self.reader.database, bound, show, counted)
        documents = [read_document(row) for row in found.rows]
        if counted:
            documents = [each._replace(counts=row[COUNTS]) for each, row in zip(documents, found.rows, strict=True)]
        return Page(documents, found)

    async def count_related(self, id_: str, names: Sequence[str]) -> Mapping[str, int]:
        """Name of a `with_counts` → the number of records that refer to the document, as far as the caller may read them.

        Raises Invalid, and as `Lists.read`.
        """
        counted, name = await self.reader.counted(names), mongo_collection_name(self.name)
        return await self.reader.engine.lists.count_related(self.reader.database, name, id_, counted)

    async def distinct(self, path: Path, query: ListQuery) -> Sequence[Any]:
        """The values of a field in the documents that `query` finds. Raises Invalid, and as `Lists.distinct`."""
        engine = self.reader.engine
        asked = bind_distinct(path, query, await self.reader.shape(query))
        values = await engine.lists.distinct(self.reader.database, asked)
        is_file = asked.field.kind is Kind.FILE
        return await engine.protection.show_values(self.reader.project, values) if is_file else values

    async def find_by_values(self, values: Mapping[str, Sequence[Any]]) -> Sequence[StoredDocument]:
        """The documents that have, in every field of `values`, one of its values, in the form in which it is stored.

        For a caller who may read every document.
        """
        if not self.permissions.reads_freely:
            raise self.reader.refusal()
        store = (await self.reader.target()).store
        return await store.find_by_values(values, size=max(map(len, values.values()), default=0))

    @judged_again
    async def get(self, id_: str) -> StoredDocument:
        """Raises DocumentNotFound."""
        document = await self.reader.find(id_, whole=False)
        if document is None:
            raise DocumentNotFound
        return await self.reader.show(document)

    @judged_again
    async def change(
        self,
        id_: str,
        change: Change,
        precondition: Precondition = NO_PRECONDITION,
        keep: Keep[Written] | None = None,
        *,
        upload: Upload | None = None,
    ) -> Written:
        """Raises DocumentNotFound, VersionConflict, ConditionFailed, Invalid, DuplicateValue."""
        return await self._write(change_document, Update(id_, change, precondition, self._as_seen(keep), upload))

    @judged_again
    async def upsert(self, upsert: Upsert) -> Upserted:
        """Raises as `create` and `change` do.

        If the caller may read a document with the value, it is changed; else one is created, whose value may be taken.
        A caller who may create and change every document does so in one step.
        """
        if self.permissions.creates_freely and self.permissions.updates_freely:
            document = await self._write(upsert_document, upsert)
            return Upserted(document, is_created=document.id == upsert.id)
        fields = (await self.reader.collection()).fields
        check_key(upsert, self.reader.readable_fields(fields))
        where = match_key(upsert, fields)
        for _ in range(ATTEMPTS):
            found = await self._find_by(where)
            try:
                if found is not None:
                    return Upserted(await self._change_found(found, upsert, where), is_created=False)
                created = await self.create(upsert.data, id_=upsert.id, upload=upsert.upload)
                return Upserted(created, is_created=True)
            except (ConditionFailed, DocumentNotFound):
                continue
            except DuplicateValue as error:
                is_other = not error.is_of(upsert.by) or found is not None
                if is_other or self.reader.database.session is not None or not await self._find_by(where):
                    raise
        raise Unavailable(CHANGED)

    async def _find_by(self, where: Where) -> StoredDocument | None:
        query = ListQuery(where=where, limit=1, count=Count.NONE)
        found = (await self.list(query)).documents
        return found[0] if found else None

    async def _change_found(self, found: StoredDocument, upsert: Upsert, where: Where) -> Written:
        if upsert.on_conflict is OnConflict.IGNORE:
            return found
        require(self.permissions.may_update, self.reader.caller)
        is_whole = upsert.on_conflict is OnConflict.REPLACE
        change = ReplaceData(upsert.data) if is_whole else SetFields(upsert.data)
        return await self.change(found.id, change, Precondition(where=where), upload=upsert.upload)

    @judged_again
    async def delete(self, id_: str, versions: Versions = None) -> None:
        """Raises DocumentNotFound, VersionConflict."""
        await delete_document(self.reader, id_, versions)
        await self._note_write()

    async def show_again(self, kept: Data) -> dict[str, Any]:
        """The part that the caller may read now of a document that was answered: `{id, data?, ...}`; at least the id."""
        if "data" not in kept:
            return dict(kept)
        data = kept["data"]
        if not self.permissions.is_everything:
            record = None if self.permissions.read is False else await self.reader.find_record(kept["id"])
            if record is None:
                return {"id": kept["id"]}
            data = {name: data[name] for name in data if self.permissions.shows(name, Reading(record))}
        return {**kept, "data": await self.reader.show_again(kept["id"], data)}

    async def read_again(self, id_: str) -> Written:
        """The document that was answered, as it is now; hidden where it is gone or the caller may not read it."""
        try:
            return HiddenDocument(id_) if self.permissions.read is False else await self.get(id_)
        except NotFound:
            return HiddenDocument(id_)

    async def _write(
        self, attempt: Callable[[TargetCollection, Sent], Awaitable[StoredDocument]], write: Sent
    ) -> Written:
        target = await self.reader.target()
        unique = target.collection.unique
        if not unique or unique.isdisjoint(find_names(write)):
            document = await write_document(target, attempt, write)
        else:
            async with self._count_conflicts():
                document = await write_document(target, attempt, write)
        await self._note_write()
        return await self.view(document)

    @asynccontextmanager
    async def _count_conflicts(self) -> AsyncIterator[None]:
        """Surrounds a write to a unique field. Raises LimitExceeded, and DuplicateValue with the names that are shown."""
        try:
            async with self.reader.engine.conflicts.count(self.reader.caller):
                yield
        except DuplicateValue as error:
            raise error.without(self.reader.hidden_fields()) from None

    async def _note_write(self) -> None:
        reader = self.reader
        await reader.engine.access.note_write(reader.caller, reader.database, reader.name)

    async def view(self, document: StoredDocument) -> Written:
        """The document as its writer may read it, by sets that include the write."""
        if self.permissions.reads_freely:
            return await self.reader.show(document)
        if (seen := await self.reader.visible(document)) is not None:
            return await self.reader.show(seen)
        newer = await self.renewed()
        return HiddenDocument(document.id) if newer is None else await newer.view(document)

    def _as_seen(self, keep: Keep[Written] | None) -> Keep[StoredDocument] | None:
        """`keep`, given what the writer may read of the document by relations and sets as they are in the transaction."""
        if keep is None:
            return None

        async def keep_seen(database: ProjectDatabase, document: StoredDocument) -> None:
            await self.reader.engine.access.note_write(self.reader.caller, database, self.name)
            bound = await self.within(database)
            await keep(database, await bound.view(document))

        return keep_seen

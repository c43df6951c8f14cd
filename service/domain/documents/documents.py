"""Documents of declared collections: the one way that every write takes, whatever asks for it.

A write's values are read as its schema says, then the service judges names, references and patterns, then the database's
validator judges the rest; its verdict becomes a 422 here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.domain.collections.catalog import Catalogs, Collection, See
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.documents.approval import Approval
from service.domain.documents.changes import Misfit, change_document, find_record, store_write
from service.domain.documents.deletions import delete_document
from service.domain.documents.file_changes import check_new_files, list_foreign
from service.domain.documents.preconditions import check_record
from service.domain.documents.references import LOC, Target, check_completed, faults_of, map_in_turns
from service.domain.documents.upserts import upsert_document
from service.domain.documents.writes import Create as Create
from service.domain.documents.writes import Update as Update
from service.domain.documents.writes import Upsert as Upsert
from service.domain.documents.writes import Write as Write
from service.domain.files.protection import FileProtection
from service.domain.idempotency import Keep
from service.domain.lists import Listing, Lists
from service.domain.projects.lookup import Project
from service.errors import (
    DocumentNotFound,
    Invalid,
    RejectedByValidator,
    ServiceError,
    Unavailable,
    Violation,
)
from service.query.bind import bind, bind_distinct
from service.query.names import Path, count_searched
from service.query.nodes import Expansion, ListQuery
from service.schema.documents import complete, try_complete
from service.schema.fields import Fields
from service.schema.values import Kind, check_data, now
from service.schema.versions import Versions
from service.schema.violations import is_verdict, may_lack_version, translate
from service.storage.documents import Document as Document
from service.storage.documents import DocumentStore, read_document
from service.storage.documents import ReplaceData as ReplaceData
from service.storage.documents import SetFields as SetFields
from service.storage.ids import new_id
from service.storage.validator_migrations import renew_validator

Data = Mapping[str, Any]
CreateResult = Document | ServiceError

CHANGING = "The schema of this collection is being changed; try again"


@dataclass(frozen=True, slots=True)
class Page:
    """Some documents of a list, related records in their data, and what the list says of itself."""

    documents: list[Document]
    listing: Listing


class Documents:
    """What a project's API key can do with the documents of a collection. Every call raises CollectionNotFound."""

    def __init__(self, catalogs: Catalogs, lists: Lists, judge: PatternJudge, protection: FileProtection) -> None:
        self._catalogs = catalogs
        self._lists = lists
        self._judge = judge
        self._protection = protection

    async def create(self, project: Project, name: str, data: Data, keep: Keep[Document] | None = None) -> Document:
        """Raises Invalid, DuplicateValue."""
        return await self.write(project, name, Create(data, keep=keep))

    async def merge(self, project: Project, name: str, id_: str, data: Data) -> Document:
        """Sets the named top-level fields and leaves the others. Raises DocumentNotFound, Invalid, DuplicateValue."""
        return await self.write(project, name, Update(id_, SetFields(data)))

    async def create_each(self, project: Project, name: str, rows: Sequence[Data]) -> list[CreateResult]:
        """Creates many as `create` would, in one batch: for each of `rows` its document, or why it was refused.

        It asks twice of the database, whatever the number of rows.
        """
        target = await self._target(project, name)
        completed = await map_in_turns(lambda row: try_complete(row, target.collection.fields), rows)
        documents = [_document(new_id(), data) for data, _ in completed]
        named = await self._faults(target, rows, documents)
        faults = [overfull or each for (_, overfull), each in zip(completed, named, strict=True)]
        sent = [number for number, fault in enumerate(faults) if not fault]
        refused = await target.store.insert_each([documents[number] for number in sent]) if sent else {}
        if any(lacks_version(error) for error in refused.values()) and await self._renew(target):
            again = list(refused)
            found = await target.store.insert_each([documents[sent[position]] for position in again])
            refused = {again[position]: error for position, error in found.items()}
        outcomes: list[CreateResult] = [
            Invalid(fault) if fault else documents[number] for number, fault in enumerate(faults)
        ]
        for position, error in refused.items():
            outcomes[sent[position]] = as_client_error(error)
        return outcomes

    async def create_all(self, project: Project, name: str, creates: Sequence[Create]) -> Sequence[Document]:
        """Creates all in one command, within a transaction. Raises as `create`, with the position in `operation`."""
        target = await self._target(project, name)
        documents = [_new_at(position, create, target.collection) for position, create in enumerate(creates)]
        rows = [create.data for create in creates]
        faults = await self._faults(target, rows, documents)
        for position, fault in enumerate(faults):
            if fault:
                error = Invalid(fault)
                error.operation = position
                raise error
        await target.store.insert_all(documents)
        return documents

    async def _faults(
        self, target: Target, rows: Sequence[Data], documents: Sequence[Document]
    ) -> Sequence[Sequence[Violation]]:
        """For each of the new documents, which come without files, what is wrong with it."""
        completed = [document.data for document in documents]
        faults = await faults_of(target, rows, completed, self._judge)
        if files := target.collection.files:
            return [[*found, *list_foreign(data, files)] for found, data in zip(faults, completed, strict=True)]
        return faults

    async def list(self, project: Project, name: str, query: ListQuery, see: See | None = None) -> Page:
        """Documents as `see` lets them be seen, which is all of them without it. Raises Invalid, and as `Lists.read`."""
        shape = await self._catalogs.shape(project, name, query, see)
        bound = bind(query, shape)
        show = await self._protection.show(project, _reached(bound.collection, bound.expansions))
        found = await self._lists.read(project.database, bound, show)
        return Page([read_document(row) for row in found.rows], found)

    async def distinct(self, project: Project, name: str, path: Path, query: ListQuery) -> Sequence[Any]:
        """The values of a field in the documents that `query` finds. Raises Invalid, and as `Lists.distinct`."""
        shape = await self._catalogs.shape(project, name, query)
        asked = bind_distinct(path, query, shape)
        values = await self._lists.distinct(project.database, asked)
        return await self._protection.show_values(project, values) if asked.field.kind is Kind.FILE else values

    async def show(self, project: Project, name: str, document: Document) -> Document:
        """The document with the URLs of its files, as answers show it, in the place of their names."""
        collection = await self._catalogs.get(project, name)
        if not collection.files:
            return document
        data = dict(document.data)
        is_signed = self._protection.show_document(project, collection, document.id, data)
        return document._replace(data=data, has_signed_urls=is_signed)

    async def show_again(self, project: Project, name: str, kept: Data) -> dict[str, Any]:
        """A document as it was answered, `{id, data, ...}`, with URLs of protected files that are good now."""
        collection = await self._catalogs.find(project, name)
        if collection is None or not collection.files:
            return dict(kept)
        data = dict(kept["data"])
        self._protection.show_document_again(project, collection, kept["id"], data)
        return {**kept, "data": data}

    async def find_by_values(
        self, project: Project, name: str, values: Mapping[str, Sequence[Any]]
    ) -> Sequence[Document]:
        """The documents that have, in every field of `values`, one of its values, in the form in which it is stored."""
        target = await self._target(project, name)
        return await target.store.find_by_values(values, size=max(map(len, values.values()), default=0))

    async def get(self, project: Project, name: str, id_: str, see: See | None = None) -> Document:
        """Raises DocumentNotFound, also where `see` does not let the document be seen."""
        if see is None:
            return _found(await (await self._target(project, name)).store.find(id_))
        return _found(await self._find_seen(project, name, id_, see))

    async def find_whole(self, project: Project, name: str, id_: str, see: See) -> Document | None:
        """The document, if `see` lets it be seen, with the fields that it hides, too."""
        return await self._find_seen(project, name, id_, see, whole=True)

    async def _find_seen(
        self, project: Project, name: str, id_: str, see: See, *, whole: bool = False
    ) -> Document | None:
        shape = await self._catalogs.shape(project, name, ListQuery(), see)
        row = await self._lists.find(project.database, id_, shape, fields=shape.listed, whole=whole)
        return read_document(row) if row is not None else None

    async def delete(self, project: Project, name: str, id_: str, *, versions: Versions = None) -> None:
        """Raises DocumentNotFound, VersionConflict."""
        target = await self._target(project, name)
        if not await delete_document(target, id_, None, versions):
            if versions is not None:
                await check_record(project.database, await find_record(target, id_), versions)
            raise DocumentNotFound

    async def delete_approved(
        self, project: Project, name: str, id_: str, approval: Approval, *, versions: Versions = None
    ) -> None:
        """Raises DocumentNotFound, VersionConflict, and what the rules refuse with."""
        target = await self._target(project, name)
        if not await delete_document(target, id_, await approval.deletion_guard(id_), versions):
            if versions is not None:
                await check_record(project.database, await approval.find(id_), versions)
            raise await approval.explain_refused_deletion(id_)

    async def write(self, project: Project, name: str, write: Write) -> Document:
        """The document after `write`, by the definition that is known; if that was old and refused it, by the newest.

        Raises DocumentNotFound, VersionConflict, Invalid, DuplicateValue, and what the rules refuse with.
        """
        target = await self._target(project, name)
        if project.database.session is not None:
            # What is refused ends the transaction, and whoever began it looks again.
            return await self._attempt(target, write)
        try:
            return await self._attempt(target, write)
        except (Misfit, RejectedByValidator) as refusal:
            newest = await self._look_again(target, refusal)
        try:
            return await self._attempt(newest, write)
        except (Misfit, RejectedByValidator) as refusal:
            raise as_client_error(refusal) from None

    async def look_again(self, project: Project, name: str, refusal: Misfit | RejectedByValidator) -> None:
        """Raises what the client is told, unless what was refused in a transaction is worth another one."""
        await self._look_again(await self._target(project, name), refusal)

    def explain(self, refusal: Misfit | RejectedByValidator) -> ServiceError:
        """What the client is told."""
        return as_client_error(refusal)

    async def _look_again(self, target: Target, refusal: Misfit | RejectedByValidator) -> Target:
        """The target by which a refused write is worth another attempt. Raises what the client is told where there is none."""
        renewed = lacks_version(refusal) and await self._renew(target)
        collection = await self._catalogs.refresh(target.project, target.collection.name)
        newest = Target(target.project, collection, target.store)
        if not renewed and newest.collection == target.collection:
            raise as_client_error(refusal) from None
        return newest

    async def _renew(self, target: Target) -> bool:
        """Brings in force the validator of the present form, which another may have put back. Raises Unavailable."""
        if not await renew_validator(target.project.database, target.collection.name):
            raise Unavailable(CHANGING)
        return True

    async def _attempt(self, target: Target, write: Write) -> Document:
        if isinstance(write, Update):
            return await self._change(target, write)
        if isinstance(write, Upsert):
            return await upsert_document(target, write, self._judge)
        if violations := check_data(write.data, LOC):
            raise Invalid(violations)
        document = _new_document(write, target.collection)
        if write.approval is not None:
            await write.approval.approve_creation(document, write.data)
        await check_completed(target, document.data, self._judge, write.approval)
        check_new_files(document.data, target.collection, write)
        await store_write(target, write, lambda store: store.insert(document))
        return document

    async def _change(self, target: Target, update: Update) -> Document:
        """Raises as `change_document`; Busy where the guard searches texts and the project's lists are all under way."""
        if not count_searched(update.precondition.where):
            return await change_document(target, update, self._judge)
        async with self._lists.take(target.project.database):
            return await change_document(target, update, self._judge)

    async def fields(self, project: Project, name: str) -> Fields:
        """Those that the collection declares. Raises CollectionNotFound."""
        return (await self._catalogs.get(project, name)).fields

    async def names_unique(self, project: Project, name: str, names: Iterable[str]) -> bool:
        """Whether one of the fields of these names is unique. Raises CollectionNotFound."""
        fields, written = (await self._catalogs.get(project, name)).fields, set(names)
        return any(each.unique and key in written for key, each in fields.items())

    async def _target(self, project: Project, name: str) -> Target:
        return Target(project, await self._catalogs.get(project, name), DocumentStore(project.database, name))


def _new_document(create: Create, collection: Collection) -> Document:
    return _document(create.id, complete(create.data, collection.fields))


def _new_at(position: int, create: Create, collection: Collection) -> Document:
    """Raises Invalid with the position in `operation`."""
    try:
        return _new_document(create, collection)
    except Invalid as error:
        raise error.at(position) from None


def _document(id_: str, data: dict[str, Any]) -> Document:
    moment = now()
    return Document(id_, data, moment, moment)


def lacks_version(error: Exception) -> bool:
    return isinstance(error, RejectedByValidator) and may_lack_version(error.err_info)


def as_client_error(error: ServiceError | Misfit) -> ServiceError:
    """What the client is told. While a schema is changed another validator is in force, which is no verdict."""
    if isinstance(error, Misfit):
        return Invalid(error.violations)
    if not isinstance(error, RejectedByValidator):
        return error
    if not is_verdict(error.err_info):
        return Unavailable(CHANGING)
    return Invalid(translate(error.err_info))


def _reached(collection: str, expansions: Iterable[Expansion]) -> set[str]:
    """The MongoDB collections whose records come with a page."""
    found = {collection}
    for each in expansions:
        found |= _reached(each.collection, each.inner)
    return found


def _found(document: Document | None) -> Document:
    if document is None:
        raise DocumentNotFound
    return document

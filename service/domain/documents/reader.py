"""One collection as one caller reads it: what the rules of a write look at is read here, and where the write goes.

The secret key has permissions that allow everything. A caller to whom the rules allow an action on no document is refused
before the query string and the body are looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any

from service.bounds import MAX_TRANSFERS
from service.domain.access.caller import ProjectCaller, SecretKeyCaller, UserCaller
from service.domain.access.control import AccessControl
from service.domain.access.relations import settle
from service.domain.cache import moment
from service.domain.collections.catalog import Catalogs, DeclaredCollection
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.documents.refusals import ConflictLimit
from service.domain.files.protection import FileProtection
from service.domain.lists import Lists
from service.domain.projects.lookup import Project, Projects
from service.domain.shares import Shares
from service.domain.steps import judge
from service.errors import CollectionNotFound, DocumentNotFound, Forbidden, ServiceError, Unauthorized
from service.query.bind import bind
from service.query.nodes import BoundQuery, Expansion, ListQuery
from service.query.populate import ShowFiles
from service.query.reading import Reading
from service.query.related_counts import CountedRelation
from service.query.shapes import Shape
from service.query.tree import Tree
from service.rules.permissions import EVERYTHING, Permissions
from service.schema.fields import Fields
from service.schema.nearest import describe_nearest
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions
from service.storage.documents import DocumentStore, StoredDocument, read_document

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts that every operation on documents works with."""

    catalogs: Catalogs
    lists: Lists
    judge: PatternJudge
    protection: FileProtection
    access: AccessControl
    conflicts: ConflictLimit
    projects: Projects
    # Places for the imports, exports and bulk writes of a project in a worker.
    transfers: Shares = field(default_factory=partial(Shares, MAX_TRANSFERS))

    async def permit(self, caller: ProjectCaller, name: str, action: str, *, began: float | None = None) -> "Reader":
        """The caller's reader of a collection, for an action on some of its documents: read, create, update or delete.

        The request began at `began`, or just now.
        Raises what `AccessControl.permissions` raises; Unauthorized and Forbidden where no rule lets the caller do it.
        """
        if isinstance(caller, SecretKeyCaller):
            return self.of_server(caller, name)
        began = moment() if began is None else began
        return Reader(self, caller, name, await self.access.permit(caller, name, action, since=began), began)

    def of_server(self, caller: SecretKeyCaller, name: str) -> "Reader":
        """The reader of the service itself, of the project's servers, and of operators."""
        return Reader(self, caller, name, EVERYTHING, moment())


@dataclass(slots=True, eq=False)
class Reader:
    """The documents of the collection `name` as `caller` reads them, by these `permissions`.

    The request began at `began`. Sets that were read before `since` are read again. It is never changed, and not frozen
    either, because every request makes one: a frozen dataclass takes twice as long.
    """

    engine: Engine
    caller: ProjectCaller
    name: str
    permissions: Permissions
    began: float
    since: float = -inf
    project: Project = field(init=False)
    database: ProjectDatabase = field(init=False)

    def __post_init__(self) -> None:
        self.project = self.caller.project
        self.database = self.project.database

    async def within(self, database: ProjectDatabase) -> "Reader":
        """The same on the database as a transaction sees it, and by the sets whose sources that has written.

        The user's own facts are read outside of it.
        """
        bound = replace(self, caller=replace(self.caller, project=replace(self.project, database=database)))
        if not database.written:
            return bound
        permissions = await self.engine.access.permissions(bound.caller, self.name, since=self.since)
        return replace(bound, permissions=permissions)

    async def renewed(self) -> "Reader | None":
        """The same by the caller's sets as they are now; None where those are no others."""
        newer = await self.engine.access.renew(self.caller, self.name, self.permissions, since=self.began)
        return None if newer is None else replace(self, permissions=newer, since=self.began)

    async def collection(self) -> DeclaredCollection:
        """Raises CollectionNotFound."""
        try:
            return await self.engine.catalogs.get(self.project, self.name)
        except CollectionNotFound as error:
            raise await self._describe_missing(error) from None

    async def target(self) -> "TargetCollection":
        """Raises CollectionNotFound."""
        return TargetCollection(self, await self.collection(), DocumentStore(self.database, self.name))

    async def newest_target(self) -> "TargetCollection":
        """By the definition as it is stored now. Raises CollectionNotFound."""
        collection = await self.engine.catalogs.refresh(self.project, self.name)
        return TargetCollection(self, collection, DocumentStore(self.database, self.name))

    async def shape(self, query: ListQuery) -> Shape:
        """Raises CollectionNotFound."""
        see = self.engine.access.make_see(self.caller, self.name, self.permissions, since=self.since)
        try:
            return await self.engine.catalogs.shape(self.project, self.name, query, see)
        except CollectionNotFound as error:
            raise await self._describe_missing(error) from None

    async def _describe_missing(self, error: CollectionNotFound) -> CollectionNotFound:
        """The error with the nearest name that there is, for servers only: rules hide the names of collections."""
        if not isinstance(self.caller, SecretKeyCaller):
            return error
        names = sorted(await Definitions(self.project.database).names())
        return CollectionNotFound(error.detail + describe_nearest(self.name, names))

    async def bind(self, query: ListQuery) -> BoundQuery:
        """Raises CollectionNotFound, Invalid."""
        return bind(query, await self.shape(query))

    async def counted(self, names: Sequence[str]) -> tuple[CountedRelation, ...]:
        """The relations that the names of a `with_counts` mean to the caller. Raises CollectionNotFound, Invalid."""
        if not names:
            return ()
        see = self.engine.access.make_see(self.caller, self.name, self.permissions, since=self.since)
        return await self.engine.catalogs.counts(self.project, self.name, names, see)

    async def resolve(self, query: BoundQuery) -> BoundQuery:
        """The query by the related records as they are now. Raises Busy, QueryTooSlow."""
        return await self.engine.lists.resolve(self.database, query)

    async def show_rows(self, query: BoundQuery) -> ShowFiles:
        """Puts the URLs of files into the rows that `query` finds."""
        return await self.engine.protection.show(self.project, _reached(query.collection, query.expansions))

    async def find(self, id_: str, *, whole: bool = True) -> StoredDocument | None:
        """The document, if the caller may read it; the `whole` one with the fields that the caller may not read, too.

        Raises CollectionNotFound.
        """
        if self.permissions.reads_freely:
            return await (await self.target()).store.find(id_)
        shape = await self.shape(ListQuery())
        row = await self.engine.lists.find(self.database, id_, shape, fields=shape.listed, whole=whole)
        return read_document(row) if row is not None else None

    async def find_record(self, id_: str) -> Record | None:
        """The whole document as rules judge it, if the caller may read it."""
        document = await self.find(id_)
        return as_record(document) if document is not None else None

    async def read(self, id_: str) -> Reading:
        """Raises DocumentNotFound where the caller may not read the document."""
        record = await self.find_record(id_)
        if record is None:
            raise DocumentNotFound
        return Reading(record)

    async def holds(self, tree: Tree, reading: Reading) -> bool:
        """True if a record satisfies `tree`, with its relations as they are."""
        return await judge(self.database, await settle(self.database, tree, reading), reading)

    async def visible(self, document: StoredDocument) -> StoredDocument | None:
        """The part of a document that the caller may read; None where that is nothing."""
        reading = Reading(as_record(document))
        if not await self.holds(self.permissions.read, reading):
            return None
        return document._replace(data=self.permissions.visible(reading))

    async def show(self, document: StoredDocument) -> StoredDocument:
        """The document with the URLs of its files, as answers show it, in the place of their names."""
        collection = await self.collection()
        if not collection.files:
            return document
        data = dict(document.data)
        is_signed = self.engine.protection.show_document(self.project, collection, document.id, data)
        return document._replace(data=data, has_signed_urls=is_signed)

    async def show_again(self, id_: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """The `data` of an earlier answer, with URLs of protected files that are good now."""
        collection, shown = await self.engine.catalogs.find(self.project, self.name), dict(data)
        if collection is not None and collection.files:
            self.engine.protection.show_document_again(self.project, collection, id_, shown)
        return shown

    def readable_fields(self, fields: Fields) -> Fields:
        """The fields that the caller may read in some record."""
        hidden = self.hidden_fields()
        return {name: field for name, field in fields.items() if name not in hidden} if hidden else fields

    def hidden_fields(self) -> frozenset[str]:
        """The names of fields that the caller may read in no record."""
        return frozenset(name for name, tree in self.permissions.readable.items() if tree is False)

    def refusal(self) -> ServiceError:
        """The error of a write that the rules do not allow."""
        return Forbidden() if isinstance(self.caller, UserCaller) else Unauthorized()


@dataclass(frozen=True, slots=True)
class TargetCollection:
    """A collection as its definition is known to a request, and where its documents are."""

    reader: Reader
    collection: DeclaredCollection
    store: DocumentStore

    @property
    def project(self) -> Project:
        return self.reader.project

    @property
    def database(self) -> ProjectDatabase:
        return self.reader.database


def as_record(document: StoredDocument) -> Record:
    """The form in which rules judge a document."""
    times = {"created_at": document.created_at, "updated_at": document.updated_at}
    return {"_id": document.id, "data": document.data, **times, "version": document.version}


def _reached(collection: str, expansions: tuple[Expansion, ...]) -> set[str]:
    """The MongoDB collections whose records come with a page."""
    found = {collection}
    for each in expansions:
        found |= _reached(each.collection, each.inner)
    return found

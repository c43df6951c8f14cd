"""Documents as one caller may use them: all of them with the secret key, by the project's rules otherwise.

Whoever may not do what is asked whatever the document is refused before the query string and the body are looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from service.domain.access.caller import ProjectCaller, SecretKeyCaller, UserCaller
from service.domain.access.control import AccessControl, require
from service.domain.access.permissions import Permissions
from service.domain.access.visible import see_shape
from service.domain.access.writes import creation_data
from service.domain.collections.catalog import Seen
from service.domain.documents.approval import Approval, Record, as_record
from service.domain.documents.conflicts import ConflictLimit
from service.domain.documents.documents import Create, Data, Documents, Page, Update, Write
from service.domain.documents.preconditions import NO_PRECONDITION, Precondition
from service.domain.idempotency import Keep
from service.domain.projects.lookup import Project
from service.errors import Forbidden, ServiceError, Unauthorized
from service.query.nodes import ListQuery
from service.query.shapes import Shape
from service.query.tree import Tree
from service.schema.versions import Versions
from service.storage.databases import ProjectDatabase
from service.storage.documents import Document, ReplaceData, SetFields


@dataclass(frozen=True, slots=True)
class HiddenDocument:
    """A document that was written, and that its writer may not read."""

    id: str


Written = Document | HiddenDocument
Change = ReplaceData | SetFields


class CallersDocuments(Protocol):
    """What a caller can do with the documents of one collection."""

    async def create(self, data: Data, keep: "Keep[Written] | None" = None) -> Written: ...

    async def list(self, query: ListQuery) -> Page: ...

    async def get(self, id_: str) -> Document: ...

    async def change(
        self,
        id_: str,
        change: Change,
        precondition: Precondition = NO_PRECONDITION,
        keep: "Keep[Written] | None" = None,
    ) -> Written: ...

    async def delete(self, id_: str, versions: Versions = None) -> None: ...

    @property
    def shows_by_version(self) -> bool:
        """Whether what is shown of a document changes with its version only."""


class DocumentPermits:
    """Gives callers the documents that they may use."""

    def __init__(self, documents: Documents, access: AccessControl, conflicts: ConflictLimit) -> None:
        self._documents = documents
        self._access = access
        self._conflicts = conflicts

    async def permit(self, caller: ProjectCaller, name: str, action: str) -> CallersDocuments:
        """The documents of a collection, for an action on some of them: read, create, update or delete.

        Raises what `AccessControl.permissions` raises; Unauthorized and Forbidden where no rule lets the caller do it.
        """
        if isinstance(caller, SecretKeyCaller):
            return AllDocuments(self._documents, caller.project, name)
        permissions = await self._access.permissions(caller, name)
        require(_whatever_the_document(permissions, action), caller)
        return PermittedDocuments(self._documents, self._access, self._conflicts, caller, name, permissions)


def _whatever_the_document(permissions: Permissions, action: str) -> Tree:
    """False where the action is refused whatever the document."""
    match action:
        case "create":
            return permissions.create
        case "update":
            return permissions.may_update
        case "delete":
            return permissions.delete
    return permissions.read


@dataclass(frozen=True, slots=True)
class AllDocuments:
    """For the secret key: `Documents`, of one collection."""

    documents: Documents
    project: Project
    name: str

    async def create(self, data: Data, keep: Keep[Written] | None = None) -> Document:
        return await self.documents.create(self.project, self.name, data, keep)

    async def list(self, query: ListQuery) -> Page:
        return await self.documents.list(self.project, self.name, query)

    async def get(self, id_: str) -> Document:
        return await self.documents.get(self.project, self.name, id_)

    async def change(
        self, id_: str, change: Change, precondition: Precondition = NO_PRECONDITION, keep: Keep[Written] | None = None
    ) -> Document:
        return await self.documents.write(
            self.project, self.name, Update(id_, change, precondition=precondition, keep=keep)
        )

    async def delete(self, id_: str, versions: Versions = None) -> None:
        await self.documents.delete(self.project, self.name, id_, versions=versions)

    @property
    def shows_by_version(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class PermittedDocuments:
    """For users and guests. Every call raises what `Documents` raises, and Forbidden or Unauthorized by the rules."""

    documents: Documents
    access: AccessControl
    conflicts: ConflictLimit
    caller: ProjectCaller
    name: str
    permissions: Permissions

    @property
    def project(self) -> Project:
        return self.caller.project

    async def create(self, data: Data, keep: Keep[Written] | None = None) -> Written:
        approval = self._approval()
        sent = creation_data(self.permissions, data)
        return await self._write(Create(sent, approval, _as_seen(approval, keep)), approval)

    async def list(self, query: ListQuery) -> Page:
        return await self.documents.list(self.project, self.name, query, self._see)

    async def get(self, id_: str) -> Document:
        return await self.documents.get(self.project, self.name, id_, self._see)

    async def change(
        self, id_: str, change: Change, precondition: Precondition = NO_PRECONDITION, keep: Keep[Written] | None = None
    ) -> Written:
        approval = self._approval()
        update = Update(id_, change, approval=approval, precondition=precondition, keep=_as_seen(approval, keep))
        return await self._write(update, approval)

    async def delete(self, id_: str, versions: Versions = None) -> None:
        await self.documents.delete_approved(self.project, self.name, id_, self._approval(), versions=versions)

    @property
    def shows_by_version(self) -> bool:
        """Rules of fields show more or less as the caller's roles and sets change."""
        return not self.permissions.has_field_rules

    async def _write(self, write: Write, approval: Approval) -> Written:
        if await self.documents.names_unique(self.project, self.name, write.names):
            async with self.conflicts.count(self.caller):
                document = await self.documents.write(self.project, self.name, write)
        else:
            document = await self.documents.write(self.project, self.name, write)
        return await approval.visible(document) or HiddenDocument(document.id)

    def _approval(self) -> Approval:
        async def find(id_: str) -> Record | None:
            document = await self.documents.find_whole(self.project, self.name, id_, self._see)
            return as_record(document) if document is not None else None

        async def find_permissions(name: str) -> Permissions | None:
            return await self.access.find_permissions(self.caller, name)

        return Approval(self.project.database, self.permissions, find, find_permissions, self._refusal)

    def _refusal(self) -> ServiceError:
        return Forbidden() if isinstance(self.caller, UserCaller) else Unauthorized()

    async def _see(self, names: Sequence[str]) -> Seen:
        """How the caller sees the shapes of the named collections: not at all where nobody but servers may read them."""
        known: dict[str, Permissions | None] = {self.name: self.permissions}
        for name in names:
            if name not in known:
                known[name] = await self.access.find_permissions(self.caller, name)

        def seen(name: str, shape: Shape) -> Shape | None:
            permissions = known.get(name)
            return None if permissions is None or permissions.read is False else see_shape(shape, permissions)

        return seen


def _as_seen(approval: Approval, keep: Keep[Written] | None) -> Keep[Document] | None:
    """`keep`, given what the writer may read of the document by the relations as they are in the transaction."""
    if keep is None:
        return None

    async def keep_seen(database: ProjectDatabase, document: Document) -> None:
        seen = await replace(approval, database=database).visible(document)
        await keep(database, seen or HiddenDocument(document.id))

    return keep_seen

"""Documents as one caller may use them: all of them with the secret key, by the project's rules otherwise.

Whoever may not do what is asked whatever the document is refused before the query string and the body are looked at.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

from service.domain.access.caller import ProjectCaller, PublishableKeyCaller, SecretKeyCaller
from service.domain.access.control import USERS, AccessControl
from service.domain.cache import moment
from service.domain.documents.conflicts import ConflictLimit
from service.domain.documents.documents import Create, Data, Documents, Page, Update
from service.domain.documents.permitted import Change, HiddenDocument, PermittedDocuments, Written
from service.domain.documents.preconditions import NO_PRECONDITION, Precondition
from service.domain.documents.writes import Upsert, Upserted, Write
from service.domain.idempotency import Keep
from service.domain.projects.lookup import Project
from service.errors import InvalidApiKey, NotFound, Unauthorized
from service.query.nodes import ListQuery
from service.schema.versions import Versions
from service.storage.databases import ProjectDatabase
from service.storage.documents import Document
from service.storage.files.uploads import Upload
from service.storage.ids import new_id

ACTIONS = ("read", "create", "update", "delete")


class CallersDocuments(Protocol):
    """What a caller can do with the documents of one collection."""

    async def create(
        self,
        data: Data,
        keep: "Keep[Written] | None" = None,
        *,
        id_: str | None = None,
        upload: Upload | None = None,
    ) -> Written: ...

    async def list(self, query: ListQuery) -> Page: ...

    async def get(self, id_: str) -> Document: ...

    async def change(
        self,
        id_: str,
        change: Change,
        precondition: Precondition = NO_PRECONDITION,
        keep: "Keep[Written] | None" = None,
        *,
        upload: Upload | None = None,
    ) -> Written: ...

    async def upsert(self, upsert: Upsert) -> Upserted[Written]: ...

    async def delete(self, id_: str, versions: Versions = None) -> None: ...

    async def show_again(self, kept: Data) -> dict[str, Any]:
        """The part that the caller may read now of a document that was answered: `{id, data?, ...}`; at least the id."""

    async def read_again(self, id_: str) -> Written:
        """The document that was answered, as it is now; hidden where it is gone or the caller may not read it."""

    async def within(self, project: Project) -> "CallersDocuments":
        """The same on the project's database as a transaction sees it."""

    @property
    def shows_by_version(self) -> bool:
        """Whether what is shown of a document changes with its version only."""


class DocumentPermits:
    """Gives callers the documents that they may use."""

    def __init__(self, documents: Documents, access: AccessControl, conflicts: ConflictLimit) -> None:
        self._documents = documents
        self._access = access
        self._conflicts = conflicts

    async def permit(
        self, caller: ProjectCaller, name: str, action: str, *, began: float | None = None
    ) -> CallersDocuments:
        """The documents of a collection, for an action on some of them: read, create, update or delete.

        The request began at `began`, or just now.
        Raises what `AccessControl.permissions` raises; Unauthorized and Forbidden where no rule lets the caller do it.
        """
        if isinstance(caller, SecretKeyCaller):
            return AllDocuments(self._documents, caller.project, name)
        began = moment() if began is None else began
        permissions = await self._access.permit(caller, name, action, since=began)
        return PermittedDocuments(
            self._documents, self._access, self._conflicts, caller, caller.project, name, permissions, began
        )

    async def require_any(self, caller: ProjectCaller) -> None:
        """Refuses a guest to whom the rules give nothing, whatever will be asked. Raises InvalidApiKey, Unauthorized."""
        if not isinstance(caller, PublishableKeyCaller):
            return
        rules = (await self._access.rules(caller.project)).rules
        if not rules.exist:
            raise InvalidApiKey
        for name in (*rules.collections, USERS):
            permissions = await self._access.find_permissions(caller, name)
            if permissions and any(permissions.allows(each) is not False for each in ACTIONS):
                return
        raise Unauthorized


@dataclass(frozen=True, slots=True)
class AllDocuments:
    """For the secret key: `Documents`, of one collection."""

    documents: Documents
    project: Project
    name: str

    async def create(
        self,
        data: Data,
        keep: Keep[Written] | None = None,
        *,
        id_: str | None = None,
        upload: Upload | None = None,
    ) -> Document:
        return await self._write(Create(data, keep=self._as_shown(keep), id=id_ or new_id(), upload=upload))

    async def list(self, query: ListQuery) -> Page:
        return await self.documents.list(self.project, self.name, query)

    async def get(self, id_: str) -> Document:
        return await self._show(await self.documents.get(self.project, self.name, id_))

    async def change(
        self,
        id_: str,
        change: Change,
        precondition: Precondition = NO_PRECONDITION,
        keep: Keep[Written] | None = None,
        *,
        upload: Upload | None = None,
    ) -> Document:
        kept = self._as_shown(keep)
        return await self._write(Update(id_, change, precondition=precondition, keep=kept, upload=upload))

    async def upsert(self, upsert: Upsert) -> Upserted[Written]:
        document = await self._write(upsert)
        return Upserted(document, document.id == upsert.id)

    async def delete(self, id_: str, versions: Versions = None) -> None:
        await self.documents.delete(self.project, self.name, id_, versions=versions)

    async def show_again(self, kept: Data) -> dict[str, Any]:
        return await self.documents.show_again(self.project, self.name, kept)

    async def read_again(self, id_: str) -> Written:
        try:
            return await self.get(id_)
        except NotFound:
            return HiddenDocument(id_)

    async def _write(self, write: Write) -> Document:
        return await self._show(await self.documents.write(self.project, self.name, write))

    async def _show(self, document: Document) -> Document:
        return await self.documents.show(self.project, self.name, document)

    def _as_shown(self, keep: Keep[Written] | None) -> Keep[Document] | None:
        if keep is None:
            return None

        async def keep_shown(database: ProjectDatabase, document: Document) -> None:
            await keep(database, await self._show(document))

        return keep_shown

    async def within(self, project: Project) -> "AllDocuments":
        return replace(self, project=project)

    @property
    def shows_by_version(self) -> bool:
        return True

"""Documents as a user or a guest may use them: by the project's rules."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from service.domain.access.caller import ProjectCaller, UserCaller
from service.domain.access.control import AccessControl, require
from service.domain.collections.catalog import Seen
from service.domain.documents.approval import CHANGED, Approval, Record, as_record
from service.domain.documents.conflicts import ConflictLimit
from service.domain.documents.documents import Create, Data, Documents, Page, Update
from service.domain.documents.judging import judged_again
from service.domain.documents.preconditions import NO_PRECONDITION, Precondition
from service.domain.documents.upserts import ATTEMPTS, check_key, match_key
from service.domain.documents.writes import OnConflict, Upsert, Upserted
from service.domain.idempotency import Keep
from service.domain.projects.lookup import Project
from service.errors import (
    ConditionFailed,
    DocumentNotFound,
    DuplicateValue,
    Forbidden,
    NotFound,
    ServiceError,
    Unauthorized,
    Unavailable,
)
from service.query.nodes import Count, ListQuery, Where
from service.query.reading import Reading
from service.query.shapes import Shape
from service.rules.permissions import Permissions
from service.rules.visible import see_shape
from service.rules.writes import creation_data
from service.schema.versions import Versions
from service.storage.databases import ProjectDatabase
from service.storage.documents import Document, ReplaceData, SetFields
from service.storage.files.uploads import Upload
from service.storage.ids import new_id


@dataclass(frozen=True, slots=True)
class HiddenDocument:
    """A document that was written, and that its writer may not read."""

    id: str


Written = Document | HiddenDocument
Change = ReplaceData | SetFields


@dataclass(frozen=True, slots=True)
class PermittedDocuments:
    """For users and guests. Every call raises what `Documents` raises, and Forbidden or Unauthorized by the rules.

    The request began at `began`. Sets that were read before `since` are read again.
    """

    documents: Documents
    access: AccessControl
    conflicts: ConflictLimit
    caller: ProjectCaller
    project: Project
    name: str
    permissions: Permissions
    began: float
    since: float = -inf

    async def within(self, project: Project) -> "PermittedDocuments":
        """The same on the project's database as a transaction sees it, and by the sets whose sources that has written.

        Who the caller is, is asked outside of it.
        """
        bound = replace(self, project=project, caller=replace(self.caller, project=project))
        if not project.database.written:
            return bound
        return replace(bound, permissions=await self.access.permissions(bound.caller, self.name, since=self.since))

    async def renewed(self) -> "PermittedDocuments | None":
        """The same by the caller's sets as they are now; None where those are no others."""
        newer = await self.access.renew(self.caller, self.name, self.permissions, since=self.began)
        return None if newer is None else replace(self, permissions=newer, since=self.began)

    @judged_again
    async def create(
        self,
        data: Data,
        keep: Keep[Written] | None = None,
        *,
        id_: str | None = None,
        upload: Upload | None = None,
    ) -> Written:
        approval = self._approval()
        sent = creation_data(self.permissions, data)
        create = Create(sent, approval, self._as_seen(keep), id_ or new_id(), upload)
        return await self._write(create)

    async def list(self, query: ListQuery) -> Page:
        return await self.documents.list(self.project, self.name, query, self._see)

    @judged_again
    async def get(self, id_: str) -> Document:
        document = await self.documents.get(self.project, self.name, id_, self._see)
        return await self.documents.show(self.project, self.name, document)

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
        approval = self._approval()
        kept = self._as_seen(keep)
        return await self._write(Update(id_, change, approval, precondition, kept, upload))

    @judged_again
    async def upsert(self, upsert: Upsert) -> Upserted[Written]:
        """Of the documents that the caller may read one is changed; else one is made, whose value may be taken.

        Raises as `create` and `change` do.
        """
        fields = await self.documents.fields(self.project, self.name)
        check_key(upsert, self._approval().readable_fields(fields))
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
                is_other = error.field != f"data.{upsert.by}" or found is not None
                if is_other or self.project.database.session is not None or not await self._find_by(where):
                    raise
        raise Unavailable(CHANGED)

    async def _find_by(self, where: Where) -> Document | None:
        query = ListQuery(where=where, limit=1, count=Count.NONE)
        found = (await self.list(query)).documents
        return found[0] if found else None

    async def _change_found(self, found: Document, upsert: Upsert, where: Where) -> Written:
        if upsert.on_conflict is OnConflict.IGNORE:
            return found
        require(self.permissions.may_update, self.caller)
        is_whole = upsert.on_conflict is OnConflict.REPLACE
        change = ReplaceData(upsert.data) if is_whole else SetFields(upsert.data)
        return await self.change(found.id, change, Precondition(where=where), upload=upsert.upload)

    @judged_again
    async def delete(self, id_: str, versions: Versions = None) -> None:
        await self.documents.delete_approved(self.project, self.name, id_, self._approval(), versions=versions)
        await self.access.note_write(self.caller, self.project.database, self.name)

    async def show_again(self, kept: Data) -> dict[str, Any]:
        """By the rules and the document as they are now: of `kept`, only what would be shown if he read the document."""
        if "data" not in kept:
            return dict(kept)
        record = None if self.permissions.read is False else await self._approval().find(kept["id"])
        if record is None:
            return {"id": kept["id"]}
        data, reading = kept["data"], Reading(record)
        shown = {**kept, "data": {name: data[name] for name in data if self.permissions.shows(name, reading)}}
        return await self.documents.show_again(self.project, self.name, shown)

    async def read_again(self, id_: str) -> Written:
        try:
            return HiddenDocument(id_) if self.permissions.read is False else await self.get(id_)
        except NotFound:
            return HiddenDocument(id_)

    @property
    def shows_by_version(self) -> bool:
        """Rules of fields show more or less as the caller's roles and sets change."""
        return not self.permissions.has_field_rules

    async def _write(self, write: Create | Update) -> Written:
        if await self.documents.names_unique(self.project, self.name, write.names):
            async with self.conflicts.count(self.caller):
                document = await self.documents.write(self.project, self.name, write)
        else:
            document = await self.documents.write(self.project, self.name, write)
        await self.access.note_write(self.caller, self.project.database, self.name)
        return await self.view(document)

    async def view(self, document: Document) -> Written:
        """What the writer may read of the document, by sets that know of the write."""
        if (seen := await self._approval().visible(document)) is not None:
            return await self.documents.show(self.project, self.name, seen)
        newer = await self.renewed()
        return HiddenDocument(document.id) if newer is None else await newer.view(document)

    def _as_seen(self, keep: Keep[Written] | None) -> Keep[Document] | None:
        """`keep`, given what the writer may read of the document by relations and sets as they are in the transaction."""
        if keep is None:
            return None

        async def keep_seen(database: ProjectDatabase, document: Document) -> None:
            await self.access.note_write(self.caller, database, self.name)
            bound = await self.within(replace(self.project, database=database))
            await keep(database, await bound.view(document))

        return keep_seen

    def _approval(self) -> Approval:
        async def find(id_: str) -> Record | None:
            document = await self.documents.find_whole(self.project, self.name, id_, self._see)
            return as_record(document) if document is not None else None

        async def find_permissions(name: str) -> Permissions | None:
            return await self.access.find_permissions(self.caller, name, since=self.since)

        async def renew(name: str, permissions: Permissions) -> Permissions | None:
            return await self.access.renew(self.caller, name, permissions, since=self.began)

        return Approval(self.project.database, self.permissions, find, find_permissions, renew, self._refusal)

    def _refusal(self) -> ServiceError:
        return Forbidden() if isinstance(self.caller, UserCaller) else Unauthorized()

    async def _see(self, names: Sequence[str]) -> Seen:
        """How the caller sees the shapes of the named collections: not at all where nobody but servers may read them."""
        known: dict[str, Permissions | None] = {self.name: self.permissions}
        for name in names:
            if name not in known:
                known[name] = await self.access.find_permissions(self.caller, name, since=self.since)

        def seen(name: str, shape: Shape) -> Shape | None:
            permissions = known.get(name)
            return None if permissions is None or permissions.read is False else see_shape(shape, permissions)

        return seen

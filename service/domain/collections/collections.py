"""Declared collections: create, list, get and delete. Changing the schema of one is in schema_changes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from service.bounds import MAX_PROJECT_INDEXES, MAX_SCHEMAS_BYTES
from service.domain.access.agreement import begin_deletion
from service.domain.access.control import AccessControl
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.changes import compare
from service.domain.collections.catalog import Catalogs, Declaration, DeclaredCollection
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.collections.reconcile import reconcile
from service.domain.collections.validation import validate_schema
from service.domain.limits.limiter import Limits
from service.domain.limits.made_files import count_collection
from service.domain.projects.lookup import Project
from service.errors import (
    CollectionExists,
    CollectionLimit,
    CollectionNotFound,
    IndexLimit,
    Invalid,
    SchemaChanging,
)
from service.schema.collection_options import NO_OPTIONS, CollectionOptions, read_options
from service.schema.fields import LOC, USERS
from service.schema.indexes import indexes
from service.schema.options import COLLECTION_NAME, COLLECTION_NAME_RULE
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions


@dataclass(frozen=True, slots=True)
class Collections:
    """Operations of a project's API key on its collections."""

    catalogs: Catalogs
    judge: PatternJudge
    access: AccessControl
    limits: Limits
    audit: Audit

    async def list(self, project: Project) -> list[Declaration]:
        """All of them, by name."""
        return await self.catalogs.list(project)

    async def get(self, project: Project, name: str) -> DeclaredCollection:
        """Raises CollectionNotFound."""
        return await self.catalogs.refresh(project, name)

    async def create(
        self, project: Project, name: str, schema: dict[str, Any], options: CollectionOptions = NO_OPTIONS
    ) -> DeclaredCollection:
        """Raises CollectionExists, CollectionLimit, IndexLimit, LimitExceeded, and Invalid with all that is wrong.

        The registry is written first: of many who create one name, one gets to make its collection.
        """
        check_collection_name(name)
        if await self._exists(project, name):
            raise CollectionExists
        # Checked before as well, so that a project at its limit is refused before its schema is examined.
        await check_limits(project, more=1)
        fields = await validate_schema(project, name, schema, self.judge, options=options)
        await count_collection(self.limits, project, len(indexes(fields, options)))

        async def reserve(bound: ProjectDatabase) -> Document:
            record = await Definitions(bound).reserve(name, schema, options=options)
            await bound.serialize()
            await check_limits(replace(project, database=bound))
            await self._note(Action.COLLECTION_CREATED, project, bound, after=record)
            return record

        record = await project.database.in_transaction(reserve)
        await reconcile(project.database, record)
        return await self.catalogs.refresh(project, name)

    async def check(
        self,
        project: Project,
        name: str,
        schema: dict[str, Any],
        options: CollectionOptions = NO_OPTIONS,
        *,
        coming: Iterable[str] = (),
    ) -> None:
        """Raises what `create` would raise for this name and schema, once the collections `coming` exist."""
        check_collection_name(name)
        await check_limits(project, more=1)
        await validate_schema(project, name, schema, self.judge, options=options, coming=coming)

    async def delete(self, project: Project, name: str) -> None:
        """Drops a collection with its documents and its rules.

        Raises CollectionNotFound, SchemaChanging, RuleConflict where rules of others name it, RuleTestsFailed.
        """
        await self.catalogs.refresh(project, name)

        async def note(bound: ProjectDatabase, record: Document) -> None:
            await self._note(Action.COLLECTION_DELETED, project, bound, before=record)

        record = await begin_deletion(project.database, name, note)
        if record is None:
            raise SchemaChanging if await self._exists(project, name) else CollectionNotFound
        await reconcile(project.database, record)
        await self.access.refresh(project)
        await self._exists(project, name)

    async def _note(
        self,
        action: Action,
        project: Project,
        bound: ProjectDatabase,
        *,
        before: Document | None = None,
        after: Document | None = None,
    ) -> None:
        changes = compare(describe_definition(before), describe_definition(after))
        target = Target("collection", (after or before or {})["_id"])
        await self.audit.record(bound.session, Act(action, target, project.id, changes, is_new=before is None))

    async def _exists(self, project: Project, name: str) -> bool:
        """The collection as it is stored now; the cache keeps it."""
        try:
            await self.catalogs.refresh(project, name)
        except CollectionNotFound:
            return False
        return True


def describe_definition(record: Document | None) -> Document:
    """The declaration of a collection as audit entries show it; empty for None."""
    return {"schema": record["schema"], **read_options(record).as_json()} if record else {}


async def check_limits(project: Project, *, more: int = 0) -> None:
    """Raises CollectionLimit where `more` collections would be too many, or those that are stored; IndexLimit; Invalid.

    It counts stored collections, so it is asked once more in the transaction that stores one.
    """
    declared = await Definitions(project.database).count_indexes()
    most = project.settings.collection_limit
    if most and len(declared) + more > most:
        raise CollectionLimit(most)
    refuse_indexes(sum(declared.values()))
    refuse_bytes(await Definitions(project.database).count_bytes())


def refuse_indexes(total: int) -> None:
    """Raises IndexLimit where `total` indexes are more than a project may ask for."""
    if total > MAX_PROJECT_INDEXES:
        raise IndexLimit(total, MAX_PROJECT_INDEXES)


def refuse_bytes(total: int) -> None:
    """Raises Invalid where the schemas of a project have more bytes than they may."""
    if total > MAX_SCHEMAS_BYTES:
        msg = f"The schemas of a project have at most {int(MAX_SCHEMAS_BYTES):,} bytes together"
        raise Invalid.one(LOC, msg, type_="too_large")


def check_collection_name(name: str) -> None:
    """Raises Invalid. `users` is what a reference to the project's users calls them."""
    if name == USERS or not COLLECTION_NAME.fullmatch(name):
        rule = "users are an auth collection; choose another name" if name == USERS else COLLECTION_NAME_RULE
        raise Invalid.one(("body", "name"), rule)

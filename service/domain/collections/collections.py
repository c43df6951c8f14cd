"""Declared collections: create, list, get and delete. Changing the schema of one is in schema_changes."""

from typing import Any

from service.domain.collections.catalog import Catalogs, Collection
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.collections.reconcile import reconcile
from service.domain.collections.validation import validate_schema
from service.domain.projects.lookup import Project
from service.errors import CollectionExists, CollectionNotFound, Invalid, SchemaChanging
from service.schema.fields import USERS
from service.schema.options import COLLECTION_NAME, COLLECTION_NAME_RULE
from service.storage.definitions import Definitions


class Collections:
    """What a project's API key can do with its collections."""

    def __init__(self, catalogs: Catalogs, judge: PatternJudge) -> None:
        self._catalogs = catalogs
        self._judge = judge

    async def list(self, project: Project) -> list[Collection]:
        """All of them, by name."""
        return list((await self._catalogs.refresh(project)).collections.values())

    async def get(self, project: Project, name: str) -> Collection:
        """Raises CollectionNotFound."""
        return (await self._catalogs.refresh(project)).find(name)

    async def create(self, project: Project, name: str, schema: dict[str, Any]) -> Collection:
        """Raises CollectionExists, and Invalid with all that is wrong with the schema.

        The registry is written first: of many who create one name, one gets to make its collection.
        """
        catalog = await self._catalogs.refresh(project)
        check_collection_name(name)
        if name in catalog.collections:
            raise CollectionExists
        await validate_schema(project, name, schema, catalog, self._judge)
        record = await Definitions(project.database).reserve(name, schema)
        await reconcile(project.database, record)
        return (await self._catalogs.refresh(project)).find(name)

    async def delete(self, project: Project, name: str) -> None:
        """Drops a collection with its documents. Raises CollectionNotFound, SchemaChanging."""
        (await self._catalogs.refresh(project)).find(name)
        record = await Definitions(project.database).begin(name, "delete")
        if record is None:
            raise SchemaChanging if name in (await self._catalogs.refresh(project)).collections else CollectionNotFound
        await reconcile(project.database, record)
        await self._catalogs.refresh(project)


def check_collection_name(name: str) -> None:
    """Raises Invalid. `users` is what a reference to the project's users calls them."""
    if name == USERS or not COLLECTION_NAME.fullmatch(name):
        rule = "users are an auth collection; choose another name" if name == USERS else COLLECTION_NAME_RULE
        raise Invalid.one(("body", "name"), rule)

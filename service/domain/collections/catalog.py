"""The collections of each project as requests see them: read once, remembered for at most five seconds.

An old definition can do no harm: the validator in the database judges every write, and a refused write looks again.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from service.domain.cache import Cache
from service.domain.collections.reconcile import reconcile
from service.domain.projects.lookup import CACHE_SECONDS, CACHED_PROJECTS, Project
from service.errors import CollectionNotFound
from service.query.document_shape import DocumentShape
from service.query.shapes import USERS as USER_SHAPE
from service.query.shapes import Shape
from service.schema.fields import USERS, Fields, parse
from service.schema.patterns import patterned
from service.storage.collections import mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions, is_abandoned, is_visible


@dataclass(frozen=True, slots=True)
class Collection:
    """A declared collection: `schema` is what the client declared, `fields` what it means.

    `patterned` are the fields that have patterns; `targets` says for each reference in which MongoDB collection
    the record is that it refers to.
    """

    name: str
    schema: dict[str, Any]
    fields: Fields
    patterned: Fields
    targets: Mapping[str, str]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Catalog:
    """All collections of one project at one moment, by name."""

    collections: Mapping[str, Collection]

    def find(self, name: str) -> Collection:
        """Raises CollectionNotFound."""
        if (collection := self.collections.get(name)) is None:
            raise CollectionNotFound
        return collection

    def shape(self, name: str) -> Shape | None:
        """What the names of a query on the documents of `name`, or on `users`, mean."""
        if name == USERS:
            return USER_SHAPE
        collection = self.collections.get(name)
        return self.shape_of(collection) if collection is not None else None

    def shape_of(self, collection: Collection) -> DocumentShape:
        return DocumentShape(mongo_collection_name(collection.name), collection.fields, self.shape)


class Catalogs:
    """The catalog of each project."""

    def __init__(self) -> None:
        self._known: Cache[Catalog] = Cache(CACHED_PROJECTS, CACHE_SECONDS)

    async def get(self, project: Project, name: str) -> Catalog:
        """A catalog that has the collection `name`: the remembered one, else a new one. Raises CollectionNotFound."""
        known = self._known.get(project.id)
        if known is None or name not in known.collections:
            known = await self.refresh(project)
        known.find(name)
        return known

    async def refresh(self, project: Project) -> Catalog:
        """The catalog as it is stored now. A change that its worker did not live to finish is finished first."""
        records = await Definitions(project.database).list()
        for record in filter(is_abandoned, records):
            await self._finish(project.database, record["_id"])
        if any(map(is_abandoned, records)):
            records = await Definitions(project.database).list()
        collections = {record["_id"]: read_collection(record) for record in records if is_visible(record)}
        return self._known.put(project.id, Catalog(collections))

    async def _finish(self, database: ProjectDatabase, name: str) -> None:
        record = await Definitions(database).take_over(name)
        if record is not None:
            # A request that is given up must not leave the change unfinished once more.
            await asyncio.shield(reconcile(database, record))


def read_collection(record: Mapping[str, Any]) -> Collection:
    """A stored definition, which was checked before it was stored."""
    schema, fields = record["schema"], parse(record["schema"])
    return Collection(
        name=record["_id"],
        schema=schema,
        fields=fields,
        patterned=patterned(fields),
        targets=_targets(fields),
        created_at=record["created_at"],
        updated_at=record["updated_at"],
    )


def _targets(fields: Fields) -> dict[str, str]:
    named = {name: field.collection for name, field in fields.items() if field.collection is not None}
    return {name: target if target == USERS else mongo_collection_name(target) for name, target in named.items()}

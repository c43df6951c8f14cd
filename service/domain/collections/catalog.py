"""The collections of each project as requests see them: each read and parsed when it is asked for, and remembered for five
seconds.

An old definition can do little harm: the validator in the database judges every write, and a refused write looks again.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from service.bounds import MAX_KNOWN_COLLECTIONS, MAX_RELATION_DEPTH
from service.domain.access.control import See
from service.domain.cache import Cache
from service.domain.collections.reconcile import reconcile, registry_of
from service.domain.projects.lookup import CACHE_SECONDS, Project
from service.errors import CollectionNotFound
from service.query.account_shape import ACCOUNTS
from service.query.nodes import ListQuery
from service.query.related_counts import CountedRelation, bind_counts, collection_of
from service.query.shapes import DocumentShape, Shape
from service.rules.visible import Seen
from service.schema.collection_options import CollectionOptions, read_options
from service.schema.fields import USERS, Fields, build, files_of, references, targets
from service.schema.indexes import Index, indexes
from service.schema.json_schema import validator
from service.schema.options import COLLECTION_NAME
from service.schema.patterns import patterned
from service.storage.client import Document
from service.storage.collections import mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions, is_changing, is_visible

FindShape = Callable[[str], Shape | None]
# Bytes in memory, as measured, of a parsed collection for each letter of its schema, and beside.
BYTES_OF_LETTER = 12
BYTES_OF_COLLECTION = 2_000


@dataclass(frozen=True, slots=True)
class Declaration:
    """A collection as its client declared it."""

    name: str
    schema: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    options: CollectionOptions

    @property
    def realtime(self) -> bool:
        return self.options.realtime


@dataclass(frozen=True, slots=True)
class DeclaredCollection(Declaration):
    """A declaration with its parsed form: `fields`, and those of them that have patterns.

    `targets` says for each reference, or array of them, in which MongoDB collection its records are. `files` are the
    definitions of files in the fields that hold them. `unique` are the names of the fields whose values are unique,
    alone or together with others.
    """

    fields: Fields
    patterned: Fields
    targets: Mapping[str, str]
    files: Fields
    unique: frozenset[str]

    @property
    def validator(self) -> dict[str, Any]:
        """The one that MongoDB judges its documents by."""
        return validator(self.fields, realtime=self.realtime)

    @property
    def indexes(self) -> list[Index]:
        return indexes(self.fields, self.options)


class Catalogs:
    """The declared collections of all projects."""

    def __init__(self) -> None:
        self._known: Cache[DeclaredCollection] = Cache(MAX_KNOWN_COLLECTIONS, CACHE_SECONDS, _weigh)

    async def get(self, project: Project, name: str) -> DeclaredCollection:
        """The remembered collection, else as it is stored now. Raises CollectionNotFound."""
        return await self._known.get_or_load(f"{project.id}/{name}", partial(_load, project, name))

    async def refresh(self, project: Project, name: str) -> DeclaredCollection:
        """The collection as it is stored now. Raises CollectionNotFound."""
        key = f"{project.id}/{name}"
        try:
            return await self._known.reload(key, partial(_load, project, name))
        except CollectionNotFound:
            self._known.forget(key)
            raise

    def forget(self, project: Project, name: str) -> None:
        """Drops a cached collection, in a worker that hears of its change."""
        self._known.forget(f"{project.id}/{name}")

    async def find(self, project: Project, name: str) -> DeclaredCollection | None:
        try:
            return await self.get(project, name)
        except CollectionNotFound:
            return None

    async def list(self, project: Project) -> list[Declaration]:
        """All of them as they are stored now, by name; they are not parsed. Finishes what its worker did not."""
        records = await Definitions(project.database).list()
        finished = [await _finish(project.database, record["_id"]) for record in filter(is_changing, records)]
        if any(finished):
            records = await Definitions(project.database).list()
        return [_read_declaration(record) for record in records if is_visible(record)]

    async def shape(self, project: Project, name: str, query: ListQuery, see: See | None = None) -> Shape:
        """The shape that gives the names of `query` their meaning on documents of `name`, as `see` restricts it for a
        caller.

        Looks up related collections only if the query names relations. Raises CollectionNotFound.
        """
        collection = await self.get(project, name)
        known = {name: collection}
        names = [name]
        if query.populate or any(len(condition.path) > 1 for condition in query):
            await self._add_related(project, collection, known)
            names = _named(known)
        seen = await see(names) if see is not None else None
        shape = _find_shape(known, seen)(name)
        if shape is None:
            raise CollectionNotFound
        return shape

    async def counts(
        self, project: Project, parent: str, names: Sequence[str], see: See
    ) -> tuple[CountedRelation, ...]:
        """The meaning of the `names` of a `with_counts` on records of `parent`, a collection or the users.

        Raises Invalid.
        """
        wanted = sorted({parent, *map(collection_of, names)} - {USERS})
        found = await asyncio.gather(*(self.find(project, name) for name in wanted))
        known = {each.name: each for each in found if each is not None}
        find_shape = _find_shape(known, await see([*known, USERS]))
        shape = find_shape(parent)
        if shape is None:
            raise CollectionNotFound
        return bind_counts(names, shape, find_shape)

    async def _add_related(
        self, project: Project, collection: DeclaredCollection, known: dict[str, DeclaredCollection]
    ) -> None:
        """Adds to `known` what can be reached from `collection`, each step's collections asked for side by side."""
        reached = [collection]
        for _ in range(MAX_RELATION_DEPTH):
            names = {name for each in reached for name in references(each.fields).values()} - known.keys() - {USERS}
            found = await asyncio.gather(*(self.find(project, name) for name in sorted(names)))
            reached = [each for each in found if each is not None]
            known |= {each.name: each for each in reached}


def _weigh(collection: DeclaredCollection) -> int:
    return BYTES_OF_COLLECTION + BYTES_OF_LETTER * len(repr((collection.schema, collection.options)))


async def _load(project: Project, name: str) -> DeclaredCollection:
    """A change that its worker did not live to finish is finished first."""
    if name == USERS or not COLLECTION_NAME.fullmatch(name):
        raise CollectionNotFound
    database = project.database.outside
    record = await find_finished(database, name)
    if record is None or not is_visible(record):
        raise CollectionNotFound
    return read_collection(record)


async def find_finished(database: ProjectDatabase, name: str) -> Document | None:
    """The definition of a collection, or of the users, after a change that its worker did not live to finish."""
    definitions = registry_of(database, name)
    record = await definitions.find(name)
    if record is not None and is_changing(record) and await _finish(database, name):
        record = await definitions.find(name)
    return record


async def _finish(database: ProjectDatabase, name: str) -> bool:
    """Completes a change whose lease has expired, by MongoDB's clock; False if it has not."""
    record = await registry_of(database, name).take_over(name)
    if record is not None:
        # A request that is given up must not leave the change unfinished once more.
        await asyncio.shield(reconcile(database, record))
    return record is not None


def read_collection(record: Mapping[str, Any]) -> DeclaredCollection:
    """A stored definition, which was checked before it was stored."""
    fields, options = build(record["schema"]), read_options(record)
    return DeclaredCollection(
        name=record["_id"],
        schema=record["schema"],
        created_at=record["created_at"],
        updated_at=record["updated_at"],
        options=options,
        fields=fields,
        patterned=patterned(fields),
        targets=_targets(fields),
        files=files_of(fields),
        unique=frozenset(name for index in indexes(fields, options) if index.unique for name in index.fields),
    )


def _read_declaration(record: Mapping[str, Any]) -> Declaration:
    return Declaration(
        record["_id"], record["schema"], record["created_at"], record["updated_at"], read_options(record)
    )


def _named(known: Mapping[str, DeclaredCollection]) -> list[str]:
    """The collections of `known`, and `users` where one of them refers to it."""
    refers = any(target == USERS for each in known.values() for target in references(each.fields).values())
    return [*known, *([USERS] if refers else [])]


def _find_shape(known: Mapping[str, DeclaredCollection], seen: Seen | None) -> FindShape:
    def find_shape(name: str) -> Shape | None:
        shape = ACCOUNTS if name == USERS else documents(name)
        return shape if seen is None or shape is None else seen(name, shape)

    def documents(name: str) -> DocumentShape | None:
        related = known.get(name)
        return DocumentShape(mongo_collection_name(name), related.fields, find_shape) if related is not None else None

    return find_shape


def _targets(fields: Fields) -> dict[str, str]:
    named = targets(fields)
    return {name: target if target == USERS else mongo_collection_name(target) for name, target in named.items()}

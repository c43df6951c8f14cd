"""The declared collections as rules see them: each schema is read when it is first asked for, and that is remembered."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from service.query.document_shape import DocumentShape
from service.query.shapes import USERS, Shape
from service.schema.fields import Fields, parse, references
from service.storage.collections import mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions, is_visible

USERS_NAME = "users"


class DeclaredShapes(Mapping[str, Shape]):
    """By name, `users` included. `targets` says of each collection where its relations lead.

    `asked_for` are the collections of whose schemas something was asked; `database` is that of the project, where there is one.
    """

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]], database: ProjectDatabase | None = None) -> None:
        self._schemas = schemas
        self.database = database
        self.asked_for: set[str] = set()
        self._fields = cache(self._read)
        self._shape = cache(self._make)
        self.targets = _Targets(self)
        self.mongo_collections = {name: mongo_collection_name(name) for name in schemas} | {
            USERS_NAME: USERS.collection
        }

    def __getitem__(self, name: str) -> Shape:
        return USERS if name == USERS_NAME else self._shape(name)

    def __iter__(self) -> Iterator[str]:
        yield from (*self._schemas, USERS_NAME)

    def __len__(self) -> int:
        return len(self._schemas) + 1

    def fields(self, name: str) -> Fields:
        """Raises KeyError."""
        return self._fields(name)

    def _read(self, name: str) -> Fields:
        fields = parse(self._schemas[name])
        self.asked_for.add(name)
        return fields

    def _make(self, name: str) -> DocumentShape:
        return DocumentShape(mongo_collection_name(name), self._fields(name), self.get)


class _Targets(Mapping[str, Mapping[str, str]]):
    def __init__(self, shapes: DeclaredShapes) -> None:
        self._shapes = shapes

    def __getitem__(self, name: str) -> Mapping[str, str]:
        return references(self._shapes.fields(name))

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._shapes if name != USERS_NAME)

    def __len__(self) -> int:
        return len(self._shapes) - 1


async def find_shapes(
    database: ProjectDatabase, schemas: Mapping[str, Mapping[str, Any]] | None = None
) -> DeclaredShapes:
    """The shapes of the collections as they are declared now; those that `schemas` names, as it says."""
    records = filter(is_visible, await Definitions(database).list())
    return DeclaredShapes({record["_id"]: record["schema"] for record in records} | dict(schemas or {}), database)

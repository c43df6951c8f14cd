"""The projects that keep a feed: which events each keeps, and which collections that makes the leader follow. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from service.schema.event_patterns import DOCUMENTS as DOCUMENT_KIND
from service.schema.event_patterns import matches, wants_kind
from service.storage.databases import Databases
from service.storage.feed_interests import StoredInterest
from service.storage.feed_stream import Followed
from service.storage.layout import COLLECTIONS, DOCUMENTS, EVENTS, USERS
from service.storage.rules import RULES

Include = Literal["ids", "document", "previous"]
# Kind of events → the MongoDB collection whose writes they are.
SOURCES = {
    DOCUMENT_KIND: DOCUMENTS,
    "users": USERS,
    "auth": EVENTS,
    "collections": COLLECTIONS,
    "rules": RULES,
}


@dataclass(frozen=True, slots=True)
class Interest:
    """The events that a project keeps: those that `patterns` choose, with as much of a record as `include` says."""

    project_id: str
    patterns: tuple[str, ...]
    include: Include = "document"

    def wants(self, type_: str) -> bool:
        return matches(self.patterns, type_)

    @property
    def keeps_after(self) -> bool:
        return self.include != "ids"

    @property
    def keeps_before(self) -> bool:
        return self.include == "previous"

    @property
    def sources(self) -> frozenset[str]:
        """The MongoDB collections to follow, as `Followed` names them."""
        return frozenset(source for kind, source in SOURCES.items() if wants_kind(self.patterns, kind))


@dataclass(frozen=True, slots=True)
class Interests:
    """Those of all projects, by the names of their databases."""

    by_database: Mapping[str, Interest]

    def follow(self, databases: Databases) -> Followed:
        found = {database: interest.sources for database, interest in self.by_database.items()}
        return Followed(databases.system.name, databases.prefix, found)


def read_interests(databases: Databases, stored: list[StoredInterest]) -> Interests:
    return Interests(
        {
            databases.project(each.project_id).database.name: Interest(
                each.project_id, tuple(each.patterns), "document" if each.include is None else each.include
            )
            for each in stored
        }
    )

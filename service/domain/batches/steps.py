"""The operations of a batch, as values, and what comes of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.domain.documents.permitted import Written
from service.domain.documents.preconditions import Precondition
from service.domain.documents.writes import Change, Upsert
from service.query.populate import Row
from service.schema.versions import Versions


@dataclass(frozen=True, slots=True)
class CreateStep:
    """`id` is made beforehand, so that later steps can name it; `refers_to` are those of earlier ones that it names."""

    collection: str
    data: Mapping[str, Any]
    id: str
    refers_to: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """A change, or a replacement."""

    collection: str
    id: str
    change: Change
    precondition: Precondition


@dataclass(frozen=True, slots=True)
class UpsertStep:
    collection: str
    upsert: Upsert


@dataclass(frozen=True, slots=True)
class DeleteStep:
    collection: str
    id: str
    versions: Versions = None


@dataclass(frozen=True, slots=True)
class GetStep:
    collection: str
    id: str


Step = CreateStep | ChangeStep | UpsertStep | DeleteStep | GetStep


@dataclass(frozen=True, slots=True)
class Done:
    """The status of an operation that was done, and the document, or the row of a user, afterwards."""

    status: int
    document: Written | None = None
    user: Row | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A result that was kept for a replay: its status and the id of its record. A document may have been hidden then."""

    status: int
    id: str | None
    was_shown: bool

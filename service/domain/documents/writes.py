"""Writes of documents as values: a new document, or a change of one that is there, and what it must be for that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from service.domain.idempotency import Keep
from service.domain.steps import judge
from service.errors import ConditionFailed, DocumentNotFound, VersionConflict
from service.query.nodes import Where
from service.query.reading import Reading
from service.query.tree import Tree
from service.schema.versions import Versions, is_one_of, version_tag
from service.storage.databases import ProjectDatabase
from service.storage.documents import ReplaceData, SetFields, StoredDocument
from service.storage.files.uploads import Upload
from service.storage.ids import new_id

Data = Mapping[str, Any]
Record = Mapping[str, Any]
Change = ReplaceData | SetFields
NO_CONDITIONS = Where()
CHANGED = "The document was changed at the same time; try again"


@dataclass(frozen=True, slots=True)
class Precondition:
    """The document has one of `versions`, and `where`, as it was sent, holds of it."""

    versions: Versions = None
    where: Where = NO_CONDITIONS

    @property
    def is_nothing(self) -> bool:
        return self.versions is None and self.where == NO_CONDITIONS


NO_PRECONDITION = Precondition()


@dataclass(frozen=True, slots=True)
class Create:
    """A new document. `keep` is called in the write's transaction. `upload` has the files that come with a write."""

    data: Data
    keep: Keep[StoredDocument] | None = None
    id: str = field(default_factory=new_id)
    upload: Upload | None = None


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """The id and the times that a new document brings from elsewhere."""

    id: str
    created_at: datetime
    updated_at: datetime


class OnConflict(Enum):
    """The effect of an upsert on an existing document."""

    REPLACE = "replace"
    MERGE = "merge"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Upsert:
    """A new document, or a change of the one that has the same value of the unique field `by`.

    `key` is that value as it is stored, once it is known.
    """

    data: Data
    by: str
    on_conflict: OnConflict = OnConflict.REPLACE
    id: str = field(default_factory=new_id)
    keep: None = None
    upload: Upload | None = None
    key: Any = None


@dataclass(frozen=True, slots=True)
class HiddenDocument:
    """A document that was written, and that its writer may not read."""

    id: str


Written = StoredDocument | HiddenDocument


@dataclass(frozen=True, slots=True)
class Upserted:
    """A document that an upsert created or changed."""

    document: Written
    is_created: bool


@dataclass(frozen=True, slots=True)
class Update:
    """A change of the document `id`, if it satisfies `precondition`. Its values are as they were sent.

    `keep` is called in the write's transaction.
    """

    id: str
    change: Change
    precondition: Precondition = NO_PRECONDITION
    keep: Keep[StoredDocument] | None = None
    upload: Upload | None = None

    @property
    def data(self) -> Data:
        return self.change.data


@dataclass(frozen=True, slots=True)
class Delete:
    """The end of the document `id`, if it has one of `versions`."""

    id: str
    versions: Versions = None


@dataclass(frozen=True, slots=True)
class Get:
    """A read of the document `id`."""

    id: str


Write = Create | Update | Upsert
Operation = Write | Delete | Get


def find_names(write: Write) -> Iterable[str]:
    """The top-level fields that are written."""
    if isinstance(write, Update) and isinstance(write.change, SetFields):
        return [*write.change.data, *(operation.field for operation in write.change.operations)]
    return write.data


async def check_record(
    database: ProjectDatabase, record: Record | None, versions: Versions, where: Tree = True
) -> None:
    """Raises DocumentNotFound where there is no record; VersionConflict; ConditionFailed where `where` does not hold.

    They come before all other faults of a write, which are of no use to a client who went by another document.
    """
    if record is None:
        raise DocumentNotFound
    if not is_one_of(record["version"], versions):
        raise VersionConflict(version_tag(record["version"]))
    if not await judge(database, where, Reading(record)):
        raise ConditionFailed

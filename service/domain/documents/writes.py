"""What is asked of documents, as values: a new one, or a change of one that is there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

from service.domain.documents.approval import Approval
from service.domain.documents.preconditions import NO_PRECONDITION, Precondition
from service.domain.idempotency import Keep
from service.storage.documents import Document, ReplaceData, SetFields
from service.storage.files.uploads import Upload
from service.storage.ids import new_id

Outcome = TypeVar("Outcome")
Data = Mapping[str, Any]
Change = ReplaceData | SetFields


@dataclass(frozen=True, slots=True)
class Create:
    """A new document; with an `approval`, of a caller who is under rules. `keep` is called in the write's transaction.

    `upload` has the files that come with a write.
    """

    data: Data
    approval: Approval | None = None
    keep: Keep[Document] | None = None
    id: str = field(default_factory=new_id)
    upload: Upload | None = None

    @property
    def names(self) -> Iterable[str]:
        """The top-level fields that are written."""
        return self.data


class OnConflict(Enum):
    """What an upsert does to a document that is there."""

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

    @property
    def names(self) -> Iterable[str]:
        """The top-level fields that are written."""
        return self.data


@dataclass(frozen=True, slots=True)
class Upserted(Generic[Outcome]):
    """What came of an upsert."""

    document: Outcome
    is_created: bool


@dataclass(frozen=True, slots=True)
class Update:
    """A change of the document `id`, if it satisfies `precondition`. Its values are as they were sent.

    With an `approval`, of a caller who is under rules, those say of which documents it may be one. `keep` is called in the
    write's transaction.
    """

    id: str
    change: Change
    approval: Approval | None = None
    precondition: Precondition = NO_PRECONDITION
    keep: Keep[Document] | None = None
    upload: Upload | None = None

    @property
    def data(self) -> Data:
        return self.change.data

    @property
    def names(self) -> Iterable[str]:
        """The top-level fields that are written."""
        operations = self.change.operations if isinstance(self.change, SetFields) else ()
        return [*self.data, *(operation.field for operation in operations)]


Write = Create | Update | Upsert

"""Where the rows of an import go, and which document a row means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from service.domain.collections.catalog import Collection
from service.domain.documents.documents import Documents
from service.domain.documents.import_rows import ImportRow
from service.domain.projects.lookup import Project
from service.errors import DuplicateValue, Invalid, ServiceError, Violation
from service.schema.documents import read


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Where rows go: each is a new document, or with a unique field `by` takes the place of the one with its value."""

    project: Project
    collection: Collection
    by: str | None

    @property
    def name(self) -> str:
        return self.collection.name

    def key_of(self, row: ImportRow) -> Any:
        """The key of the document that the row means."""
        by = self.by or ""
        return key(read({by: row.data[by]}, self.collection.fields)[by])

    def find_key_fault(self, row: ImportRow) -> Violation | None:
        """The reason why no document can be found by the row's value."""
        by = self.by or ""
        value = row.data.get(by)
        if value is None:
            return Violation(("body", "data", by), "Field required", "missing")
        if isinstance(value, dict | list):
            return Violation(("body", "data", by), "Must be one value, for the document is found by it", "value_error")
        return None


async def find_ids(documents: Documents, target: ImportTarget, rows: Sequence[ImportRow]) -> dict[Any, str]:
    """Key → the id of the document that is there, for those that the rows mean."""
    by = target.by or ""
    values = [read({by: row.data[by]}, target.collection.fields)[by] for row in rows]
    found = await documents.find_by_values(target.project, target.name, {by: values})
    return {key(document.data.get(by)): document.id for document in found}


def key(value: Any) -> Any:
    """What stands for a value in a dict: MongoDB's unique index has 1 and 1.0 as one, and true as another."""
    return (isinstance(value, bool), value) if isinstance(value, int | float) else repr(value)


def violations_of(error: ServiceError) -> list[Violation]:
    """The error of a single write, as the violations of a line."""
    if isinstance(error, Invalid):
        return error.violations
    if isinstance(error, DuplicateValue):
        return [Violation(("body", *error.field.split(".")), error.detail, error.code)]
    return [Violation(("body",), error.detail, error.code)]

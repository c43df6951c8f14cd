"""What a client demands of a document that it writes: a version of it, or conditions on its fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.domain.steps import judge
from service.errors import ConditionFailed, DocumentNotFound, VersionConflict
from service.query.nodes import Where
from service.query.reading import Reading
from service.query.tree import Tree
from service.schema.versions import Versions, is_one_of, version_tag
from service.storage.databases import ProjectDatabase

Record = Mapping[str, Any]
NO_CONDITIONS = Where()


@dataclass(frozen=True, slots=True)
class Precondition:
    """The document has one of `versions`, and `where`, as it was sent, holds of it."""

    versions: Versions = None
    where: Where = NO_CONDITIONS

    @property
    def is_nothing(self) -> bool:
        return self.versions is None and self.where == NO_CONDITIONS


NO_PRECONDITION = Precondition()


async def check_record(
    database: ProjectDatabase, record: Record | None, versions: Versions, where: Tree = True
) -> None:
    """Raises DocumentNotFound where there is no record; VersionConflict; ConditionFailed where `where` does not hold.

    They come before whatever else is wrong with a write: that is of no use to a client who went by another document.
    """
    if record is None:
        raise DocumentNotFound
    if not is_one_of(record["version"], versions):
        raise VersionConflict(version_tag(record["version"]))
    if not await judge(database, where, Reading(record)):
        raise ConditionFailed

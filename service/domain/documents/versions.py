"""What a client demands of a document's version, looked at where a write came to nothing."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from service.errors import DocumentNotFound, VersionConflict
from service.schema.versions import Versions, is_one_of, version_tag

Record = Mapping[str, Any]
# The document that a write is about, as far as the writer may read it.
FindRecord = Callable[[], Awaitable[Record | None]]


async def check_version(find: FindRecord, versions: Versions) -> None:
    """Raises DocumentNotFound, and VersionConflict where the document has none of `versions`.

    They come before whatever else is wrong with a write: that is of no use to a client who went by another document.
    """
    if versions is None:
        return
    record = await find()
    if record is None:
        raise DocumentNotFound
    check_version_of(record, versions)


def check_version_of(record: Record, versions: Versions) -> None:
    """Raises VersionConflict."""
    if not is_one_of(record["version"], versions):
        raise VersionConflict(version_tag(record["version"]))

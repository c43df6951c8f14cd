"""Records that name files: written together with the end of the files' upload, and with the verdict on files they drop."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from service.errors import ServiceError
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.files.deletions import condemn_owned, remove
from service.storage.files.uploads import Upload
from service.storage.records import Projection, Records

# From the `data` a record had to the files, field → name, that the change takes from it.
Dropped = Callable[[Mapping[str, Any]], Mapping[str, str]]


class _NoRecord(Exception):
    """Nothing matched; raised so that the transaction is undone, and the upload with it."""


async def insert_with_files(records: Records, upload: Upload, record: Document) -> None:
    """Stores a new record that names the files of `upload`. Raises the errors of `errors.translated`, UploadLost."""
    await upload.publish(lambda database: database.records(records.name).insert(record))


async def set_with_files(records: Records, upload: Upload, changes: Mapping[str, Document]) -> None:
    """Record id → fields to set there, all at once, among them the URLs of the files. Raises as `insert_with_files`."""

    async def write(database: ProjectDatabase) -> None:
        for record_id, fields in changes.items():
            await database.records(records.name).update_one({"_id": record_id}, {"$set": fields})

    await upload.publish(write)


async def update_with_files(
    records: Records, upload: Upload, match: Document, changes: Document, *, fields: Projection, dropped: Dropped
) -> Document | None:
    """Changes the record that matches and returns its `fields` afterwards; None, and no change, where none matches.

    The files that `dropped` finds in the record as it was at that moment are condemned in the same transaction, so that
    of two replacements at once each removes what it replaced; then they are removed. Raises as `insert_with_files`.
    """

    async def write(database: ProjectDatabase) -> tuple[Document | None, Any]:
        bound = database.records(records.name)
        before = await bound.update_and_return_old(match, changes)
        if before is None:
            raise _NoRecord
        condemned = await condemn_owned(database, before["_id"], dropped(before["data"]))
        return await bound.find({"_id": before["_id"]}, fields), condemned

    try:
        after, condemned = await upload.publish(write)
    except _NoRecord:
        return None
    if condemned:
        # The record is written: whatever fails now is finished by the next sweep.
        with suppress(ServiceError):
            await remove(upload.database, condemned)
    return after

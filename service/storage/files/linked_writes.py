"""Records that name files: written together with the end of the files' upload, and with the verdict on files they drop."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from service.errors import ServiceError
from service.storage.client import Document
from service.storage.files.deletions import condemn_owned, remove
from service.storage.files.uploads import Upload
from service.storage.records import Projection, Records
from service.storage.transactions import ClientSession

# From the `data` a record had to the files, field → name, that the change takes from it.
Dropped = Callable[[Mapping[str, Any]], Mapping[str, str]]


class _NoRecord(Exception):
    """Nothing matched; raised so that the transaction is undone, and the upload with it."""


async def insert_with_files(records: Records, upload: Upload, record: Document) -> None:
    """Stores a new record that names the files of `upload`. Raises the errors of `errors.translated`, UploadLost."""

    async def write(session: ClientSession) -> None:
        await records.collection.insert_one(record, session=session)

    await upload.publish(write)


async def set_with_files(records: Records, upload: Upload, changes: Mapping[str, Document]) -> None:
    """Record id → fields to set there, all at once, among them the URLs of the files. Raises as `insert_with_files`."""

    async def write(session: ClientSession) -> None:
        for record_id, fields in changes.items():
            await records.collection.update_one({"_id": record_id}, {"$set": fields}, session=session)

    await upload.publish(write)


async def update_with_files(
    records: Records, upload: Upload, match: Document, changes: Document, *, fields: Projection, dropped: Dropped
) -> Document | None:
    """Changes the record that matches and returns its `fields` afterwards; None, and no change, where none matches.

    The files that `dropped` finds in the record as it was at that moment are condemned in the same transaction, so that
    of two replacements at once each removes what it replaced; then they are removed. Raises as `insert_with_files`.
    """
    collection = records.collection

    async def write(session: ClientSession) -> tuple[Document | None, Any]:
        before = await collection.find_one_and_update(match, changes, session=session)
        if before is None:
            raise _NoRecord
        condemned = await condemn_owned(collection.database, before["_id"], dropped(before["data"]), session)
        return await collection.find_one({"_id": before["_id"]}, fields, session=session), condemned

    try:
        after, condemned = await upload.publish(write)
    except _NoRecord:
        return None
    if condemned:
        # The record is written: whatever fails now is finished by the next sweep.
        with suppress(ServiceError):
            await remove(collection.database, condemned)
    return after

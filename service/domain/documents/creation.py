"""New documents: one, many in one command, or one unless a unique field's value is there already."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from service.domain.documents.approval import Approval
from service.domain.documents.changes import explain_misfit
from service.domain.documents.file_changes import check_new_files, list_foreign
from service.domain.documents.reader import TargetCollection
from service.domain.documents.writes import Create, Data, OnConflict, RecordOrigin, Upsert
from service.domain.documents.writing import (
    LOC,
    as_client_error,
    check_completed,
    faults_of,
    lacks_version,
    map_in_turns,
    renew,
    store_write,
)
from service.errors import DuplicateValue, Invalid, ServiceError, Violation
from service.query.nodes import JsonCondition, Where
from service.schema.documents import complete, read, try_complete
from service.schema.fields import Fields
from service.schema.values import check_data, now
from service.storage.document_sizes import room_for
from service.storage.documents import DocumentStore, Insertion, StoredDocument
from service.storage.ids import new_id

CreateResult = StoredDocument | ServiceError
# If two upserts insert the same value at once, the second finds the document of the first.
ATTEMPTS = 5


async def create_document(target: TargetCollection, create: Create) -> StoredDocument:
    """Raises Invalid, DuplicateValue, RejectedByValidator, and as the rules do."""
    if violations := check_data(create.data, LOC):
        raise Invalid(violations)
    document = _new(create.id, complete(create.data, target.collection.fields))
    if not target.reader.permissions.creates_freely:
        await Approval(target.reader).approve_creation(document, create.data)
    await check_completed(target, document.data)
    if target.collection.files:
        check_new_files(document.data, target.collection, create)
    await store_write(target, create, lambda store: store.insert(document))
    return document


async def create_each(
    target: TargetCollection, rows: Sequence[Data], origins: Sequence[RecordOrigin] | None = None
) -> list[CreateResult]:
    """Creates many in one batch, without files: for each of `rows` its document, or the reason of its refusal.

    `origins` are those of the rows, which are new without them. It asks twice of the database, whatever the number of
    rows. Raises as the rules do.
    """
    completed = await map_in_turns(lambda row: try_complete(row, target.collection.fields), rows)
    documents = [_new(new_id(), data) for data, _ in completed]
    if origins is not None:
        documents = [
            each._replace(id=origin.id, created_at=origin.created_at, updated_at=origin.updated_at)
            for each, origin in zip(documents, origins, strict=True)
        ]
    named = await _find_faults(target, rows, documents)
    faults = [overfull or each for (_, overfull), each in zip(completed, named, strict=True)]
    sent = [number for number, fault in enumerate(faults) if not fault]
    refused = await target.store.insert_each([documents[number] for number in sent]) if sent else {}
    if any(lacks_version(error) for error in refused.values()) and await renew(target):
        again = list(refused)
        found = await target.store.insert_each([documents[sent[position]] for position in again])
        refused = {again[position]: error for position, error in found.items()}
    outcomes: list[CreateResult] = [
        Invalid(fault) if fault else documents[number] for number, fault in enumerate(faults)
    ]
    for position, error in refused.items():
        # Without a hint of the nearest field: it would cost the event loop as much again for each of a thousand rows.
        outcomes[sent[position]] = as_client_error(error)
    return outcomes


async def create_all(target: TargetCollection, creates: Sequence[Create]) -> Sequence[StoredDocument]:
    """Creates all in one command, within a transaction. Raises as `create_document`, with the position in `operation`."""
    documents = [_new_at(position, create, target.collection.fields) for position, create in enumerate(creates)]
    faults = await _find_faults(target, [create.data for create in creates], documents)
    for position, fault in enumerate(faults):
        if fault:
            raise Invalid(fault).at(position)
    await target.store.insert_all(documents)
    return documents


async def _find_faults(
    target: TargetCollection, rows: Sequence[Data], documents: Sequence[StoredDocument]
) -> Sequence[Sequence[Violation]]:
    """For each of the new documents, which come without files, its faults. Raises as the rules do."""
    if not target.reader.permissions.creates_freely:
        raise target.reader.refusal()
    completed = [document.data for document in documents]
    faults = await faults_of(target, rows, completed)
    if files := target.collection.files:
        return [[*found, *list_foreign(data, files)] for found, data in zip(faults, completed, strict=True)]
    return faults


def _new_at(position: int, create: Create, fields: Fields) -> StoredDocument:
    """Raises Invalid with the position in `operation`."""
    try:
        return _new(create.id, complete(create.data, fields))
    except Invalid as error:
        raise error.at(position) from None


def _new(id_: str, data: dict[str, Any]) -> StoredDocument:
    moment = now()
    return StoredDocument(id_, data, moment, moment)


async def upsert_document(target: TargetCollection, upsert: Upsert) -> StoredDocument:
    """The document afterwards, which has the id of `upsert` where it is new. Raises Invalid, DuplicateValue, TooLarge.

    One command for callers who may create and change every document.
    """
    fields = target.collection.fields
    check_key(upsert, fields)
    if violations := check_data(upsert.data, LOC):
        raise Invalid(violations)
    document = _new(upsert.id, complete(upsert.data, fields))
    await check_completed(target, document.data)
    insertion = Insertion(upsert.by, document, _changed(upsert, fields))
    attempts = 1 if target.database.session is not None else ATTEMPTS
    for _ in range(attempts - 1):
        try:
            return await _store_upsert(target, upsert, insertion)
        except DuplicateValue as error:
            if not error.is_of(upsert.by):
                raise
    return await _store_upsert(target, upsert, insertion)


async def _store_upsert(target: TargetCollection, upsert: Upsert, insertion: Insertion) -> StoredDocument:
    keyed = replace(upsert, key=insertion.document.data[insertion.by])
    may_outgrow = room_for(insertion.changed or {}, ()) is not None

    async def store_once(store: DocumentStore) -> StoredDocument:
        if may_outgrow:
            await _check_room(target, store, insertion)
        return await store.upsert(insertion)

    # An upsert always leaves a document.
    return await store_write(target, keyed, store_once, has_steps=may_outgrow) or insertion.document


async def _check_room(target: TargetCollection, store: DocumentStore, insertion: Insertion) -> None:
    """Raises TooLarge where the document that is there would grow too large; MongoDB's match of an upsert cannot ask it."""
    value = insertion.document.data[insertion.by]
    for document in await store.find_by_values({insertion.by: [value]}, size=1):
        if refused := await explain_misfit(target, document.data, insertion.changed or {}, ()):
            raise refused


def check_key(upsert: Upsert, fields: Fields) -> None:
    """Raises Invalid unless `by` is a unique field, and the data has a value of it."""
    if upsert.by not in fields or not fields[upsert.by].unique:
        raise Invalid.one(("query", "by"), "Must be a unique field of this collection")
    if upsert.by not in upsert.data:
        raise Invalid.one((*LOC, upsert.by), "Field required", type_="missing")
    if upsert.data[upsert.by] is None:
        raise Invalid.one((*LOC, upsert.by), "By null no document can be found")


def _changed(upsert: Upsert, fields: Fields) -> Mapping[str, Any] | None:
    """The fields of a document that is there that are set; None for all of its data."""
    match upsert.on_conflict:
        case OnConflict.MERGE:
            return read(upsert.data, fields)
        case OnConflict.IGNORE:
            return {}
    return None


def match_key(upsert: Upsert, fields: Fields) -> Where:
    """That a document has the value by which it is sought, which is a whole number also where 5.0 was sent."""
    by, sent = upsert.by, upsert.data[upsert.by]
    stored = read({by: sent}, fields)[by]
    # A condition reads times for itself.
    value = sent if isinstance(stored, datetime) else stored
    return Where((JsonCondition(("body", "data", by), ("data", by), "eq", value),))

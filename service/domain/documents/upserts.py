"""Upserts: a document is written by the value of a unique field, whether it is there or not, in one step."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from service.domain.collections.pattern_judge import PatternJudge
from service.domain.documents.changes import explain_misfit, store_write
from service.domain.documents.references import LOC, Target, check_completed
from service.domain.documents.writes import OnConflict, Upsert
from service.errors import DuplicateValue, Invalid
from service.query.nodes import JsonCondition, Where
from service.schema.documents import complete, read
from service.schema.fields import Fields
from service.schema.values import check_data, now
from service.storage.document_sizes import room_for
from service.storage.documents import Document, DocumentStore, Insertion

# Two that insert at once are none's fault: the second finds the first.
ATTEMPTS = 5


async def upsert_document(target: Target, upsert: Upsert, judge: PatternJudge) -> Document:
    """The document afterwards, which has the id of `upsert` where it is new. Raises Invalid, DuplicateValue, TooLarge."""
    fields = target.collection.fields
    check_key(upsert, fields)
    if violations := check_data(upsert.data, LOC):
        raise Invalid(violations)
    moment, completed = now(), complete(upsert.data, fields)
    await check_completed(target, completed, judge)
    insertion = Insertion(upsert.by, Document(upsert.id, completed, moment, moment), _changed(upsert, fields))
    attempts = 1 if target.project.database.session is not None else ATTEMPTS
    for _ in range(attempts - 1):
        try:
            return await _store(target, upsert, insertion)
        except DuplicateValue as error:
            if error.field != f"data.{upsert.by}":
                raise
    return await _store(target, upsert, insertion)


async def _store(target: Target, upsert: Upsert, insertion: Insertion) -> Document:
    keyed = replace(upsert, key=insertion.document.data[insertion.by])
    may_outgrow = room_for(insertion.changed or {}, ()) is not None

    async def store_once(store: DocumentStore) -> Document:
        if may_outgrow:
            await _check_room(target, store, insertion)
        return await store.upsert(insertion)

    # An upsert always leaves a document.
    return await store_write(target, keyed, store_once, has_steps=may_outgrow) or insertion.document


async def _check_room(target: Target, store: DocumentStore, insertion: Insertion) -> None:
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

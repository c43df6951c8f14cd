"""The one way of every change of a document: read by the schema, allowed by the rules, judged, and made in one step.

What a client demands of the document comes before all that is wrong with the change itself.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from service.bounds import MAX_DOCUMENT_BYTES
from service.domain.collections.catalog import Collection
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.documents.approval import CHANGED, ApprovedChange, Record, as_record
from service.domain.documents.file_changes import find_before, settle_write, touches_files
from service.domain.documents.preconditions import NO_CONDITIONS, check_record
from service.domain.documents.references import LOC, Target, check_completed
from service.domain.documents.writes import Change, Data, Update, Write
from service.domain.steps import run_in_steps
from service.errors import (
    ConditionFailed,
    DocumentNotFound,
    Forbidden,
    Invalid,
    ServiceError,
    TooLarge,
    Unauthorized,
    Unavailable,
    Violation,
)
from service.query.conditions import bind_where
from service.query.document_shape import DocumentShape
from service.query.images import apply_operations
from service.query.shapes import Shape
from service.query.tree import Tree, to_filter
from service.rules.visible import see_shape
from service.schema.documents import complete, read
from service.schema.operations import Operations, bind_operations, elements
from service.schema.values import check_data
from service.storage.collections import mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.document_sizes import is_outgrown, room_for
from service.storage.documents import Document, DocumentStore, OperatorRefused, ReplaceData, SetFields, and_guard

# How often a change is computed anew that rules judge by its result, when others changed the document meanwhile.
ATTEMPTS = 20
OUTGROWN = f"The data of a document may be changed to at most {MAX_DOCUMENT_BYTES:,} bytes, as MongoDB keeps it"


class _NoDocument(Exception):
    """No document took the change; raised so that the transaction is undone."""


class Misfit(Exception):
    """Operators that do not fit the fields as they are declared, by the definition that is known."""

    def __init__(self, violations: list[Violation]) -> None:
        self.violations = violations
        self.operation: int | None = None
        super().__init__()


async def change_document(target: Target, update: Update, judge: PatternJudge) -> Document:
    """The document afterwards.

    Raises DocumentNotFound, VersionConflict, ConditionFailed, Invalid, DuplicateValue, RejectedByValidator, Misfit, and as
    the rules do.
    """
    where = _bind_where(target, update)
    for _ in range(ATTEMPTS):
        approved = await prepare_change(target, update, judge, where)
        if (document := await _change(target, update, approved)) is not None:
            return document
        if not approved.is_computed:
            raise await _explain(target, update, approved, where)
        await _check_conditions(target, update, where)
    raise Unavailable(CHANGED)


def _bind_where(target: Target, update: Update) -> Tree:
    """What the client's conditions mean, on fields of the document itself that the writer may read. Raises Misfit."""
    if update.precondition.where == NO_CONDITIONS:
        return True
    shape: Shape = DocumentShape(mongo_collection_name(target.collection.name), target.collection.fields, _no_shape)
    if update.approval is not None:
        shape = see_shape(shape, update.approval.permissions)
    violations = list[Violation]()
    tree = bind_where(update.precondition.where, shape, violations)
    if violations:
        raise Misfit(violations)
    return tree


def _no_shape(_: str) -> None:
    return None


async def store_write(
    target: Target,
    write: Write,
    action: Callable[[DocumentStore], Awaitable[Document | None]],
    *,
    has_steps: bool = False,
) -> Document | None:
    """What `action` returns.

    Where that has several steps, or the write a `keep` or files, all happens in one transaction, or nothing.
    """
    touches = touches_files(write, target.collection.files)
    if write.keep is None and not touches and not has_steps:
        return await action(target.store)

    async def act(database: ProjectDatabase) -> Document:
        collection = target.collection
        before = await find_before(database, collection, write) if touches else {}
        document = await action(DocumentStore(database, collection.name))
        if document is None:
            raise _NoDocument
        if touches:
            await settle_write(database, collection, write, before, document)
        if write.keep is not None:
            await write.keep(database, document)
        return document

    try:
        if write.upload is not None:
            return await write.upload.publish(act)
        return await target.project.database.in_transaction(act)
    except _NoDocument:
        return None


async def _change(target: Target, update: Update, approved: ApprovedChange) -> Document | None:
    """None where no document took the change."""

    def change(store: DocumentStore) -> Awaitable[Document | None]:
        return store.change(update.id, approved.change, guard=approved.guard, versions=update.precondition.versions)

    try:
        return await store_write(target, update, change)
    except OperatorRefused:
        return None


async def prepare_change(target: Target, update: Update, judge: PatternJudge, where: Tree) -> ApprovedChange:
    try:
        if violations := check_data(update.data, LOC):
            raise Invalid(violations)
        change = _read_change(update, target.collection)
        approved = await _approve(target, update, change)
        await check_completed(target, approved.new, judge, update.approval)
        await _check_elements(target, operations_of(change), judge)
        if target.project.database.session is not None:
            # An operator that MongoDB refuses would end the transaction.
            await _check_fit(target, update, operations_of(approved.change))
    except (Forbidden, Invalid, Misfit, Unauthorized):
        await _check_conditions(target, update, where)
        raise
    return _guard(approved, where)


def _guard(approved: ApprovedChange, where: Tree) -> ApprovedChange:
    """The change with `where` in its guard. It has no relations: what hides a field looks at the record alone."""
    return approved if where is True else replace(approved, guard=and_guard(approved.guard, to_filter(where)))


def _read_change(update: Update, collection: Collection) -> Change:
    """The change with its values as they are stored; whole new `data` is completed by whoever knows what of it stays.

    Operators, which compute from what is stored, know the fields only that the caller may read.
    """
    change, fields = update.change, collection.fields
    if isinstance(change, ReplaceData):
        return change
    if not change.operations:
        return SetFields(read(change.data, fields))
    known = fields if update.approval is None else update.approval.readable_fields(fields)
    operations, violations = bind_operations(change.operations, known)
    if violations:
        raise Misfit(violations)
    return SetFields(read(change.data, fields), operations)


async def _approve(target: Target, update: Update, change: Change) -> ApprovedChange:
    if update.approval is not None:
        return await update.approval.approve_change(update.id, change, target.collection.fields)
    if isinstance(change, ReplaceData):
        change = ReplaceData(complete(change.data, target.collection.fields))
    return ApprovedChange(change, None, {})


async def _check_elements(target: Target, operations: Operations, judge: PatternJudge) -> None:
    """Raises Invalid for texts put into arrays that break a pattern."""
    if not target.collection.patterned:
        return
    fields, violations = target.collection.patterned, list[Violation]()
    for operator, data in elements(operations):
        violations += await judge.judge(target.project.id, data, fields, ("body", operator))
    if violations:
        raise Invalid(violations)


async def _check_fit(target: Target, update: Update, operations: Operations) -> None:
    record = await _find_stored(target, update) if operations else None
    if record is None:
        return
    if violations := await _find_misfits(target, record["data"], operations):
        raise Invalid(violations)


async def _find_misfits(target: Target, data: Data, operations: Operations) -> list[Violation]:
    """The operations that do not fit what is stored."""
    return (await run_in_steps(target.project.database, apply_operations(data, operations)))[1]


async def _check_conditions(target: Target, update: Update, where: Tree) -> None:
    """Raises DocumentNotFound, VersionConflict, ConditionFailed."""
    if not update.precondition.is_nothing:
        record = await _find_stored(target, update)
        await check_record(target.project.database, record, update.precondition.versions, where)


async def _explain(target: Target, update: Update, approved: ApprovedChange, where: Tree) -> ServiceError:
    """Why no document took the change. Raises VersionConflict, ConditionFailed, Invalid."""
    operations, data = operations_of(approved.change), fields_of(approved.change)
    hidden = approved.change.hidden if isinstance(approved.change, SetFields) else frozenset[str]()
    may_miss = bool(operations) or room_for(data, operations) is not None
    if update.approval is None and update.precondition.is_nothing and not may_miss:
        return DocumentNotFound()
    record = await _find_stored(target, update)
    await check_record(target.project.database, record, update.precondition.versions, where)
    if record is None:
        return DocumentNotFound()
    if update.approval is not None and (refused := await update.approval.explain_refused_change(record, approved)):
        return refused
    if refused := await explain_misfit(target, record["data"], data, operations, hidden=hidden):
        return refused
    # The condition holds by now, and did not when it was looked at.
    return Unavailable(CHANGED) if where is True else ConditionFailed()


async def explain_misfit(
    target: Target, stored: Data, data: Data, operations: Operations, *, hidden: frozenset[str] = frozenset()
) -> ServiceError | None:
    """Why a document with this data cannot have these fields set and these operations done, where it cannot."""
    if violations := await _find_misfits(target, {**stored, **data}, operations):
        return Invalid(violations)
    if is_outgrown(stored, data, operations, hidden):
        return TooLarge(OUTGROWN)
    return None


def operations_of(change: Change) -> Operations:
    return change.operations if isinstance(change, SetFields) else ()


def fields_of(change: Change) -> Data:
    """Those that stand beside others, which stay."""
    return change.data if isinstance(change, SetFields) else {}


async def _find_stored(target: Target, update: Update) -> Record | None:
    """The record of the document, if the writer may read it."""
    if update.approval is not None:
        return await update.approval.find(update.id)
    return await find_record(target, update.id)


async def find_record(target: Target, id_: str) -> Record | None:
    document = await target.store.find(id_)
    return as_record(document) if document is not None else None

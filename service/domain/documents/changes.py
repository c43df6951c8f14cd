"""The one way of every change of a document: read by the schema, allowed by the rules, judged, and made in one step.

The precondition of a client comes before all faults of the change itself.
"""

from collections.abc import Awaitable
from dataclasses import replace

from service.bounds import MAX_DOCUMENT_BYTES
from service.domain.collections.catalog import DeclaredCollection
from service.domain.documents.approval import Approval, ApprovedChange
from service.domain.documents.file_changes import delete_document as delete_with_files
from service.domain.documents.reader import Reader, TargetCollection
from service.domain.documents.references import find_dangling
from service.domain.documents.writes import CHANGED, NO_CONDITIONS, Change, Data, Update, check_record
from service.domain.documents.writing import LOC, Misfit, check_completed, store_write
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
from service.query.images import apply_operations
from service.query.names import count_searched
from service.query.shapes import DocumentShape
from service.query.tree import Tree, to_filter
from service.rules.visible import see_shape
from service.schema.documents import read
from service.schema.operations import Operations, bind_operations, elements
from service.schema.values import check_data
from service.schema.versions import Versions
from service.storage.collections import mongo_collection_name
from service.storage.document_sizes import is_outgrown, room_for
from service.storage.documents import DocumentStore, OperatorRefused, ReplaceData, SetFields, StoredDocument, and_guard

# A change that rules judge by its result is computed again so often, when others changed the document meanwhile.
ATTEMPTS = 20
OUTGROWN = f"The data of a document may be changed to at most {MAX_DOCUMENT_BYTES:,} bytes, as MongoDB keeps it"


async def change_document(target: TargetCollection, update: Update) -> StoredDocument:
    """The document afterwards.

    Raises DocumentNotFound, VersionConflict, ConditionFailed, Invalid, DuplicateValue, RejectedByValidator, Misfit, and as
    the rules do; Busy where the guard searches texts and the project's lists are all under way.
    """
    if not count_searched(update.precondition.where):
        return await _change_in_place(target, update)
    async with target.reader.engine.lists.take(target.database):
        return await _change_in_place(target, update)


async def _change_in_place(target: TargetCollection, update: Update) -> StoredDocument:
    where = _bind_where(target, update)
    for _ in range(ATTEMPTS):
        approved = await prepare_change(target, update, where)
        if (document := await _change(target, update, approved)) is not None:
            return document
        if not approved.is_computed:
            raise await _explain(target, update, approved, where)
        await _check_conditions(target, update, where)
    raise Unavailable(CHANGED)


def _bind_where(target: TargetCollection, update: Update) -> Tree:
    """The tree of the client's conditions, on fields of the document itself that the writer may read. Raises Misfit."""
    if update.precondition.where == NO_CONDITIONS:
        return True
    own = DocumentShape(mongo_collection_name(target.collection.name), target.collection.fields, _no_shape)
    shape = see_shape(own, target.reader.permissions)
    violations = list[Violation]()
    tree = bind_where(update.precondition.where, shape, violations)
    if violations:
        raise Misfit(violations)
    return tree


def _no_shape(_: str) -> None:
    return None


async def _change(target: TargetCollection, update: Update, approved: ApprovedChange) -> StoredDocument | None:
    """None where no document took the change."""

    def change(store: DocumentStore) -> Awaitable[StoredDocument | None]:
        return store.change(update.id, approved.change, guard=approved.guard, versions=update.precondition.versions)

    try:
        return await store_write(target, update, change)
    except OperatorRefused:
        return None


async def prepare_change(target: TargetCollection, update: Update, where: Tree = True) -> ApprovedChange:
    """Raises as `change_document`, apart from what only the stored document tells."""
    try:
        if violations := check_data(update.data, LOC):
            raise Invalid(violations)
        change = _read_change(target.reader, update, target.collection)
        approved = await Approval(target.reader).approve_change(update.id, change, target.collection.fields)
        await _check_elements(target, operations_of(change))
        await check_completed(target, approved.new)
        if target.database.session is not None:
            # An operator that MongoDB refuses would end the transaction.
            await _check_fit(target, update, operations_of(approved.change))
    except (Forbidden, Invalid, Misfit, Unauthorized):
        await _check_conditions(target, update, where)
        raise
    return _guard(approved, where)


def _guard(approved: ApprovedChange, where: Tree) -> ApprovedChange:
    """The change with `where` in its guard. It has no relations: what hides a field looks at the record alone."""
    return approved if where is True else replace(approved, guard=and_guard(approved.guard, to_filter(where)))


def _read_change(reader: Reader, update: Update, collection: DeclaredCollection) -> Change:
    """The change with its values as they are stored; whole new `data` is completed by the rules, which know what stays.

    Operators, which compute from what is stored, know the fields only that the caller may read.
    """
    change, fields = update.change, collection.fields
    if isinstance(change, ReplaceData):
        return change
    if not change.operations:
        return SetFields(read(change.data, fields))
    operations, violations = bind_operations(change.operations, reader.readable_fields(fields))
    if violations:
        raise Misfit(violations)
    return SetFields(read(change.data, fields), operations)


async def _check_elements(target: TargetCollection, operations: Operations) -> None:
    """Raises Invalid for references put into arrays that name no record, and for texts that break a pattern."""
    fields, judge, violations = target.collection.patterned, target.reader.engine.judge, list[Violation]()
    for operator, data in elements(operations):
        violations += await judge.judge(target.project.id, data, fields, ("body", operator)) if fields else []
        violations += await find_dangling(target, data, ("body", operator))
    if violations:
        raise Invalid(violations)


async def _check_fit(target: TargetCollection, update: Update, operations: Operations) -> None:
    record = await target.reader.find_record(update.id) if operations else None
    if record is None:
        return
    if violations := await _find_misfits(target, record["data"], operations):
        raise Invalid(violations)


async def _find_misfits(target: TargetCollection, data: Data, operations: Operations) -> list[Violation]:
    """The operations that do not fit what is stored."""
    return (await run_in_steps(target.database, apply_operations(data, operations)))[1]


async def _check_conditions(target: TargetCollection, update: Update, where: Tree) -> None:
    """Raises DocumentNotFound, VersionConflict, ConditionFailed."""
    if not update.precondition.is_nothing:
        record = await target.reader.find_record(update.id)
        await check_record(target.database, record, update.precondition.versions, where)


async def _explain(target: TargetCollection, update: Update, approved: ApprovedChange, where: Tree) -> ServiceError:
    """Why no document took the change. Raises VersionConflict, ConditionFailed, Invalid."""
    operations, data = operations_of(approved.change), fields_of(approved.change)
    hidden = approved.change.hidden if isinstance(approved.change, SetFields) else frozenset[str]()
    may_miss = bool(operations) or room_for(data, operations) is not None
    if approved.guard is None and update.precondition.is_nothing and not may_miss:
        return DocumentNotFound()
    record = await target.reader.find_record(update.id)
    await check_record(target.database, record, update.precondition.versions, where)
    if record is None:
        return DocumentNotFound()
    if refused := await Approval(target.reader).explain_refused_change(record, approved):
        return refused
    if refused := await explain_misfit(target, record["data"], data, operations, hidden=hidden):
        return refused
    # The condition holds by now, and did not when it was looked at.
    return Unavailable(CHANGED) if where is True else ConditionFailed()


async def explain_misfit(
    target: TargetCollection, stored: Data, data: Data, operations: Operations, *, hidden: frozenset[str] = frozenset()
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
    """The fields that a change sets beside others, which stay."""
    return change.data if isinstance(change, SetFields) else {}


async def delete_document(reader: Reader, id_: str, versions: Versions) -> None:
    """Raises DocumentNotFound, VersionConflict, and as the rules do."""
    target, approval = await reader.target(), Approval(reader)
    guard = await approval.deletion_guard(id_)
    if await delete_with_files(target, id_, guard, versions):
        return
    if versions is not None:
        await check_record(reader.database, await reader.find_record(id_), versions)
    raise DocumentNotFound if guard is None else await approval.explain_refused_deletion(id_)

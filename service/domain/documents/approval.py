"""The rules of a collection on one caller's writes: they are asked before the database is."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from service.domain.access.relations import settle
from service.domain.documents.reader import Reader, as_record
from service.domain.documents.writes import CHANGED, Change, Data, Record
from service.domain.steps import judge, run_in_steps
from service.errors import DocumentNotFound, Invalid, ServiceError, Unavailable
from service.query.images import apply_operations
from service.query.reading import Reading
from service.query.tree import Leaf, Related, Tree, all_of, any_of, has_relations, leaves, to_filter
from service.rules.permissions import Permissions, top_level
from service.rules.writes import (
    GuardedChange,
    check_unchanged,
    creation_condition,
    guard_change,
    guard_operations,
    stays_as_it_is,
)
from service.schema.documents import complete, read
from service.schema.fields import Fields
from service.schema.operations import FieldOperation, Operations
from service.storage.databases import ProjectDatabase
from service.storage.documents import Guard, ReplaceData, SetFields, StoredDocument
from service.storage.records import match_versions


@dataclass(frozen=True, slots=True)
class ApprovedChange:
    """A change as the caller may make it, and the condition under which MongoDB makes it.

    `unchanged` are fields that were sent though the caller cannot write them: they must have their stored values.
    `kept` are fields of the change that were not sent, and stay as they are stored. `own` is the condition of the
    operators alone. A change that `is_computed` was computed from the document as it was read; if the document changes,
    it is computed again.
    """

    change: ReplaceData | SetFields
    guard: Guard | None
    unchanged: Data
    kept: Data = field(default_factory=dict)
    own: Tree = True
    is_computed: bool = False

    @property
    def new(self) -> Data:
        """The fields that the caller writes, and is judged by."""
        return {name: value for name, value in self.change.data.items() if name not in self.kept}

    @property
    def is_whole(self) -> bool:
        return isinstance(self.change, ReplaceData)


@dataclass(frozen=True, slots=True)
class Approval:
    """The rules of one collection on the writes of one caller, who reads it by `reader`."""

    reader: Reader

    @property
    def permissions(self) -> Permissions:
        return self.reader.permissions

    @property
    def database(self) -> ProjectDatabase:
        return self.reader.database

    @property
    def _hidden(self) -> frozenset[str]:
        return frozenset(self.permissions.readable)

    async def approve_creation(self, document: StoredDocument, sent: Data) -> None:
        """Raises Forbidden or Unauthorized where the completed document may not be created."""
        condition = creation_condition(self.permissions, sent)
        if condition is not True and not await self.reader.holds(condition, Reading(as_record(document))):
            raise self.reader.refusal()

    async def approve_change(self, id_: str, change: Change, fields: Fields) -> ApprovedChange:
        """A change of some fields, whose values are read; or of all, as they were sent, to be read as `fields` say.

        Raises DocumentNotFound, Invalid, Forbidden, Unauthorized.
        """
        if self.reader.permissions.updates_freely:
            return ApprovedChange(_completed(change, fields), None, {})
        if isinstance(change, SetFields):
            return await self._approve_set(id_, change)
        if self.permissions.keeps_fields:
            return await self._approve_kept(id_, change.data, fields)
        completed = complete(change.data, fields)
        condition = await run_in_steps(self.database, self.permissions.update_condition(completed, whole=True))
        return ApprovedChange(ReplaceData(completed), await self._guard(id_, condition, completed, whole=True), {})

    async def _approve_set(self, id_: str, change: SetFields) -> ApprovedChange:
        guarded = await run_in_steps(self.database, guard_change(self.permissions, change.data))
        own = guard_operations(self.permissions, change.operations)
        names = {operation.field for operation in change.operations}
        if self.permissions.judges_result_of(names):
            return await self._approve_computed(id_, guarded, own, change.operations)
        more = all_of((stays_as_it_is(self.permissions, guarded.unchanged), own))
        condition = all_of((guarded.condition, own))
        guard = await self._guard(id_, condition, guarded.fields, more, names=names)
        return ApprovedChange(
            SetFields(guarded.fields, change.operations, self._hidden), guard, guarded.unchanged, own=own
        )

    async def _guard(
        self,
        id_: str,
        condition: Tree,
        new: Data,
        more: Tree = True,
        *,
        whole: bool = False,
        names: Iterable[str] = (),
    ) -> Guard | None:
        """`condition` for MongoDB; if it has relations, as they are at the moment, and while their ids stay what they are.

        `more` is what it has besides the rules of the record, for writing `new`, and by operators the fields `names`.
        """
        if has_relations(condition):
            reading = await self.reader.read(id_)
            settled = await self._settled(reading, new, whole=whole)
            more = await settle(self.database, more, reading)
            condition = all_of((settled, more, *_pins(self.permissions, reading, (*new, *names))))
        return _as_guard(condition)

    async def _approve_computed(
        self, id_: str, guarded: GuardedChange, own: Tree, operations: Operations
    ) -> ApprovedChange:
        """Operators on fields whose new values a rule judges: computed here, for the document as it is read.

        The judged values are written only if the document is still the same then.
        """
        reading = await self.reader.read(id_)
        record = reading.record
        check_unchanged(self.permissions, guarded.unchanged, reading)
        if not await self.reader.holds(own, reading):
            raise self.reader.refusal()
        before = {**record["data"], **guarded.fields}
        image, violations = await run_in_steps(self.database, apply_operations(before, operations))
        if violations:
            raise Invalid(violations)
        writes = [await self._may_write(name, value, reading) for name, value in guarded.fields.items()]
        if not all(writes) or not await judge(self.database, await self._images(reading, image, whole=True), reading):
            raise self.reader.refusal()
        names = dict.fromkeys(operation.field for operation in operations)
        gone = tuple(FieldOperation("unset", (name,)) for name in names if name not in image)
        changed = {name: image[name] for name in names if name in image}
        pin = Guard({"version": match_versions([record["version"]])})
        return ApprovedChange(SetFields({**guarded.fields, **changed}, gone, self._hidden), pin, {}, is_computed=True)

    async def _settled(self, reading: Reading, new: Data, *, whole: bool) -> Tree:
        """The condition on the record for the change, without relations."""
        writes = [
            await settle(self.database, self.permissions.write_condition(name, new[name]), reading) for name in new
        ]
        return all_of((await self._images(reading, new, whole=whole), *writes))

    async def _images(self, reading: Reading, new: Data, *, whole: bool) -> Tree:
        """The condition on the record before and after the change, with its relations as they are, and as they will be."""
        record = reading.record
        image = Reading({**record, "data": dict(new) if whole else {**record["data"], **new}})
        pairs = [
            all_of((await settle(self.database, before, reading), await settle(self.database, after, image)))
            for before, after in await run_in_steps(self.database, self.permissions.residues(new, whole=whole))
        ]
        return all_of((await settle(self.database, self.permissions.read, reading), any_of(pairs)))

    async def _approve_kept(self, id_: str, sent: Data, fields: Fields) -> ApprovedChange:
        """A whole new `data` of a caller who cannot write or see all of it: a field of that kind which is left out stays.

        All is judged in memory, and the document must be what it was judged as when it is written.
        """
        reading = await self.reader.read(id_)
        record = reading.record
        fixed = {name: value for name, value in read(sent, fields).items() if self.permissions.is_fixed(name)}
        check_unchanged(self.permissions, fixed, reading)
        own = {name: value for name, value in sent.items() if name not in fixed}
        kept = {
            name: value
            for name, value in record["data"].items()
            if name not in own and not await self._may_lose(name, reading)
        }
        whole = complete({**own, **kept}, fields)
        # A default is written by the caller who sends the document: where that cannot write, nothing is filled in.
        completed = {
            name: value
            for name, value in whole.items()
            if name in own or name in kept or await self._may_lose(name, reading)
        }
        writes = [await self._may_write(name, value, reading) for name, value in completed.items() if name not in kept]
        if not all(writes) or not await judge(
            self.database, await self._images(reading, completed, whole=True), reading
        ):
            raise self.reader.refusal()
        pin = Guard({"data": {"$eq": record["data"]}})
        return ApprovedChange(ReplaceData(completed), pin, {}, kept, is_computed=True)

    async def _may_lose(self, name: str, reading: Reading) -> bool:
        """True if leaving a field out of a whole new `data` removes it."""
        if self.permissions.is_fixed(name) or not await judge(
            self.database, self.permissions.readable.get(name, True), reading
        ):
            return False
        return await self.reader.holds(self.permissions.write_rule(name), reading)

    async def _may_write(self, name: str, value: Any, reading: Reading) -> bool:
        return await self.reader.holds(self.permissions.write_condition(name, value), reading)

    async def deletion_guard(self, id_: str) -> Guard | None:
        """The condition under which the document may be deleted. Raises DocumentNotFound."""
        condition = self.permissions.delete
        if has_relations(condition):
            reading = await self.reader.read(id_)
            condition = all_of((await settle(self.database, condition, reading), *_pins(self.permissions, reading)))
        return _as_guard(condition)

    async def explain_refused_change(self, record: Record, approved: ApprovedChange) -> ServiceError | None:
        """Why the document did not pass the guard of a change; None where it would now.

        Raises Invalid where another value was sent for a fixed field.
        """
        reading = Reading(record)
        check_unchanged(self.permissions, approved.unchanged, reading)
        now = await self._settled(reading, approved.change.data, whole=approved.is_whole)
        own = await settle(self.database, approved.own, reading)
        return None if await judge(self.database, all_of((now, own)), reading) else self.reader.refusal()

    async def explain_refused_deletion(self, id_: str) -> ServiceError:
        """Why no document passed the guard of a deletion."""
        record = await self.reader.find_record(id_)
        if record is None:
            return DocumentNotFound()
        holds = await self.reader.holds(self.permissions.delete, Reading(record))
        return Unavailable(CHANGED) if holds else self.reader.refusal()


def _completed(change: Change, fields: Fields) -> Change:
    return ReplaceData(complete(change.data, fields)) if isinstance(change, ReplaceData) else change


def _as_guard(condition: Tree) -> Guard | None:
    """None where there is nothing to hold: `_id` alone is found at the least cost."""
    return None if condition is True else Guard(to_filter(condition))


def _pins(permissions: Permissions, reading: Reading, new: Iterable[str] = ()) -> list[Tree]:
    """That the ids by which relations were followed, for writing the fields `new`, are still the ones that were followed."""
    written = (permissions.write_rule(name) for name in new)
    pairs = (tree for pair in permissions.transitions for tree in pair)
    trees = (permissions.read, permissions.delete, *pairs, *written)
    paths = {leaf.local for tree in trees for leaf in leaves(tree) if isinstance(leaf, Related)}
    return [_pin(path, reading) for path in sorted(paths) if top_level(path) is not None]


def _pin(path: str, reading: Reading) -> Tree:
    found = next(iter(reading.at(path).texts()), None)
    return Leaf(path, "isnull", True) if found is None else Leaf(path, "eq", found)

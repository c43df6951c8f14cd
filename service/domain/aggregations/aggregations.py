"""Aggregations for the secret key: run one as it is sent, save one, run a saved one; and the rules on other callers.

A saved one is tried when it is saved, with a value in the place of each parameter. It is read again for each run, so
fields that its collection has lost since are noticed then.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from service.bounds import MAX_AGGREGATIONS
from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.domain.access.control import AccessControl
from service.domain.aggregations.runners import allow_run, check_run_rule, find_shape
from service.domain.aggregations.runs import AggregationRuns, Rows
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.audit.changes import NO_CHANGES, compare
from service.domain.collections.catalog import Catalogs
from service.domain.files.protection import FileProtection
from service.domain.projects.lookup import Project
from service.errors import (
    AggregationConflict,
    AggregationLimit,
    AggregationNotFound,
    Invalid,
    Location,
    Violation,
)
from service.query.aggregate.bind import bind_aggregation
from service.query.aggregate.grammar import read_aggregation
from service.query.aggregate.nodes import BoundAggregation
from service.query.aggregate.parameters import Filling, Kinds, read_declared, read_values, sample_values
from service.schema.options import COLLECTION_NAME, COLLECTION_NAME_RULE
from service.schema.strict_json import shown
from service.schema.values import Kind
from service.storage.aggregations import SavedAggregations, StoredAggregation
from service.storage.databases import ProjectDatabase

AD_HOC_SECONDS, SAVED_SECONDS = 2.0, 10.0
BODY: Location = ("body",)
AGGREGATE = "aggregate"
PARTS = ("collection", AGGREGATE, "parameters", "run")


@dataclass(frozen=True, slots=True)
class Definition:
    """A saved aggregation. `run` is the rule for callers besides the secret key: without one, there are none."""

    name: str
    collection: str
    aggregate: Mapping[str, Any]
    parameters: Mapping[str, Mapping[str, str]]
    run: Any
    created_at: datetime
    updated_at: datetime

    @property
    def kinds(self) -> Kinds:
        return {name: each["type"] for name, each in self.parameters.items()}

    @property
    def body(self) -> dict[str, Any]:
        """The body as a client would send it, with its optional parts."""
        parts = {"collection": self.collection, AGGREGATE: self.aggregate, "parameters": self.parameters}
        return parts if self.run is None else {**parts, "run": self.run}

    @property
    def is_new(self) -> bool:
        return self.created_at == self.updated_at


class Aggregations:
    """The aggregations of all projects."""

    def __init__(self, catalogs: Catalogs, access: AccessControl, protection: FileProtection, audit: Audit) -> None:
        self._access = access
        self._audit = audit
        self._protection = protection
        self._catalogs = catalogs
        self._runs = AggregationRuns()

    async def run(self, caller: SecretKeyCaller, collection: str, body: Mapping[str, Any]) -> Rows:
        """Runs an aggregation of a collection's documents, or of `users`.

        Raises Invalid, CollectionNotFound, and as `AggregationRuns.run`.
        """
        bound = await self._bind(caller, collection, body, BODY)
        return await self._run(caller.project, bound, seconds=AD_HOC_SECONDS, place=BODY)

    async def list(self, project: Project) -> list[Definition]:
        return [_define(saved) for saved in await SavedAggregations(project.database).list()]

    async def save(self, caller: SecretKeyCaller, name: str, body: Mapping[str, Any]) -> Definition:
        """Raises Invalid with all violations, CollectionNotFound, AggregationLimit."""
        if not COLLECTION_NAME.fullmatch(name):
            raise Invalid.one(("path", "name"), COLLECTION_NAME_RULE)
        await self.check(caller, body)
        text = json.dumps({part: body[part] for part in PARTS if part in body and part != "collection"})

        async def write(bound: ProjectDatabase) -> Definition:
            store = SavedAggregations(bound)
            before = await store.find(name)
            if before is None:
                await bound.serialize()
                if await store.count() >= MAX_AGGREGATIONS:
                    raise AggregationLimit(MAX_AGGREGATIONS)
            saved = await store.put(name, body["collection"], text)
            await self._note(Action.AGGREGATION_SAVED, caller.project, bound, before=before, after=saved)
            return _define(saved)

        await SavedAggregations(caller.project.database).ensure()
        return await caller.project.database.in_transaction(write)

    async def check(self, caller: SecretKeyCaller, body: Mapping[str, Any]) -> None:
        """Checks a definition without saving it. Raises as `save`."""
        filled, place = check_definition(body), (*BODY, AGGREGATE)
        await check_run_rule(self._access, caller.project, body.get("run"), (*BODY, "run"))
        # It is checked on no records, so an operator who saves it need not be allowed to read them.
        bound = await self._bind(SecretKeyCaller(caller.project), body["collection"], filled, place)
        await self._runs.check(caller.project.database, bound, place=place)

    async def delete(self, project: Project, name: str) -> None:
        """Raises AggregationNotFound."""

        async def write(bound: ProjectDatabase) -> None:
            before = await SavedAggregations(bound).find(name)
            if before is None or not await SavedAggregations(bound).delete(name):
                raise AggregationNotFound
            await self._note(Action.AGGREGATION_DELETED, project, bound, before=before)

        await project.database.in_transaction(write)

    async def _note(
        self,
        action: Action,
        project: Project,
        bound: ProjectDatabase,
        *,
        before: StoredAggregation | None,
        after: StoredAggregation | None = None,
    ) -> None:
        """Records what was saved or deleted; an equal definition in the place of another is no change."""
        changes = compare(_describe(before), _describe(after))
        if changes != NO_CHANGES and (named := after or before):
            act = Act(action, Target("aggregation", named.name), project.id, changes, is_new=before is None)
            await self._audit.record(bound.session, act)

    async def run_saved(self, caller: ProjectCaller, name: str, pairs: Sequence[tuple[str, str]]) -> Rows:
        """With the parameters of `pairs`, over the records and fields that the caller may read.

        Raises AggregationNotFound, also where the caller may not know of it; Unauthorized and Forbidden by the rules; Invalid
        for parameters, AggregationConflict where the collection lacks what the definition names; and as `AggregationRuns.run`.
        """
        if not isinstance(caller, SecretKeyCaller):
            await self._access.require_rules(caller.project)
        saved = await SavedAggregations(caller.project.database).find(name)
        if saved is None:
            raise AggregationNotFound
        definition = _define(saved)
        await allow_run(self._access, caller, definition.run)
        filling = Filling(read_values(pairs, definition.kinds))
        body = filling.fill(definition.aggregate, (AGGREGATE,))
        try:
            bound = await self._bind(caller, definition.collection, body, (AGGREGATE,))
        except Invalid as invalid:
            raise await self._explain(caller, definition, filling, invalid) from None
        return await self._run(caller.project, bound, seconds=SAVED_SECONDS, place=("path", "name"))

    async def _run(self, project: Project, bound: BoundAggregation, *, seconds: float, place: Location) -> Rows:
        found = await self._runs.run(project.database, bound, seconds=seconds, place=place)
        rows = found.rows
        for column in _file_columns(bound):
            shown = await self._protection.show_values(project, (row[column] for row in rows))
            rows = [{**row, column: value} for row, value in zip(rows, shown, strict=True)]
        return replace(found, rows=rows)

    async def _explain(
        self, caller: ProjectCaller, definition: Definition, filling: Filling, invalid: Invalid
    ) -> Invalid | AggregationConflict:
        """The faults in the values that were sent; or those in the definition, if other values would not help either."""
        try:
            body = Filling(sample_values(definition.kinds)).fill(definition.aggregate, (AGGREGATE,))
            await self._bind(caller, definition.collection, body, (AGGREGATE,))
        except Invalid as conflict:
            # Other callers than the secret key must not learn of fields, so they get no details.
            return AggregationConflict(conflict.violations if isinstance(caller, SecretKeyCaller) else [])
        return Invalid(filling.at_parameter(each) or each for each in invalid.violations)

    async def _bind(
        self, caller: ProjectCaller, collection: str, body: Mapping[str, Any], place: Location
    ) -> BoundAggregation:
        aggregation = read_aggregation(body, place)
        shape = await find_shape(self._catalogs, self._access, caller, aggregation, name=collection)
        prefix = caller.project.database.file_urls.prefix
        return bind_aggregation(aggregation, shape, place, file_prefix=prefix)


def _file_columns(bound: BoundAggregation) -> list[str]:
    """The names of those that show files of documents; `count_distinct` is a number."""
    keys = [key.name for key in bound.keys if key.kind is Kind.FILE]
    return keys + [value.name for value in bound.values if value.kind is Kind.FILE and value.function in {"min", "max"}]


def check_definition(body: Mapping[str, Any]) -> dict[str, Any]:
    """The aggregation of a definition, with a value in the place of each parameter. Raises Invalid.

    The caller, which knows the collection, checks its names.
    """
    _check_form(body)
    kinds = read_declared(body.get("parameters", {}), (*BODY, "parameters"))
    filling, place = Filling(sample_values(kinds)), (*BODY, AGGREGATE)
    filled = filling.fill(body[AGGREGATE], place)
    unused = sorted(kinds.keys() - filling.places.values())
    filling.violations += (
        Violation((*BODY, "parameters", name), "Nothing in where or having names this parameter", "unused")
        for name in unused
    )
    if filling.violations:
        raise Invalid(filling.violations)
    read_aggregation(filled, place)
    return filled


def _check_form(body: Mapping[str, Any]) -> None:
    """Raises Invalid."""
    violations = [
        Violation((*BODY, shown(name)[1:-1]), f"Must be one of {', '.join(PARTS)}", "extra_forbidden")
        for name in body
        if name not in PARTS
    ]
    for name, type_, what in (
        ("collection", str, "the name of a collection, or users"),
        (AGGREGATE, dict, "an object"),
    ):
        if not isinstance(body.get(name), type_):
            violations.append(
                Violation((*BODY, name), f"Must be {what}", "missing" if name not in body else "type_error")
            )
    if violations:
        raise Invalid(violations)


def _describe(saved: StoredAggregation | None) -> dict[str, Any]:
    return _define(saved).body if saved else {}


def _define(saved: StoredAggregation) -> Definition:
    parts = json.loads(saved.text)
    return Definition(
        name=saved.name,
        collection=saved.collection,
        aggregate=parts[AGGREGATE],
        parameters=parts.get("parameters", {}),
        run=parts.get("run"),
        created_at=saved.created_at,
        updated_at=saved.updated_at,
    )

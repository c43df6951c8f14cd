"""Conflicts of a schema's change: documents that would break the new one, after defaults were filled in."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from service.bounds import MAX_LIVE_BYTES
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.projects.lookup import Project
from service.errors import MAX_NAMED, SchemaConflict, Unavailable, Violation
from service.schema.collection_options import NO_OPTIONS, CollectionOptions
from service.schema.conformance import find_broken_rules
from service.schema.fields import USERS, Fields
from service.schema.indexes import Index, indexes
from service.schema.json_schema import find_json_schema
from service.schema.patterns import patterned
from service.schema.repairs import fill
from service.schema.violations import TOO_LARGE, UNKNOWN, translate_rules
from service.storage.collections import SHOWN, CollectionStore
from service.storage.definitions import CHANGE_SECONDS

CLASH = Violation((), "Other documents have the same value, and the field is to be unique", "unique")
CLASH_TOGETHER = Violation(
    (), "Other documents have the same values, and the fields are to be unique together", "unique"
)
TOO_LONG = "To look at every document takes longer than a change may; nothing was changed"


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings before a change: documents it would repair, and `conflicts` {total, documents: [{id, errors}]} or
    None. `removal` is a sentence on the write that removes the values of removed fields, or empty. `of_users`: the
    documents are users.
    """

    repairs: int = 0
    total: int = 0
    documents: list[dict[str, Any]] = field(default_factory=list)
    removal: str = ""
    of_users: bool = False

    @property
    def conflicts(self) -> dict[str, Any]:
        return {"total": self.total, "documents": self.documents}

    @property
    def error(self) -> SchemaConflict | None:
        return SchemaConflict(self.conflicts, self.removal, of_users=self.of_users) if self.total else None


class Conforming(Protocol):
    """A declared collection, or the users of a project, as they are before a change."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> Mapping[str, Any]: ...

    @property
    def fields(self) -> Fields: ...

    @property
    def validator(self) -> Mapping[str, Any]: ...

    @property
    def indexes(self) -> list[Index]: ...


@dataclass(frozen=True, slots=True)
class Examination:
    """The documents of `collection`, looked at as if `fields`, `validator` and `options` were its own."""

    project: Project
    collection: Conforming
    fields: Fields
    validator: Mapping[str, Any]
    judge: PatternJudge
    options: CollectionOptions = NO_OPTIONS

    @property
    def _store(self) -> CollectionStore:
        return CollectionStore(self.project.database)

    @property
    def _is_of_users(self) -> bool:
        return self.collection.name == USERS

    @property
    def indexes(self) -> list[Index]:
        return indexes(self.fields, self.options)

    @property
    def new_indexes(self) -> list[Index]:
        present = self.collection.indexes
        return [index for index in self.indexes if index not in present]

    async def run(self) -> Findings:
        """Documents that break the schema; if there are none, those that share a value that is to be unique."""
        broken = await self._find_broken()
        mismatches = await self._find_mismatches(filled=bool(broken.repairs or broken.total))
        if broken.total or mismatches.total:
            documents = sorted([*broken.documents, *mismatches.documents], key=_by_id)
            removal = await self._describe_removal(list_undeclared(documents))
            total = broken.total + mismatches.total
            return Findings(broken.repairs, total, documents[:SHOWN], removal, self._is_of_users)
        clashes = await self.find_clashes(self.new_indexes)
        return Findings(broken.repairs, clashes.total, clashes.documents)

    async def _describe_removal(self, names: Sequence[str]) -> str:
        """The sentence with the bulk write that removes the values of these fields from all documents."""
        if not names or self._is_of_users:
            return ""
        body = {"where": {}, "unset": names, "expect": await self._store.count(self.collection.name)}
        request = f"POST /api/collections/{self.collection.name}/update {json.dumps(body, ensure_ascii=False)}"
        kept = json.dumps(list_kept(names, self.collection.schema), ensure_ascii=False)
        # An unset is refused for a required field, and sets a default again.
        first = "First" if kept == "[]" else f"First declare {kept} without required and default. Then"
        return f"{first} remove the values: {request}"

    async def find_clashes(self, wanted: Iterable[Index]) -> Findings:
        total, documents = 0, list[dict[str, Any]]()
        for index in wanted:
            if index.unique:
                count, first = await self._store.clashes(self.collection.name, index)
                total += count
                documents += [_reported(id_, _describe_clash(index)) for id_ in first]
        return Findings(0, total, documents)

    async def _find_broken(self) -> Findings:
        """The documents that the new validator would refuse."""
        name, new, filling = self.collection.name, self.validator, fill(self.fields)
        if new == self.collection.validator:
            return Findings()
        before, _ = await self._store.broken(name, new)
        after, first = await self._store.broken(name, new, filling) if before else (0, [])
        return Findings(before - after, after, await self._explain(first, filling))

    async def _explain(self, ids: Sequence[str], filling: Any) -> list[dict[str, Any]]:
        """Why each of these documents breaks the new schema, as the expression `filling` would leave it."""
        schema, explained = find_json_schema(self.validator), list[dict[str, Any]]()
        async for document, size in self._store.read_filled(self.collection.name, ids, filling):
            broken = await self.judge.run(self.project.id, find_broken_rules(document, schema))
            violations = translate_rules(broken, ())
            if self.options.realtime and size > MAX_LIVE_BYTES:
                violations.append(TOO_LARGE)
            explained.append(_reported(document["_id"], violations or [UNKNOWN]))
        return explained

    async def _find_mismatches(self, *, filled: bool) -> Findings:
        """The documents that break a new pattern, of those that the new validator accepts once they are `filled`."""
        fields = changed_patterns(self.collection.fields, self.fields)
        if not fields:
            return Findings()
        conforming = (fill(self.fields), self.validator) if filled else None
        total, documents = 0, list[dict[str, Any]]()
        try:
            async with asyncio.timeout(CHANGE_SECONDS):
                async for batch in self._store.scan(self.collection.name, list(fields), conforming):
                    found = await self.judge.find_mismatches(self.project.id, batch, fields, ("data",))
                    total += len(found)
                    documents += [_reported(batch[position]["_id"], errors) for position, errors in found]
                    documents = sorted(documents, key=_by_id)[:SHOWN]
        except TimeoutError:
            raise Unavailable(TOO_LONG) from None
        return Findings(0, total, documents)


def list_undeclared(documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """The fields of these reported documents that the new schema lacks; at most as many as a message names."""
    errors = (error for document in documents for error in document["errors"])
    names = {error["loc"][1] for error in errors if error["type"] == "extra_forbidden" and len(error["loc"]) == 2}
    return sorted(names)[:MAX_NAMED]


def list_kept(names: Iterable[str], schema: Mapping[str, Any]) -> list[str]:
    """The fields among `names` whose values an unset does not remove: `schema` requires them, or gives a default."""
    definitions = {name: schema.get(name, {}) for name in names}
    return [name for name, each in definitions.items() if each.get("required") or "default" in each]


def changed_patterns(before: Fields, after: Fields) -> Fields:
    """The fields of `after` that hold texts to another pattern than `before` did, or may."""
    return {name: each for name, each in patterned(after).items() if each != before.get(name)}


def _describe_clash(index: Index) -> list[Violation]:
    clash = CLASH if len(index.keys) == 1 else CLASH_TOGETHER
    return [clash.under("data", name) for name in index.fields]


def _by_id(reported: dict[str, Any]) -> str:
    return str(reported["id"])


def _reported(id_: str, violations: list[Violation]) -> dict[str, Any]:
    return {"id": id_, "errors": [violation.as_dict() for violation in violations]}

"""Documents of an import: stored in batches by their ids, through the checks of every write.

References and files come after all documents: a record may name one that comes later, so a field that cannot be set yet
waits in a file on disk. A second run finds the fields that a killed one left open: an unchanged document lacks them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from service.domain.access.caller import SecretKeyCaller
from service.domain.access.control import USERS
from service.domain.documents.creation import CreateResult
from service.domain.documents.documents import Documents
from service.domain.documents.import_trials import judge_all
from service.domain.documents.reader import Engine
from service.domain.documents.writes import RecordOrigin
from service.domain.documents.writing import map_in_turns
from service.domain.projects.lookup import Project
from service.errors import DuplicateValue, Invalid, Location, ServiceError, Violation
from service.importing.records import TWICE, SourceRecord, describe_refusal
from service.importing.report import MovingReport
from service.importing.waiting import Waiting, WaitingList
from service.schema.documents import try_complete
from service.schema.fields import Field, Fields, target_of, targets
from service.schema.json_schema import JSON_SCHEMA, validator
from service.schema.values import Kind, check_data, now
from service.schema.violations import translate_rules
from service.seeding.attachments import Attachments
from service.storage.collections import mongo_collection_name
from service.storage.documents import FIRST_VERSION, DocumentStore, SetFields, StoredDocument
from service.storage.documents import missing as find_missing
from service.storage.ids import new_id

DATA: Location = ("data",)
NOT_FOUND = "reference_not_found"


@dataclass(frozen=True, slots=True)
class DocumentImport:
    """The project and its collections, which exist, whose documents are imported."""

    engine: Engine
    attachments: Attachments
    project: Project
    report: MovingReport
    fields: Mapping[str, Fields]
    waiting: WaitingList

    async def store(self, target: str, records: Sequence[SourceRecord]) -> None:
        """Stores a batch of one collection."""
        counts = self.report.of(target)
        counts.read += len(records)
        wanted: dict[str, SourceRecord] = {}
        for record in records:
            id_ = record.id or new_id()
            if record.faults or id_ in wanted:
                self._reject(target, record, record.faults or [TWICE])
            else:
                wanted[id_] = replace(record, id=id_)
        fields = self.fields[target]
        late = [name for name, field in fields.items() if _comes_late(field)]
        there = await DocumentStore(self.project.database, target).find_present(list(wanted), late)
        counts.already_there += len(there)
        for id_, document in there.items():
            self._wait_again(target, wanted.pop(id_), document)
        await self._create(target, list(wanted.values()))

    def _wait_again(self, target: str, record: SourceRecord, document: StoredDocument) -> None:
        """A document of an earlier run that no client has changed since may lack references and files."""
        if document.version != FIRST_VERSION:
            return
        references = [name for name, field in self.fields[target].items() if target_of(field) is not None]
        data = {name: record.data[name] for name in references if name in record.data and name not in document.data}
        files = {name: paths for name, paths in record.files.items() if name not in document.data}
        self._wait(target, record, data, files)

    async def _create(self, target: str, records: Sequence[SourceRecord]) -> None:
        """Stores new documents without the references that name nothing yet; those that need such a one wait as a whole."""
        missing = await self._find_missing(target, records)
        fields = self.fields[target]
        whole = [record for record in records if any(fields[name].required for name in missing.get(record.line, ()))]
        for record in whole:
            self.waiting.add(Waiting(target, record.id or "", record.line, record.data, _texts(record.files), new=True))
        waits = {record.line for record in whole}
        ready = [record for record in records if record.line not in waits]
        bare = [_without(record, missing.get(record.line, ())) for record in ready]
        for record, outcome in zip(ready, await self._create_each(target, bare), strict=True):
            self._count(target, record, missing.get(record.line, ()), outcome)

    async def _find_missing(self, target: str, records: Sequence[SourceRecord]) -> dict[int, list[str]]:
        """Line → the fields whose references name no record yet, for those that have any."""
        known = targets(self.fields[target])
        kept = {name: USERS if each == USERS else mongo_collection_name(each) for name, each in known.items()}
        named = [
            (record.line, name, related, value)
            for record in records
            for name, related in kept.items()
            for value in _ids(record.data.get(name))
        ]
        wanted: dict[str, set[str]] = {}
        for _, _, related, value in named:
            wanted.setdefault(related, set()).add(value)
        gone = await find_missing(self.project.database, wanted)
        found: dict[int, list[str]] = {}
        for line, name, related, value in named:
            if (related, value) in gone and name not in found.get(line, ()):
                found.setdefault(line, []).append(name)
        return found

    def _count(self, target: str, record: SourceRecord, missing: Sequence[str], outcome: CreateResult) -> None:
        if not isinstance(outcome, ServiceError):
            self.report.of(target).created += 1
            self._wait(target, record, {name: record.data[name] for name in missing}, record.files)
        elif isinstance(outcome, DuplicateValue) and outcome.fields == ("_id",):
            self.report.of(target).already_there += 1
        else:
            self._reject(target, record, describe_refusal(outcome))

    def _wait(
        self, target: str, record: SourceRecord, data: Mapping[str, Any], files: Mapping[str, Sequence[Path]]
    ) -> None:
        if data or files:
            self.waiting.add(Waiting(target, record.id or "", record.line, data, _texts(files)))

    async def _create_each(self, target: str, records: Sequence[SourceRecord]) -> Sequence[CreateResult]:
        if not records:
            return []
        moment = now()
        origins = []
        for record in records:
            created = min(record.created_at or moment, moment)
            origins.append(
                RecordOrigin(record.id or "", created, min(max(record.updated_at or created, created), moment))
            )
        return await self._documents(target).create_each([record.data for record in records], origins)

    async def judge(self, target: str, records: Sequence[SourceRecord]) -> None:
        """Counts a batch as `store` would, and stores nothing. References are not looked for: they may come later."""
        counts, fields = self.report.of(target), self.fields[target]
        counts.read += len(records)
        drafts = await map_in_turns(lambda record: try_complete(record.data, fields), records)
        schema = validator(fields)[JSON_SCHEMA]["properties"]["data"]
        broken = await self.engine.judge.run(self.project.id, judge_all([data for data, _ in drafts], schema))
        for record, (_, overfull), rules in zip(records, drafts, broken, strict=True):
            named = [*record.faults, *check_data(record.data, DATA), *(overfull or ())]
            if faults := named or translate_rules(rules, DATA):
                self._reject(target, record, faults)
            else:
                counts.created += 1

    async def settle(self) -> None:
        """Sets the fields that waited, once all documents are there."""
        for number, waiting in enumerate(self.waiting.read(), 1):
            if waiting.new:
                await self._create_late(waiting)
            else:
                await self._set(waiting, dict(waiting.data))
            if number % 100 == 0:
                await asyncio.sleep(0)

    async def _create_late(self, waiting: Waiting) -> None:
        record = SourceRecord(waiting.line, waiting.id, dict(waiting.data))
        (outcome,) = await self._create_each(waiting.target, [record])
        if isinstance(outcome, ServiceError):
            for name in _names_of_missing(outcome) or ():
                self.report.list_dangling(waiting.target, waiting.id, name, str(waiting.data[name]))
            self._reject(waiting.target, record, describe_refusal(outcome))
            return
        self.report.of(waiting.target).created += 1
        if waiting.files:
            await self._set(replace(waiting, data={}), {})

    async def _set(self, waiting: Waiting, data: dict[str, Any]) -> None:
        try:
            await self._change(waiting, data)
        except ServiceError as error:
            missing = _names_of_missing(error)
            if missing is None:
                await self._give_up(waiting, data, error)
                return
            for name in missing:
                self.report.list_dangling(waiting.target, waiting.id, name, str(data[name]))
            fields = self.fields[waiting.target]
            # A reference that takes null says so; another stays away.
            left = {
                name: None if name in missing else value
                for name, value in data.items()
                if name not in missing or fields[name].nullable
            }
            if left or waiting.files:
                await self._set(waiting, left)
        else:
            self.report.files["created"] += sum(len(each) for each in waiting.files.values())

    async def _change(self, waiting: Waiting, data: dict[str, Any]) -> None:
        if waiting.files:
            await self.attachments.change(self.project, waiting.target, waiting.id, data, waiting.files)
        else:
            await self._documents(waiting.target).change(waiting.id, SetFields(data))

    async def _give_up(self, waiting: Waiting, data: dict[str, Any], error: Exception) -> None:
        """One field after the other, so that a refused file takes no other field with it."""
        fields = [*data, *waiting.files]
        if len(fields) > 1:
            for name in fields:
                files = {name: waiting.files[name]} if name in waiting.files else {}
                await self._set(replace(waiting, files=files), {name: data[name]} if name in data else {})
            return
        reason = "; ".join(each.msg for each in describe_refusal(error))
        for name, paths in waiting.files.items():
            for path in paths:
                self.report.refuse_file(waiting.target, waiting.id, name, Path(path).name, reason)
        for name, value in data.items():
            self.report.lose(waiting.target, name, "refused", str(value))

    def _documents(self, target: str) -> Documents:
        return Documents(self.engine.of_server(SecretKeyCaller(self.project), target))

    def _reject(self, target: str, record: SourceRecord, faults: Sequence[Violation]) -> None:
        line = {"id": record.id, "created_at": record.created_at, "updated_at": record.updated_at, "data": record.data}
        self.report.reject(target, record, faults, {name: value for name, value in line.items() if value is not None})


def _comes_late(field: Field) -> bool:
    return (field.items or field).kind in {Kind.REFERENCE, Kind.FILE}


def _ids(value: Any) -> list[str]:
    """The ids in a reference, or in an array of them."""
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]


def _names_of_missing(outcome: object) -> set[str] | None:
    """The fields whose references name no record, where nothing else is wrong."""
    if not isinstance(outcome, Invalid) or any(each.type != NOT_FOUND for each in outcome.violations):
        return None
    return {str(each.loc[2]) for each in outcome.violations}


def _without(record: SourceRecord, names: Sequence[str]) -> SourceRecord:
    return replace(record, data={name: value for name, value in record.data.items() if name not in names})


def _texts(files: Mapping[str, Sequence[Path]]) -> dict[str, list[str]]:
    return {name: [str(path) for path in paths] for name, paths in files.items()}

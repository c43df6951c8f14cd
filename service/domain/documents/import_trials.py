"""The report of an import, and its dry run: rows are judged as a write would judge them, and nothing is stored.

MongoDB judges writes only, so `schema.conformance` judges in its place. Rows are compared with the documents that are
there and with the rows of their batch: a unique value that stands twice in the file, far apart, is found by the import, and
one that an earlier row frees still counts as taken.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from service.bounds import MAX_ERROR_GROUPS, MAX_LINE_ERRORS, MAX_VIOLATIONS
from service.domain.documents.file_changes import list_foreign
from service.domain.documents.import_rows import ImportRow, ImportTarget, find_ids, key, violations_of
from service.domain.documents.reader import TargetCollection
from service.domain.documents.writing import LOC, faults_of, map_in_turns
from service.errors import DuplicateValue, Location, Violation
from service.schema.conformance import Rule, find_broken_rules
from service.schema.documents import try_complete
from service.schema.indexes import Index
from service.schema.json_schema import JSON_SCHEMA, JsonSchema, validator
from service.schema.violations import translate_rules
from service.storage.documents import DocumentStore

# A line of the report lists so many of its violations.
LISTED_VIOLATIONS = 10
Data = dict[str, Any]
Refused = dict[int, list[Violation]]


@dataclass(frozen=True, slots=True)
class LineErrors:
    line: int
    violations: list[Violation]


@dataclass(slots=True)
class RefusedLines:
    """An error of `count` lines, as the first of them has it."""

    violation: Violation
    line: int
    count: int = 0


@dataclass(slots=True)
class ImportReport:
    """The results of the lines so far. The first refused ones are listed in the order of lines."""

    created: int = 0
    updated: int = 0
    refused: int = 0
    errors: list[LineErrors] = field(default_factory=list)
    _groups: dict[tuple[Location, str], RefusedLines] = field(default_factory=dict)

    @property
    def groups(self) -> list[RefusedLines]:
        """The kinds of errors, the most frequent first."""
        return sorted(self._groups.values(), key=lambda group: -group.count)

    def refuse(self, refused: Mapping[int, list[Violation]]) -> None:
        """Line → what is wrong with it, of one batch."""
        self.refused += len(refused)
        lines = sorted(refused)
        for line in lines[: max(0, MAX_LINE_ERRORS - len(self.errors))]:
            self.errors.append(LineErrors(line, refused[line][:LISTED_VIOLATIONS]))
        for line in lines:
            self._group(line, refused[line][:MAX_VIOLATIONS])

    def _group(self, line: int, violations: list[Violation]) -> None:
        """Counts each kind once: errors of one type at one place, whatever the position in an array."""
        for kind, violation in {_kind(violation): violation for violation in reversed(violations)}.items():
            if kind not in self._groups and len(self._groups) < MAX_ERROR_GROUPS:
                self._groups[kind] = RefusedLines(violation, line)
            if kind in self._groups:
                self._groups[kind].count += 1


def _kind(violation: Violation) -> tuple[Location, str]:
    return tuple(part for part in violation.loc if isinstance(part, str)), violation.type


class ImportTrial:
    """The dry run of one import; it counts in `report` as the import would."""

    def __init__(self, target: ImportTarget, report: ImportReport) -> None:
        reader = target.documents.reader
        self._import = target
        self._target = TargetCollection(reader, target.collection, DocumentStore(reader.database, reader.name))
        self._judge = reader.engine.judge
        self._report = report
        self._schema: JsonSchema = validator(target.collection.fields)[JSON_SCHEMA]["properties"]["data"]
        self._unique = [each for each in target.collection.indexes if each.unique and each.fields != (target.by,)]

    async def judge(self, rows: Sequence[ImportRow]) -> Refused:
        """The lines of one batch that the import would refuse, and why."""
        refused = {row.line: row.violations for row in rows if row.violations}
        left = [row for row in rows if not row.violations]
        ids: dict[Any, str] = {}
        if self._import.by is not None:
            refused |= {row.line: [fault] for row in left if (fault := self._import.find_key_fault(row)) is not None}
            left = [row for row in left if row.line not in refused]
            ids = await find_ids(self._import, left) if left else {}
        holders = [ids.get(self._import.key_of(row)) if self._import.by is not None else None for row in left]
        faults = await self._judge_rows(left, holders) if left else []
        self._count(left, faults, ids)
        return refused | {row.line: found for row, found in zip(left, faults, strict=True) if found}

    def _count(self, rows: Sequence[ImportRow], faults: Sequence[list[Violation]], ids: dict[Any, str]) -> None:
        known = set(ids)
        for row, found in zip(rows, faults, strict=True):
            if found:
                continue
            row_key = self._import.key_of(row) if self._import.by is not None else None
            if row_key is not None and row_key in known:
                self._report.updated += 1
            else:
                self._report.created += 1
                known.add(row_key)

    async def _judge_rows(self, rows: Sequence[ImportRow], holders: Sequence[str | None]) -> list[list[Violation]]:
        """For each row the first kind of faults that it has, in the order in which a write finds them."""
        collection = self._target.collection
        drafts = await map_in_turns(lambda row: try_complete(row.data, collection.fields), rows)
        completed = [data for data, _ in drafts]
        faults = await faults_of(self._target, [row.data for row in rows], completed)
        broken = await self._judge.run(self._target.project.id, judge_all(completed, self._schema))
        for position, data in enumerate(completed):
            faults[position] = drafts[position][1] or faults[position]
            if holders[position] is None:
                faults[position] += list_foreign(data, collection.files)
            faults[position] = faults[position] or translate_rules(broken[position], LOC)
        for index in self._unique:
            await self._find_duplicates(index, completed, holders, faults)
        return faults

    async def _find_duplicates(
        self, index: Index, rows: Sequence[Data], holders: Sequence[str | None], faults: list[list[Violation]]
    ) -> None:
        """Adds a fault to rows whose values of a unique index another document has, or a row before."""
        names = index.fields
        values = {number: [data.get(name) for name in names] for number, data in enumerate(rows) if not faults[number]}
        wanted = {number: each for number, each in values.items() if None not in each}
        if not wanted:
            return
        found = await self._target.store.find_holders(index, list(wanted.values()))
        taken = {_key([data[name] for name in names]): id_ for id_, data in found.items()}
        for number, each in wanted.items():
            if taken.setdefault(_key(each), holders[number] or "") != (holders[number] or ""):
                faults[number] += violations_of(DuplicateValue(*(each.path for each in index.keys)))
            elif not holders[number]:
                taken[_key(each)] = f"row {number}"


def _key(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(map(key, values))


def judge_all(rows: Sequence[Data], schema: JsonSchema) -> Generator[None, None, list[list[Rule]]]:
    """For each row the rules of its schema that it breaks, in steps."""
    found: list[list[Rule]] = []
    for row in rows:
        yield
        found.append((yield from find_broken_rules(row, schema)))
    return found

"""Judges the records of a backup as the service would: documents by their definitions, references, and files.

Ids and the names of them are kept in a temporary SQLite database, for a backup may have millions. Pure, but for its file.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from service.domain.portable.copying import Advance, ignore
from service.domain.portable.filling import judge_users, list_filled, read_declared, read_definitions
from service.domain.portable.manifest import records_name
from service.domain.portable.reading import BackupFile
from service.schema.conformance import Rule, find_broken_rules
from service.schema.fields import Fields, targets
from service.schema.json_schema import JsonSchema, find_json_schema
from service.schema.violations import translate_rules
from service.storage.bson_stream import read_document
from service.storage.client import Document
from service.storage.collections import mongo_collection_name
from service.storage.files.stored import CHUNKS, FILES
from service.storage.layout import COLLECTIONS, PROFILE, USERS

NAMED = 100
TABLES = """
PRAGMA journal_mode = OFF;
CREATE TABLE there (part TEXT, id TEXT, bytes INTEGER, PRIMARY KEY (part, id)) WITHOUT ROWID;
CREATE TABLE named (kind TEXT, place TEXT, part TEXT, id TEXT);
CREATE TABLE content (id TEXT, bytes INTEGER);
"""
UNFOUND = """
SELECT kind, place, part, id FROM named LEFT JOIN there USING (part, id) WHERE there.id IS NULL ORDER BY named.rowid
"""
INCOMPLETE = """
SELECT there.id FROM there LEFT JOIN content USING (id)
WHERE there.part = ? AND there.bytes IS NOT coalesce(content.bytes, 0) ORDER BY there.id
"""
# The kinds of findings. A dangling reference is no damage: a record may be deleted that others name.
BROKEN, DANGLING, MISSING, INCOMPLETE_FILE = "broken", "dangling", "missing_files", "incomplete_files"
DAMAGE = (BROKEN, MISSING, INCOMPLETE_FILE)


@dataclass(slots=True)
class RecordFindings:
    """The number of findings of each kind, and the first 100 of each as sentences."""

    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((BROKEN, DANGLING, MISSING, INCOMPLETE_FILE), 0)
    )
    sentences: list[str] = field(default_factory=list)

    @property
    def is_damaged(self) -> bool:
        return any(self.counts[kind] for kind in DAMAGE)

    def add(self, kind: str, sentence: str) -> None:
        self.counts[kind] += 1
        if self.counts[kind] <= NAMED:
            self.sentences.append(sentence)


@dataclass(frozen=True, slots=True)
class _RecordJudge:
    """The definition of a collection's records: `references` are its fields by the MongoDB collection they refer to."""

    schema: JsonSchema
    references: Mapping[str, str]
    files: Iterable[str]


def check_records(backup: BackupFile, advance: Advance = ignore) -> RecordFindings:
    """Judges all records; a part that was left out is not missed. Raises BackupDamaged.

    Sessions and documents of a deleted collection are not judged, for they are not restored.
    """
    findings, judges = RecordFindings(), _read_judges(backup)
    with closing(sqlite3.connect("")) as names:
        names.executescript(TABLES)
        for collection in list_filled(backup, judges.keys()):
            if collection in judges:
                _check(_JudgedMember(backup, collection, judges[collection], names), findings, advance)
        if FILES in backup.collections:
            _note_files(backup, names)
        _look_up(names, findings, has_files=FILES in backup.collections)
    return findings


def _read_judges(backup: BackupFile) -> dict[str, _RecordJudge]:
    """By MongoDB collection."""
    found = {
        mongo_collection_name(each.name): _RecordJudge(
            find_json_schema(each.validator), _name_targets(each.fields), list(each.files)
        )
        for each in map(read_declared, read_definitions(backup, COLLECTIONS))
    }
    profiles = [find_json_schema(judge_users(record)) for record in read_definitions(backup, PROFILE)]
    return found | (
        {USERS: _RecordJudge(profiles[0] if profiles else {}, {}, ())} if USERS in backup.collections else {}
    )


def _name_targets(fields: Fields) -> dict[str, str]:
    named = targets(fields)
    return {name: USERS if each == USERS else mongo_collection_name(each) for name, each in named.items()}


@dataclass(frozen=True, slots=True)
class _JudgedMember:
    """A member of a backup, the definition of its records, and the names that were read so far."""

    backup: BackupFile
    collection: str
    judge: _RecordJudge
    names: sqlite3.Connection


def _check(member: _JudgedMember, findings: RecordFindings, advance: Advance) -> None:
    for raw in member.backup.documents(records_name(member.collection)):
        document = read_document(raw)
        place = f"{member.collection} {document['_id']}"
        if rules := _judge(document, member.judge.schema):
            violation = translate_rules(rules, ())[0]
            findings.add(
                BROKEN, f"{place} breaks its definition at {'.'.join(map(str, violation.loc))}: {violation.msg}"
            )
        member.names.execute("INSERT OR IGNORE INTO there VALUES (?, ?, 0)", (member.collection, str(document["_id"])))
        rows = ((kind, place, part, name) for kind, part, name in _list_named(document, member.judge))
        member.names.executemany("INSERT INTO named VALUES (?, ?, ?, ?)", rows)
        advance("judged", 1)


def _list_named(document: Document, judge: _RecordJudge) -> Iterator[tuple[str, str, str]]:
    """The kind of a finding, the part and the id of each record and file that a document names."""
    data = document.get("data")
    values = data if isinstance(data, dict) else {}
    for name, part in judge.references.items():
        yield from ((DANGLING, part, value) for value in _texts(values.get(name)))
    kept = document.get("files")
    files = [values.get(name) for name in judge.files] + (list(kept.values()) if isinstance(kept, dict) else [])
    for each in files:
        yield from ((MISSING, FILES, value) for value in _texts(each))


def _texts(value: Any) -> list[str]:
    """The ids or names in a field, or in an array of them."""
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]


def _judge(value: Any, schema: JsonSchema) -> list[Rule]:
    """The rules that the value breaks."""
    judging = find_broken_rules(value, schema)
    while True:
        try:
            next(judging)
        except StopIteration as end:
            rules: list[Rule] = end.value
            return rules


def _note_files(backup: BackupFile, names: sqlite3.Connection) -> None:
    """Notes the files with their lengths, and the bytes of the chunks that follow one another from the first on."""
    files = map(read_document, backup.documents(records_name(FILES)))
    names.executemany("INSERT INTO there VALUES (?, ?, ?)", ((FILES, str(f["_id"]), int(f["length"])) for f in files))
    if CHUNKS in backup.collections:
        chunks = map(read_document, backup.documents(records_name(CHUNKS)))
        of_files = groupby(chunks, key=lambda chunk: str(chunk["files_id"]))
        names.executemany("INSERT INTO content VALUES (?, ?)", ((name, _add_up(each)) for name, each in of_files))


def _add_up(chunks: Iterable[Document]) -> int:
    """The bytes of one file; -1 where a chunk is missing before another."""
    size = 0
    for number, chunk in enumerate(chunks):
        if chunk["n"] != number:
            return -1
        size += len(chunk["data"])
    return size


def _look_up(names: sqlite3.Connection, findings: RecordFindings, *, has_files: bool) -> None:
    for kind, place, part, name in names.execute(UNFOUND):
        if kind == DANGLING:
            findings.add(kind, f"{place} refers to {part} {name}, which is not in the backup")
        elif has_files:
            findings.add(kind, f"{place} names the file {name}, which is not in the backup")
    for (name,) in names.execute(INCOMPLETE, (FILES,)):
        findings.add(INCOMPLETE_FILE, f"the file {name} lacks chunks")

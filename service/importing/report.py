"""The report of an import: counts, losses with examples, and rejected records as files to be mended and imported."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import orjson

from service.bounds import MAX_IMPORT_EXAMPLES, MAX_IMPORT_REJECTS
from service.errors import Violation
from service.importing.records import SourceRecord
from service.schema.csv_text import write_record
from service.schema.values import now

# Rejected users keep the hashes of their passwords.
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
TEXT_CHARACTERS = 1_000


@dataclass(slots=True)
class Counts:
    """The records of one target."""

    read: int = 0
    created: int = 0
    already_there: int = 0
    updated: int = 0
    rejected: int = 0


@dataclass(slots=True)
class Loss:
    """A change that values of one field of a target had to take, or a part of the source that is not imported."""

    target: str
    field: str
    kind: str
    examples: list[str]
    count: int = 0


class MovingReport:
    """Counts and losses. `folder` is None in a dry run that writes no files."""

    def __init__(self, source: str, project_id: str, folder: Path | None, *, dry_run: bool) -> None:
        self.source = source
        self.project_id = project_id
        self.folder = folder
        self.dry_run = dry_run
        self.started_at = now()
        self.targets: dict[str, Counts] = {}
        self.hashes: Counter[str] = Counter()
        self.without_password = 0
        self.unverified = 0
        self.mfa_lost: list[str] = []
        self.identities = 0
        self.files: Counter[str] = Counter(created=0, refused=0)
        self.dangling: list[dict[str, str]] = []
        self.losses: dict[tuple[str, str, str], Loss] = {}
        self._open: dict[str, IO[bytes]] = {}

    def of(self, target: str) -> Counts:
        return self.targets.setdefault(target, Counts())

    @property
    def rejected(self) -> int:
        return sum(counts.rejected for counts in self.targets.values())

    def lose_factors(self, id_: str) -> None:
        if len(self.mfa_lost) < MAX_IMPORT_REJECTS:
            self.mfa_lost.append(id_)

    def lose(self, target: str, field_: str, kind: str, example: str = "") -> None:
        loss = self.losses.setdefault((target, field_, kind), Loss(target, field_, kind, []))
        loss.count += 1
        if example and len(loss.examples) < MAX_IMPORT_EXAMPLES:
            loss.examples.append(example[:TEXT_CHARACTERS])

    def list_dangling(self, target: str, id_: str, field_: str, value: str) -> None:
        if len(self.dangling) < MAX_IMPORT_REJECTS:
            self.dangling.append({"target": target, "id": id_, "field": field_, "value": value})

    def reject(self, target: str, record: SourceRecord, faults: Sequence[Violation], sent: Any) -> None:
        """`sent` is the record in the form that NDJSON is imported in."""
        counts = self.of(target)
        counts.rejected += 1
        if counts.rejected > MAX_IMPORT_REJECTS:
            return
        errors = [{"loc": list(each.loc), "msg": each.msg, "type": each.type} for each in faults]
        line: dict[str, Any] = {"line": record.line, "id": record.id, "errors": errors, "record": sent}
        if record.text is not None:
            line |= {"record": None, "text": record.text[:TEXT_CHARACTERS]}
        self._write(f"rejects/{target}.ndjson", orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def refuse_file(self, target: str, id_: str, field_: str, name: str, why: str) -> None:
        self.files["refused"] += 1
        self._write_row(
            "files_refused.csv", ("collection", "id", "field", "file", "reason"), (target, id_, field_, name, why)
        )

    def map_id(self, target: str, theirs: str, ours: str) -> None:
        self._write_row("ids.csv", ("target", "source_id", "id"), (target, theirs, ours))

    def _write_row(self, name: str, header: Sequence[str], row: Sequence[str]) -> None:
        for each in [row] if name in self._open else [header, row]:
            self._write(name, write_record(each, orjson.dumps).encode())

    def _write(self, name: str, raw: bytes) -> None:
        if self.folder is None:
            return
        if name not in self._open:
            path = self.folder / name
            path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._open[name] = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE), "wb")
        self._open[name].write(raw)

    def as_json(self, ended_at: datetime) -> Mapping[str, Any]:
        users = {
            "hashes": dict(self.hashes),
            "without_password": self.without_password,
            "mfa_lost": self.mfa_lost,
            "unverified": self.unverified,
        }
        return {
            "source": self.source,
            "project_id": self.project_id,
            "dry_run": self.dry_run,
            "started_at": self.started_at,
            "ended_at": ended_at,
            "targets": {name: asdict(counts) for name, counts in self.targets.items()},
            "users": users,
            "identities": self.identities,
            "files": dict(self.files),
            "dangling": self.dangling,
            "losses": [asdict(loss) for loss in self.losses.values()],
        }

    def close(self) -> Mapping[str, Any]:
        """Writes `report.json` and returns it."""
        found = self.as_json(now())
        self._write("report.json", orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        for file in self._open.values():
            file.close()
        return found

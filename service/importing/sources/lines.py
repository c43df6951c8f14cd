"""CSV and NDJSON: documents with their ids and times, and users with their hashes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from service.bounds import MAX_ROW_BYTES, MAX_VALUES
from service.errors import Invalid, Violation
from service.importing.records import Inventory, SourceCollection, SourceIdentity, SourceRecord, SourceUser, keep_id
from service.importing.sources import BadInput, ImportSource
from service.schema.csv_text import BadRecord, parse_record, read_cells
from service.schema.fields import Fields
from service.schema.inference import type_of_text
from service.schema.lines import LineCutter, RecordJoiner, TextLine
from service.schema.strict_json import loads
from service.schema.values import BadValue, Kind, parse_number, read_time

PIECE_BYTES = 262_144
CSV, LINES = {".csv"}, {".ndjson", ".jsonl"}
TIMES = ("created_at", "updated_at")
OWN_CELLS = {"id": Kind.STRING, "created_at": Kind.STRING, "updated_at": Kind.STRING}
ACCOUNT_CELLS = {
    "email": Kind.STRING,
    "password_hash": Kind.STRING,
    "email_verified": Kind.BOOLEAN,
    "disabled": Kind.BOOLEAN,
    "roles": Kind.ARRAY,
    "claims": Kind.OBJECT,
}
ACCOUNT = ("email_verified", "disabled", "roles", "claims")
USER_NAMES = {"id", *TIMES, "data", "identities", *ACCOUNT_CELLS}
DATA = "data."

Row = Mapping[str, Any]


def open_ndjson(asked: ImportSource) -> Inventory:
    return _documents("ndjson", asked)


def open_csv(asked: ImportSource) -> Inventory:
    return _documents("csv", asked)


def _documents(source: str, asked: ImportSource) -> Inventory:
    """Raises BadInput."""
    path = _only(asked)
    if asked.collection is None:
        raise BadInput(f"--collection names the collection that {path} is imported into")

    def read(fields: Fields | None) -> Iterator[SourceRecord]:
        kinds = {name: each.kind for name, each in (fields or {}).items()}
        rows = _csv_rows(path, kinds | OWN_CELLS, _as_document) if source == "csv" else read_json_lines(path)
        for line, row in rows:
            yield _record(source, asked.collection or "", line, row)

    return Inventory([SourceCollection(asked.collection, None, read)])


def open_users(asked: ImportSource) -> Inventory:
    """Raises BadInput."""
    path = _only(asked)
    with path.open("rb") as file:
        is_json = path.suffix in LINES or (path.suffix not in CSV and file.read(1) == b"{")

    def read() -> Iterator[SourceUser]:
        for line, row in read_json_lines(path) if is_json else _csv_rows(path, OWN_CELLS | ACCOUNT_CELLS, _as_user):
            yield _user(line, row)

    return Inventory(users=read)


def _only(asked: ImportSource) -> Path:
    """Raises BadInput."""
    if len(asked.inputs) != 1:
        raise BadInput("One file is imported at a time")
    return asked.inputs[0]


def _lines(path: Path) -> Iterator[TextLine]:
    cutter = LineCutter()
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield from cutter.feed(piece)
        yield from cutter.end()


def read_json_lines(path: Path) -> Iterator[tuple[TextLine, Row | list[Violation]]]:
    """Each line that is not blank, with its object, or with what is wrong with it."""
    for line in _lines(path):
        if line.raw is None or line.raw.strip():
            yield line, _read_json(line)


def _read_json(line: TextLine) -> Row | list[Violation]:
    if line.raw is None:
        return [Violation((), f"A line has at most {int(MAX_ROW_BYTES):,} bytes", "too_long")]
    try:
        value = loads(line.raw, max_values=MAX_VALUES)
    except Invalid as error:
        return error.violations
    return value if isinstance(value, dict) else [Violation((), "The line must be a JSON object", "dict_type")]


def _csv_rows(
    path: Path, kinds: Mapping[str, Kind], shape: Callable[[Row], Row]
) -> Iterator[tuple[TextLine, Row | list[Violation]]]:
    """Each record by `shape`. Raises BadInput for a header that is none."""
    names: list[str] | None = None
    for record in _records(path):
        try:
            cells = parse_record((record.raw or b"").decode("utf-8-sig" if names is None else "utf-8"))
        except (BadRecord, UnicodeDecodeError) as error:
            if names is None:
                raise BadInput(f"{path}: the header cannot be read: {error}") from None
            yield record, [Violation((), f"The record {error}", "csv_invalid")]
            continue
        if names is None:
            names = cells
            if not names or len(set(names)) < len(names):
                raise BadInput(f"{path}: the first line names each column once")
        elif cells:
            yield record, _read_cells(record, names, cells, kinds, shape)


def _records(path: Path) -> Iterator[TextLine]:
    joiner = RecordJoiner()
    for line in _lines(path):
        yield from joiner.feed(line)
    yield from joiner.end()


def _read_cells(
    record: TextLine, names: list[str], cells: list[str], kinds: Mapping[str, Kind], shape: Callable[[Row], Row]
) -> Row | list[Violation]:
    if record.raw is None:
        return [Violation((), f"A record has at most {int(MAX_ROW_BYTES):,} bytes", "too_long")]
    if len(cells) != len(names):
        return [Violation((), f"The record has {len(cells)} cells, and the header has {len(names)}", "csv_ragged")]
    plain = dict(zip(names, cells, strict=True))
    known = read_cells({name: text for name, text in plain.items() if name in kinds}, kinds)
    return shape(known | {name: _guess(text) for name, text in plain.items() if name not in kinds and text != ""})


def _guess(text: str) -> Any:
    """A cell of no known kind, by its looks."""
    match type_of_text(text):
        case "integer" | "number":
            return parse_number(text)
        case "boolean":
            return text == "true"
    return text


def _as_document(row: Row) -> Row:
    own = {name: row[name] for name in OWN_CELLS if name in row}
    return own | {"data": {name: value for name, value in row.items() if name not in own}}


def _as_user(row: Row) -> Row:
    """Columns `data.<name>` are those of the user's data."""
    data = {name.removeprefix(DATA): value for name, value in row.items() if name.startswith(DATA)}
    return {name: value for name, value in row.items() if not name.startswith(DATA)} | {"data": data}


def _record(
    source: str, target: str, line: TextLine, row: Row | list[Violation], names: set[str] | None = None
) -> SourceRecord:
    size = len(line.raw or b"")
    if isinstance(row, list):
        text = (line.raw or b"")[:4_000].decode("utf-8", "replace")
        return SourceRecord(line.number, faults=row, text=text, size=size)
    faults = [
        Violation((name,), "A line has data, and may have id, created_at and updated_at", "extra_forbidden")
        for name in sorted(row.keys() - (names or {"id", "data", "version", *TIMES}))
    ]
    data, id_ = row.get("data"), row.get("id")
    if not isinstance(data, dict):
        faults.append(Violation(("data",), "Must be an object", "dict_type"))
        data = {}
    if not isinstance(id_, str | None):
        faults.append(Violation(("id",), "Must be text", "string_type"))
        id_ = None
    times = {name: _time(row, name, faults) for name in TIMES}
    id_ = keep_id(source, target, id_) if id_ else None
    return SourceRecord(line.number, id_, data, times["created_at"], times["updated_at"], faults=faults, size=size)


def _time(row: Row, name: str, faults: list[Violation]) -> datetime | None:
    text = row.get(name)
    if text is None:
        return None
    if isinstance(text, str):
        with suppress(BadValue):
            return read_time(text)
    faults.append(Violation((name,), "Must be a time, as 2026-01-31T12:00:00Z", "datetime_type"))
    return None


def _user(line: TextLine, row: Row | list[Violation]) -> SourceUser:
    if isinstance(row, list):
        return SourceUser(_record("users", "users", line, row))
    record = _record("users", "users", line, {"data": {}, **row}, USER_NAMES)
    identities = [each for each in map(_identity, row.get("identities") or ()) if each is not None]
    account = {name: row[name] for name in ACCOUNT if row.get(name) is not None}
    return SourceUser(record, row.get("email"), row.get("password_hash"), account, identities)


def _identity(value: Any) -> SourceIdentity | None:
    match value:
        case {"issuer": str(issuer), "subject": str(subject), "provider": str(provider)}:
            return SourceIdentity(issuer, subject, provider)
    return None

"""PocketBase 0.23 and later: its data folder, or a ZIP of its backups. The database is read, and nothing of it is executed.

`_collections` has the schemas, a table of each collection its records, and `storage/<collection>/<record>` its files.
"""

import atexit
import json
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from service.bounds import MAX_BACKUP_RATIO, MAX_IMPORT_ARCHIVE
from service.importing.records import Inventory, SourceCollection, SourceIdentity, SourceRecord, SourceUser, keep_id
from service.importing.sources import BadInput, ImportSource
from service.schema.fields import Fields
from service.schema.values import BadValue, read_time

DATABASE = "data.db"
# Fields of an auth collection that are the account's, and those that are nothing outside of PocketBase.
ACCOUNT = {"id", "email", "password", "verified", "tokenKey", "emailVisibility", "created", "updated"}
SECRETS = {"password", "tokenKey"}
ABSENT = {"date", "autodate", "email", "url", "select", "relation", "file"}
TEXTS = {"text", "editor", "email", "url"}
TYPES = {"bool": "boolean", "json": "any", "geoPoint": "object", "date": "datetime", "autodate": "datetime"}
UNIQUE = re.compile(
    r"\s*CREATE\s+UNIQUE\s+INDEX\s+\S+\s+ON\s+\S+\s*\(\s*[`\"\[]?(\w+)[`\"\]]?(?:\s+COLLATE\s+\w+)?\s*\)"
    r"(?:\s*WHERE\s+[`\"\[]?\1[`\"\]]?\s*!=\s*'')?\s*;?\s*",
    re.IGNORECASE,
)
# The issuers of identities here, which are those of our presets, by PocketBase's names of providers. Microsoft's subjects
# belong to a client, so its users link it once more.
ISSUERS = {
    "google": "https://accounts.google.com",
    "apple": "https://appleid.apple.com",
    "github": "https://github.com/login/oauth",
    "gitlab": "https://gitlab.com",
    "discord": "https://discord.com/oauth2/authorize",
}


@dataclass(frozen=True, slots=True)
class PocketField:
    """A field of a collection; `name` is the one here, and `target` the collection of a reference."""

    source: str
    name: str
    type: str
    options: Mapping[str, Any]
    target: str | None = None

    @property
    def is_many(self) -> bool:
        return int(self.options.get("maxSelect") or 1) > 1


@dataclass(frozen=True, slots=True)
class PocketCollection:
    """A collection as `_collections` describes it."""

    id: str
    name: str
    type: str
    fields: Sequence[PocketField]
    indexes: Sequence[str]


class PocketData:
    """The data folder of PocketBase, opened for reading."""

    def __init__(self, folder: Path) -> None:
        """Raises BadInput."""
        self.folder = folder
        self.path = folder / DATABASE
        if not self.path.is_file():
            raise BadInput(f"{folder} has no {DATABASE}")
        log = folder / f"{DATABASE}-wal"
        if log.exists() and log.stat().st_size:
            raise BadInput(f"{log} has changes that {DATABASE} lacks: stop PocketBase, or import one of its backups")
        self.collections = self._read_collections()

    def rows(self, query: str, *values: Any) -> Iterator[sqlite3.Row]:
        """Raises BadInput for what is no database."""
        uri = f"{self.path.resolve().as_uri()}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as database:
                database.row_factory = sqlite3.Row
                database.execute("PRAGMA trusted_schema = OFF")
                yield from database.execute(query, values)
        except sqlite3.DatabaseError as error:
            raise BadInput(f"{self.path}: {error}") from None

    def records(self, name: str) -> Iterator[sqlite3.Row]:
        return self.rows(f"SELECT * FROM {_quoted(name)} ORDER BY rowid")  # noqa: S608 - quoted

    def count_unset(self, name: str, field: str) -> int:
        query = f"SELECT count(*) FROM {_quoted(name)} WHERE coalesce({_quoted(field)}, '') IN ('', '[]')"  # noqa: S608
        return int(next(self.rows(query))[0])

    def file(self, collection: str, record: str, name: str) -> Path | None:
        """The path of a record's file; None for a name that leads elsewhere."""
        if any(not part or part in {".", ".."} or "/" in part or "\\" in part for part in (collection, record, name)):
            return None
        return self.folder / "storage" / collection / record / name

    def _read_collections(self) -> list[PocketCollection]:
        rows = list(self.rows("SELECT * FROM _collections ORDER BY rowid"))
        if rows and "fields" not in rows[0].keys():  # noqa: SIM118 - a Row is no dict
            raise BadInput(f"{self.path} is from before PocketBase 0.23: start it once with a newer PocketBase")
        names = {row["id"]: row["name"] for row in rows}
        return [_read_collection(row, names) for row in rows if not row["system"]]


def open_data(asked: ImportSource) -> Inventory:
    """Raises BadInput."""
    if len(asked.inputs) != 1:
        raise BadInput("One data folder or backup of PocketBase is imported at a time")
    data = PocketData(_unpack(asked.inputs[0]))
    listed = [f"view {each.name}" for each in data.collections if each.type == "view"]
    present = [each for each in data.collections if each.type != "view"]
    users = next((each for each in present if each.type == "auth" and each.name == asked.users), None)
    collections = []
    for each in present:
        if each is users:
            continue
        if each.type == "auth":
            asked.lose(each.name, "", "passwords", each.name)
        collections.append(
            SourceCollection(_name(each.name), _schema(data, each, asked), partial(_read_records, data, each, asked))
        )
    return Inventory(collections, partial(_read_users, data, users, asked) if users else None, listed)


def _unpack(path: Path) -> Path:
    """The folder, or one with the members of a backup, which goes with the process. Raises BadInput."""
    if path.is_dir():
        return path
    if not zipfile.is_zipfile(path):
        raise BadInput(f"{path} is neither a data folder of PocketBase nor a ZIP of one")
    folder = Path(mkdtemp(prefix="auth-collections-import-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with zipfile.ZipFile(path) as archive:
        members = [
            each for each in archive.infolist() if each.filename == DATABASE or each.filename.startswith("storage/")
        ]
        if sum(each.file_size for each in members) > MAX_IMPORT_ARCHIVE:
            raise BadInput(f"{path} has more than {int(MAX_IMPORT_ARCHIVE):,} bytes")
        for member in members:
            _extract(archive, member, folder)
    return folder


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    """Raises BadInput for a member that leads elsewhere, or that is a bomb."""
    parts = Path(member.filename).parts
    if ".." in parts or Path(member.filename).is_absolute() or "\\" in member.filename:
        raise BadInput(f"The archive has a member that leads out of it: {member.filename[:100]}")
    if member.file_size > MAX_BACKUP_RATIO * max(member.compress_size, 1_048_576):
        raise BadInput(f"The archive has a member of a suspicious ratio: {member.filename[:100]}")
    target = folder.joinpath(*parts)
    if member.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _name(name: str) -> str:
    return "users_docs" if name == "users" else name.lower()


def _read_collection(row: sqlite3.Row, names: Mapping[str, str]) -> PocketCollection:
    fields = [_read_field(each, names) for each in json.loads(row["fields"])]
    return PocketCollection(row["id"], row["name"], row["type"], fields, json.loads(row["indexes"] or "[]"))


def _read_field(field: Mapping[str, Any], names: Mapping[str, str]) -> PocketField:
    name, type_ = str(field["name"]), str(field["type"])
    if type_ != "relation":
        return PocketField(name, name, type_, field)
    target = names.get(str(field.get("collectionId")))
    single = int(field.get("maxSelect") or 1) <= 1
    # A reference is named after its relation.
    ours = name if not single or name.endswith("_id") else f"{name}_id"
    return PocketField(name, ours, type_, field, target)


def _is_own(field: PocketField) -> bool:
    """True for what each record here has beside its data, and for secrets."""
    return field.source == "id" or field.source in SECRETS or _is_time(field)


def _is_time(field: PocketField) -> bool:
    return field.type == "autodate" and field.source in {"created", "updated"}


def _schema(data: PocketData, collection: PocketCollection, asked: ImportSource) -> dict[str, Any]:
    unique = {match[1] for each in collection.indexes if (match := UNIQUE.fullmatch(each))}
    schema = {}
    for field in collection.fields:
        if _is_own(field):
            continue
        described = _describe(field, asked)
        if field.source in unique and described["type"] in {"string", "integer", "number", "reference"}:
            described["unique"] = True
        if field.options.get("required") and field.type != "file" and not _may_lack(data, collection, field):
            described["required"] = True
        if field.name != field.source:
            asked.lose(_name(collection.name), field.name, "renamed", field.source)
        schema[field.name] = described
    return schema


def _may_lack(data: PocketData, collection: PocketCollection, field: PocketField) -> bool:
    return field.type in ABSENT and data.count_unset(collection.name, field.source) > 0


def _describe(field: PocketField, asked: ImportSource) -> dict[str, Any]:
    if field.type in TEXTS:
        return {"type": "string"}
    if field.type == "number":
        return {"type": "integer" if field.options.get("onlyInt") else "number"}
    if field.type == "select":
        return _many(field, {"type": "string", "enum": list(field.options.get("values") or [])})
    if field.type == "relation" and field.target is not None:
        target = "users" if field.target == asked.users else _name(field.target)
        return {"type": "reference", "collection": target} if not field.is_many else _many(field, {"type": "string"})
    if field.type == "file":
        return _many(field, {"type": "file"})
    return {"type": TYPES.get(field.type, "any")}


def _many(field: PocketField, one: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": one} if field.is_many else one


def _read_records(
    data: PocketData, collection: PocketCollection, asked: ImportSource, _: Fields | None = None
) -> Iterator[SourceRecord]:
    for number, row in enumerate(data.records(collection.name), 1):
        yield _record(data, collection, number, row, asked)


def _record(
    data: PocketData,
    collection: PocketCollection,
    number: int,
    row: sqlite3.Row,
    asked: ImportSource,
    own: frozenset[str] = frozenset(),
) -> SourceRecord:
    fields = [field for field in collection.fields if not _is_own(field) and field.source not in own]
    values = {field.name: value for field in fields if (value := _value(field, row[field.source], asked)) is not None}
    files = {field.name: values.pop(field.name) for field in fields if field.type == "file" and field.name in values}
    target, id_ = _name(collection.name), str(row["id"])
    return SourceRecord(
        number,
        keep_id("pocketbase", target, id_),
        values,
        _time(collection, row, "created"),
        _time(collection, row, "updated"),
        files={name: _paths(data, collection, id_, names) for name, names in files.items()},
        size=sum(len(str(value)) for value in values.values()),
    )


def _paths(data: PocketData, collection: PocketCollection, id_: str, names: str | list[str]) -> list[Path]:
    listed = names if isinstance(names, list) else [names]
    return [path for each in listed if (path := data.file(collection.id, id_, str(each))) is not None]


def _value(field: PocketField, stored: Any, asked: ImportSource) -> Any:
    """The value here; None where the field is unset."""
    if stored is None or (field.type in ABSENT and stored in {"", "[]"}):
        return None
    match field.type:
        case "bool":
            return bool(stored)
        case "number":
            return int(stored) if field.options.get("onlyInt") else stored
        case "date" | "autodate":
            return str(stored).replace(" ", "T")
        case "json" | "geoPoint":
            return _json(stored)
        case "select" | "file" | "relation" if field.is_many:
            found = _json(stored)
            return [_id(field, each, asked) for each in found] if isinstance(found, list) else None
    return _id(field, str(stored), asked)


def _id(field: PocketField, text: str, asked: ImportSource) -> str:
    """An id that a relation names is mended as the record's own."""
    if field.type != "relation" or field.target is None:
        return text
    return keep_id("pocketbase", "users" if field.target == asked.users else _name(field.target), text)


def _json(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str | bytes) else text
    except (ValueError, RecursionError):
        return str(text)


def _time(collection: PocketCollection, row: sqlite3.Row, name: str) -> Any:
    """The time in an autodate of that name, where the collection has one."""
    if not any(_is_time(field) and field.source == name for field in collection.fields):
        return None
    try:
        return read_time(str(row[name]).replace(" ", "T"))
    except BadValue:
        return None


def _read_users(data: PocketData, collection: PocketCollection, asked: ImportSource) -> Iterator[SourceUser]:
    for number, row in enumerate(data.records(collection.name), 1):
        record = _record(data, collection, number, row, asked, frozenset(ACCOUNT))
        for name in record.files:
            asked.lose("users", name, "file", str(row["id"]))
        yield SourceUser(
            SourceRecord(number, record.id, record.data, record.created_at, record.updated_at, size=record.size),
            row["email"] or None,
            row["password"] or None,
            {"email_verified": bool(row["verified"])},
            _identities(data, collection, row["id"], asked),
        )


def _identities(data: PocketData, collection: PocketCollection, id_: str, asked: ImportSource) -> list[SourceIdentity]:
    query = "SELECT provider, providerId FROM _externalAuths WHERE collectionRef = ? AND recordRef = ?"
    found = []
    for row in data.rows(query, collection.id, id_):
        if (issuer := ISSUERS.get(row["provider"])) is None:
            asked.lose("users", "identities", "provider", row["provider"])
        else:
            found.append(SourceIdentity(issuer, row["providerId"], row["provider"]))
    return found

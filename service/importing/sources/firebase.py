"""Firebase: users of `firebase auth:export --format=json`, and documents of Firestore as lines of its REST `Document`.

The forms: firebase.google.com/docs/cli/auth and cloud.google.com/firestore/docs/reference/rest/v1/Value.
"""

import hashlib
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from service.bounds import MAX_IMPORT_JSON
from service.errors import Invalid, Violation
from service.importing.records import Inventory, SourceCollection, SourceIdentity, SourceRecord, SourceUser, keep_id
from service.importing.sources import BadInput, ImportSource
from service.importing.sources.lines import read_json_lines
from service.importing.values import TimeText
from service.schema.fields import Fields
from service.schema.inference import name_columns
from service.schema.lines import TextLine
from service.schema.strict_json import loads
from service.schema.values import BadValue, read_time, write_time

# The issuers of identities here, by Firebase's names of providers.
ISSUERS = {
    "google.com": ("https://accounts.google.com", "google"),
    "apple.com": ("https://appleid.apple.com", "apple"),
    "github.com": ("https://github.com/login/oauth", "github"),
}
PASSWORD = "password"  # noqa: S105 - the name of a provider
LISTED = {"phone", "anonymous"}
CONFIG = re.compile(r"(base64_signer_key|base64_salt_separator|rounds|mem_cost):\s*([A-Za-z0-9+/=_-]+)")
DOCUMENT = re.compile(r"projects/[^/]+/databases/[^/]+/documents/(.+)")
MAX_DEPTH = 100

Row = Mapping[str, Any]


def open_firebase(asked: ImportSource) -> Inventory:
    """Raises BadInput."""
    exports = [path for path in asked.inputs if _is_export(path)]
    documents = [path for path in asked.inputs if path not in exports]
    if len(exports) > 1:
        raise BadInput("One export of users is imported at a time")
    config, keys = _read_config(asked.hash_config)
    users = partial(_read_users, exports[0], config, asked) if exports else None
    names: dict[str, None] = {}
    for path in documents:
        for _, row in read_json_lines(path):
            if isinstance(row, Mapping) and (place := _place(row)) is not None:
                names.setdefault(place[0])
    if documents and not names:
        raise BadInput(f"{documents[0]} is neither an export of users nor lines of documents of Firestore")
    collections = [SourceCollection(name, None, partial(_read_documents, documents, name, asked)) for name in names]
    return Inventory(collections, users, signer_keys=keys)


def _is_export(path: Path) -> bool:
    """True for one JSON object with `users`, which may be long; a line of a document begins otherwise."""
    with path.open("rb") as file:
        return re.match(rb'\s*\{\s*"users"\s*:', file.read(1_000)) is not None


def _read_config(path: Path | None) -> tuple[str | None, Mapping[str, bytes]]:
    """The begin of each hash, and the signer key by its name. Raises BadInput."""
    if path is None:
        return None, {}
    found = dict(CONFIG.findall(path.read_text()))
    try:
        signer = b64decode(found["base64_signer_key"])
        begin = f"$fbscrypt$v=1,n={int(found['mem_cost'])},r={int(found['rounds'])},p=1"
        name = f"fb_{hashlib.sha256(signer).hexdigest()[:8]}"
        return f"{begin},ss={found['base64_salt_separator']},k={name}", {name: signer}
    except (KeyError, ValueError):
        raise BadInput(
            f"{path} is not the hash configuration of Firebase: copy the text that its console shows"
        ) from None


def _read_users(path: Path, begin: str | None, asked: ImportSource) -> Iterator[SourceUser]:
    """Raises BadInput."""
    if path.stat().st_size > MAX_IMPORT_JSON:
        raise BadInput(f"{path} has more than {int(MAX_IMPORT_JSON):,} bytes")
    try:
        users = loads(path.read_bytes())["users"]
    except (Invalid, TypeError, KeyError):
        raise BadInput(f"{path} is no export of users of Firebase") from None
    for number, row in enumerate(users, 1):
        yield _user(number, row, begin, asked)


def _user(number: int, row: Any, begin: str | None, asked: ImportSource) -> SourceUser:
    if not isinstance(row, Mapping) or not isinstance(row.get("localId"), str):
        return SourceUser(
            SourceRecord(number, faults=[Violation((), "The user has no localId", "missing")], text=str(row))
        )
    data = {ours: row[theirs] for ours, theirs in (("name", "displayName"), ("picture", "photoUrl")) if row.get(theirs)}
    if row.get("phoneNumber"):
        data["phone"] = row["phoneNumber"]
    account: dict[str, Any] = {"email_verified": bool(row.get("emailVerified")), "disabled": bool(row.get("disabled"))}
    if claims := _claims(row.get("customAttributes")):
        account["claims"] = claims
    record = SourceRecord(
        number, keep_id("firebase", "users", row["localId"]), data, _from_ms(row.get("createdAt")), size=len(str(row))
    )
    return SourceUser(
        record,
        row.get("email"),
        _hash(row, begin),
        account,
        _identities(row, asked),
        lost_factors=bool(row.get("mfaInfo")),
    )


def _hash(row: Row, begin: str | None) -> str | None:
    """Without the configuration a hash is of a kind that nothing here verifies."""
    if not row.get("passwordHash"):
        return None
    salt, hashed = (str(row.get(name, "")).replace("-", "+").replace("_", "/") for name in ("salt", "passwordHash"))
    return f"{begin}${salt}${hashed}" if begin else "firebase"


def _claims(text: Any) -> Any:
    try:
        return loads(text.encode()) if isinstance(text, str) else None
    except Invalid:
        return None


def _from_ms(text: Any) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(text) / 1000, UTC).replace(tzinfo=None)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _identities(row: Row, asked: ImportSource) -> list[SourceIdentity]:
    found = []
    for each in row.get("providerUserInfo") or ():
        provider = str(each.get("providerId"))
        if provider in ISSUERS and each.get("rawId"):
            issuer, name = ISSUERS[provider]
            found.append(SourceIdentity(issuer, str(each["rawId"]), name, each.get("email")))
        elif provider != PASSWORD:
            asked.lose("users", "identities", "provider", provider)
    return found


def _place(row: Row) -> tuple[str, str, dict[str, str]] | None:
    """The collection here, the document's id, and the ids of the documents above it; None for no document."""
    match = DOCUMENT.fullmatch(str(row.get("name")))
    parts = match[1].split("/") if match else []
    if not parts or len(parts) % 2:
        return None
    collections, ids = name_columns(parts[::2]), parts[1::2]
    above = {f"{name}_id": id_ for name, id_ in zip(collections[:-1], ids[:-1], strict=True)}
    target = "__".join(collections).lower()
    # Ids of two documents with different ones above them may be the same.
    return target, keep_id("firebase", target, "~".join(ids)), above


def _read_documents(
    paths: list[Path], wanted: str, asked: ImportSource, _: Fields | None = None
) -> Iterator[SourceRecord]:
    for path in paths:
        for line, row in read_json_lines(path):
            if isinstance(row, list):
                text = (line.raw or b"")[:4_000].decode("utf-8", "replace")
                yield SourceRecord(line.number, faults=row, text=text)
            elif (place := _place(row)) is not None and place[0] == wanted:
                yield _document(line, row, place, asked)


def _document(line: TextLine, row: Row, place: tuple[str, str, dict[str, str]], asked: ImportSource) -> SourceRecord:
    target, id_, above = place
    fields = row.get("fields") or {}
    names = dict(zip(fields, name_columns(list(fields)), strict=True))
    for name, ours in names.items():
        if name != ours:
            asked.lose(target, ours, "name", name)
    data = {names[name]: _value(value, 1) for name, value in fields.items()} | above
    created, updated = _moment(row.get("createTime")), _moment(row.get("updateTime"))
    return SourceRecord(line.number, id_, data, created, updated, size=len(line.raw or b""))


def _value(value: Any, depth: int) -> Any:
    """A `Value` of Firestore as a value here."""
    if not isinstance(value, Mapping) or depth > MAX_DEPTH:
        return None
    match value:
        case {"integerValue": number}:
            return int(number)
        case {"timestampValue": str(text)}:
            moment = _moment(text)
            return text if moment is None else TimeText(write_time(moment))
        case {"referenceValue": str(name)}:
            return place[1] if (place := _place({"name": name})) is not None else name
        case {"mapValue": inner}:
            fields = inner.get("fields") or {}
            names = name_columns(list(fields))
            return {name: _value(each, depth + 1) for name, each in zip(names, fields.values(), strict=True)}
        case {"arrayValue": inner}:
            return [_value(each, depth + 1) for each in inner.get("values") or ()]
        case {"geoPointValue": point}:
            return dict(point)
    return next(iter(value.values()), None)


def _moment(text: Any) -> datetime | None:
    try:
        return read_time(text) if isinstance(text, str) else None
    except BadValue:
        return None

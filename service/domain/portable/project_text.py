"""The project's own record as a member of a backup. Secrets in it are sealed by SECRET_KEY, as they are stored."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from service.bounds import MAX_KEYS, MAX_SIGNING_KEYS
from service.domain.portable.manifest import PROJECT, Digest
from service.domain.projects.admin import MAX_NAME
from service.domain.projects.lookup import PROJECT_ID
from service.errors import BackupDamaged
from service.schema.values import write_time
from service.storage.client import Document

# The fields of a stored project that describe it; the others are about its keeping here.
FIELDS = ("name", "created_at", "settings", "providers")
SIGNING = ("signing_key", "next_signing_key", "previous_signing_keys")
# Without them no imported password of Firebase can be checked.
IMPORTED = ("signer_keys",)


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class ProviderText(_Part):
    preset: str
    settings: dict[str, Any]
    created_at: str


class KeyText(_Part):
    sha256: Digest
    created_at: str
    kind: str | None = None
    name: str | None = None
    last_used_at: str | None = None


class SigningKeyText(_Part):
    """A key that will sign, with the time of its publication, or one that did, with the end of its last token."""

    sealed: str
    published_at: str | None = None
    until: str | None = None


class ProjectText(_Part):
    """A backup's project: secrets are sealed, and keys are hashes."""

    id: Annotated[str, StringConstraints(pattern=f"^{PROJECT_ID.pattern}$")]
    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
    created_at: str
    settings: dict[str, Any]
    signing_key: str | None = None
    next_signing_key: SigningKeyText | None = None
    previous_signing_keys: Annotated[list[SigningKeyText], Field(max_length=MAX_SIGNING_KEYS)] = Field(
        default_factory=list
    )
    signer_keys: dict[str, str] = Field(default_factory=dict)
    providers: dict[str, ProviderText] = Field(default_factory=dict)
    keys: Annotated[list[KeyText], Field(max_length=MAX_KEYS)]


def read_project(data: bytes) -> ProjectText:
    """Raises BackupDamaged."""
    try:
        return TypeAdapter(ProjectText).validate_json(data)
    except ValidationError as error:
        place = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
        raise BackupDamaged(f"{PROJECT} has another form than a backup's, at {place}") from None


def write_project(record: Document, keys: Iterable[Document]) -> bytes:
    """The JSON of a stored project and of its API keys, which are there as SHA-256."""
    text = {
        "id": record["_id"],
        **{name: record[name] for name in (*FIELDS, *SIGNING, *IMPORTED) if name in record},
        "webhooks": [],
        "keys": [_write_key(key) for key in keys],
    }
    return orjson.dumps(_write(text), option=orjson.OPT_INDENT_2)


def _write_key(key: Document) -> dict[str, Any]:
    named = {name: value for name, value in key.items() if name not in {"_id", "project_id"}}
    return {"sha256": key["_id"], **named}


def _write(value: Any) -> Any:
    """The same with times as text."""
    if isinstance(value, dict):
        return {name: _write(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_write(inner) for inner in value]
    return write_time(value) if isinstance(value, datetime) else value

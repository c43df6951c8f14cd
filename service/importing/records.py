"""Records as each source gives them: their ids, times and data, in JSON values as a client of the API sends them. Pure."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from service.errors import DuplicateValue, Invalid, ServiceError, Violation
from service.schema.fields import Fields

# Other ids are replaced by a digest of the source's.
KEPT_ID = re.compile(r"[A-Za-z0-9._~-]{1,128}")
DIGITS = 24
TWICE = Violation(("id",), "Another record of the source has this id", "repeated")


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One record. `line` is where it stands: a physical line, or an ordinal; `size` is in bytes.

    A record that cannot be read has `faults`, and its beginning as `text`. `files` are paths of the fields' files.
    """

    line: int
    id: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    files: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    faults: Sequence[Violation] = ()
    text: str | None = None
    size: int = 0


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """A person at a provider, by the provider's issuer."""

    issuer: str
    subject: str
    provider: str
    email: str | None = None


@dataclass(frozen=True, slots=True)
class SourceUser:
    """One user. `account` has the fields beside `data` that the source names: disabled, email_verified, roles, claims.

    `lost_factors` is true where the source has second factors and does not give them out.
    """

    record: SourceRecord
    email: str | None = None
    password_hash: str | None = None
    account: Mapping[str, Any] = field(default_factory=dict)
    identities: Sequence[SourceIdentity] = ()
    lost_factors: bool = False


@dataclass(frozen=True, slots=True)
class SourceCollection:
    """A collection. `schema` is the source's own, and None where it has none.

    `read` begins from the first record; it is given the fields that the records are for, once they are known.
    """

    name: str
    schema: Mapping[str, Any] | None
    read: Callable[[Fields | None], Iterator[SourceRecord]]


@dataclass(frozen=True, slots=True)
class Inventory:
    """The content of a source. `listed` names what it has beside records, and what is not imported."""

    collections: Sequence[SourceCollection] = ()
    users: Callable[[], Iterator[SourceUser]] | None = None
    listed: Sequence[str] = ()
    # Signer keys of Firebase, by name.
    signer_keys: Mapping[str, bytes] = field(default_factory=dict)


def keep_id(source: str, collection: str, id_: str) -> str:
    """The id of a record here: the source's, or a digest of it, the same in every run, where it may not stand in a URL."""
    if KEPT_ID.fullmatch(id_) and id_ not in {".", ".."}:
        return id_
    return hashlib.sha256("\0".join((source, collection, id_)).encode()).hexdigest()[:DIGITS]


def describe_refusal(error: Exception) -> Sequence[Violation]:
    """The error of a write, as the violations of a record."""
    if isinstance(error, Invalid):
        return [replace(each, loc=each.loc[1:]) for each in error.violations]
    detail, code = (error.detail, error.code) if isinstance(error, ServiceError) else (str(error), "file")
    place = tuple(error.fields[0].split(".")) if isinstance(error, DuplicateValue) else ()
    return [Violation(place, detail, code)]

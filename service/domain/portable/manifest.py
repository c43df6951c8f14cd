"""The texts of a backup: its header, its manifest, which comes last, and the names of its members. Pure."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from service.errors import BackupDamaged, BackupTooNew

FORMAT_VERSION = 1
HEADER, PROJECT, MANIFEST = "header.json", "project.json", "manifest.json"
PART = re.compile(r"p/([A-Za-z](?:[A-Za-z0-9_-]|\.(?=files|chunks)){0,62})\.(?:bson|metadata\.json)\.gz")
Count = Annotated[int, Field(ge=0)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

T = TypeVar("T")


class _Text(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Header(_Text):
    """The first member, which is never encrypted."""

    format: Literal["auth-collections/backup"] = "auth-collections/backup"
    format_version: int = FORMAT_VERSION
    encrypted: bool = False
    created_at: str


class ClusterTime(_Text):
    """MongoDB's logical clock: seconds since 1970, and the number of the operation within them."""

    t: Count
    i: Count


class MemberDigest(_Text):
    """The uncompressed bytes of a member; `documents` where it is BSON."""

    sha256: Digest
    bytes: Count
    documents: Count | None = None


class Manifest(_Text):
    """The last member. `members` has all others, `counts` the documents of each part."""

    project_id: str
    at: ClusterTime
    taken_at: str
    consistency: Literal["snapshot", "corrected"]
    service_version: str
    project_version: Count
    mongodb_version: str
    counts: Mapping[str, Count]
    members: Mapping[str, MemberDigest]
    left_out: list[str]
    warnings: list[str]

    @property
    def documents(self) -> int:
        """The documents of the backup, without the chunks of files."""
        return sum(count for part, count in self.counts.items() if part != "files.chunks")

    @property
    def files(self) -> int:
        return self.counts.get("files.files", 0)

    def content(self) -> dict[str, MemberDigest]:
        """The members with the project's records: two backups with the same ones hold the same records."""
        return {name: digest for name, digest in self.members.items() if is_records(name)}


def write_text(text: _Text) -> bytes:
    return orjson.dumps(text.model_dump(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def read_header(data: bytes) -> Header:
    """Raises BackupDamaged, BackupTooNew."""
    version = _read(HEADER, TypeAdapter(dict[str, object]), data).get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise BackupTooNew(f"the backup has format {version}; this version reads formats up to {FORMAT_VERSION}")
    return _read(HEADER, TypeAdapter(Header), data)


def read_manifest(data: bytes) -> Manifest:
    """Raises BackupDamaged."""
    return _read(MANIFEST, TypeAdapter(Manifest), data)


def _read(name: str, form: TypeAdapter[T], data: bytes) -> T:
    try:
        return form.validate_json(data)
    except ValidationError as error:
        place = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
        raise BackupDamaged(f"{name} has another form than a backup's{f', at {place}' if place else ''}") from None


def records_name(collection: str) -> str:
    """The member with the documents of a MongoDB collection."""
    return f"p/{collection}.bson.gz"


def metadata_name(collection: str) -> str:
    """The member with the options and indexes of a MongoDB collection, for `mongorestore`."""
    return f"p/{collection}.metadata.json.gz"


def is_records(name: str) -> bool:
    return name.endswith(".bson.gz")


def is_member_name(name: str) -> bool:
    """True for a name that a member of a backup may have."""
    return name in {HEADER, PROJECT, MANIFEST} or PART.fullmatch(name) is not None

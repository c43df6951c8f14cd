"""The files of a form: its parts as they arrive, and the fields of a record that take them."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from service.bounds import MAX_FILE_BYTES
from service.domain.files.types import FILE_TYPES
from service.errors import Invalid, Violation
from service.schema.fields import Field, Fields
from service.schema.strict_json import shown
from service.schema.values import Kind, check_name

# Names beside `data` in a record; a file of such a name would hide the meaning of the name in `data`.
RESERVED = frozenset({"id", "email", "password", "created_at", "updated_at", "oauth_id"})


@dataclass(frozen=True, slots=True)
class FileRule:
    """The files of one field: their extensions, their bytes, and whether there may be several."""

    types: Sequence[str] = tuple(FILE_TYPES)
    max_bytes: int = MAX_FILE_BYTES
    several: bool = False


class FileFields(Protocol):
    """The fields of one kind of record. `collection` is the declared one that it is a document of, or empty."""

    @property
    def collection(self) -> str: ...

    def rule(self, name: str) -> FileRule:
        """Raises Invalid where a field of this name takes no file."""


@dataclass(frozen=True, slots=True)
class UserFields:
    """The fields of users: those that their schema declares as files, and if it takes `additional` ones, any other."""

    fields: Fields = field(default_factory=dict)
    additional: bool = True
    collection: str = ""

    def rule(self, name: str) -> FileRule:
        if violation := next(_violations(name), None):
            raise Invalid([violation])
        declared = self.fields.get(name)
        if declared is None and self.additional:
            return ANY_FILE
        return _declared_rule(declared, name)


ANY_FILE = FileRule()
USER_FIELDS = UserFields()


def _violations(name: str) -> Iterator[Violation]:
    if name in RESERVED:
        yield Violation(("body", name), f"{name} cannot be a file", "reserved")
    elif problem := check_name(name):
        yield Violation(("body", shown(name)[1:-1]), problem, "field_name")


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """The fields of a collection's documents, as it declares them."""

    collection: str
    fields: Fields

    def rule(self, name: str) -> FileRule:
        return _declared_rule(self.fields.get(name), name)


def _declared_rule(declared: Field | None, name: str) -> FileRule:
    """Raises Invalid where the definition is of no file."""
    found = declared and (declared.items or declared)
    if declared is None or not found or found.kind is not Kind.FILE:
        msg = "The schema declares no file of this name"
        raise Invalid.one(("body", shown(name)[1:-1]), msg, type_="extra_forbidden")
    return FileRule(found.types, found.max_bytes, declared.kind is Kind.ARRAY)


@dataclass(frozen=True, slots=True)
class DataPart:
    """The JSON object of the part `data`."""

    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file for the field `field`; `content` gives its bytes once, as the client sends them."""

    field: str
    file_name: str
    content: AsyncIterator[bytes]


FormPart = DataPart | FilePart
FormParts = AsyncIterator[FormPart]

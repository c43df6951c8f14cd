"""The declared profile of a project's users, in the form in which requests use it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from service.schema.fields import USERS, Fields, files_of
from service.schema.indexes import Index, indexes
from service.schema.json_schema import profile_validator
from service.schema.patterns import patterned
from service.schema.profiles import build_profile
from service.schema.values import Kind

# The version of a profile that was never declared.
NEVER = "0"


@dataclass(frozen=True, slots=True)
class DeclaredProfile:
    """The schema as it was declared, and its fields as users keep them; by default nothing is declared.

    Profiles take other fields if `additional`. `updated_at` is None where no schema was ever declared. `version` tells
    one declaration from every other.
    """

    schema: Mapping[str, Any] = field(default_factory=dict)
    additional: bool = True
    updated_at: datetime | None = None
    version: str = NEVER
    fields: Fields = field(default_factory=dict)
    name: str = USERS

    @property
    def etag(self) -> str:
        return f'"{self.version}"'

    @property
    def is_free(self) -> bool:
        """True if it declares nothing, so that every profile fits."""
        return self.additional and not self.fields

    @property
    def validator(self) -> dict[str, Any]:
        """The one that MongoDB judges users by."""
        return profile_validator(self.fields, additional=self.additional)

    @property
    def indexes(self) -> list[Index]:
        return indexes(self.fields)

    @property
    def patterned(self) -> Fields:
        return patterned(self.fields)

    @property
    def files(self) -> Fields:
        return files_of(self.fields)

    @property
    def references(self) -> list[str]:
        """The fields that hold ids of users."""
        return [name for name, each in self.fields.items() if each.kind is Kind.REFERENCE]


NOTHING = DeclaredProfile()


def make_profile(schema: Mapping[str, Any], *, additional: bool, **record: Any) -> DeclaredProfile:
    """The profile of a schema that was checked before."""
    fields = build_profile(schema, additional=additional)
    return DeclaredProfile(schema=schema, additional=additional, fields=fields, **record)


def read_profile(record: Mapping[str, Any] | None) -> DeclaredProfile:
    """The profile of a stored definition, if there is one."""
    if record is None or "version" not in record:
        return NOTHING
    kept = {"updated_at": record["updated_at"], "version": record["version"]}
    return make_profile(record["schema"], additional=record["additional"], **kept)

"""The indexes a schema asks for, by name: for unique fields, for lookups, for sorting."""

from dataclasses import dataclass

from service.schema.fields import Field, Fields
from service.schema.json_schema import BSON_TYPES
from service.schema.values import Kind


@dataclass(frozen=True, slots=True)
class Index:
    """An index on `data.<field>`. A unique one holds only values of `types`, so that null and absence never clash.

    The name determines the index: one with another meaning has another name.
    """

    name: str
    field: str
    types: tuple[str, ...] = ()

    @property
    def unique(self) -> bool:
        return bool(self.types)


def indexes(fields: Fields) -> list[Index]:
    """All indexes that `fields` ask for; every reference has one."""
    return [index for name, field in fields.items() for index in _of(name, field)]


def _of(name: str, field: Field) -> list[Index]:
    found = []
    if field.unique:
        found.append(Index(f"unique {field.kind.value} {name}", name, BSON_TYPES[field.kind]))
    if field.index or field.kind is Kind.REFERENCE:
        found.append(Index(f"index {name}", name))
    return found

"""The indexes a definition asks for, by name: for unique fields, for lookups, for sorting."""

import json
from dataclasses import dataclass

from service.bounds import MAX_INDEXES
from service.errors import Violation
from service.schema.collection_options import (
    NO_OPTIONS,
    RECORD_TIMES,
    CollectionOptions,
    Names,
    canonical,
    check_compounds,
    read_key,
)
from service.schema.fields import LOC, Field, Fields, target_of
from service.schema.json_schema import BSON_TYPES


@dataclass(frozen=True, slots=True)
class IndexKey:
    """A key of an index: the dotted path, with its direction. A unique index holds only values of `types`."""

    path: str
    descending: bool = False
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Index:
    """An index on `fields` of `data`, or on times of the record.

    A unique one holds only documents whose values are all of their types, so that null and absence never clash. The name
    determines the index: one with another meaning has another name.
    """

    name: str
    keys: tuple[IndexKey, ...]

    @property
    def unique(self) -> bool:
        return bool(self.keys[0].types)

    @property
    def fields(self) -> Names:
        """The names of the fields, as they stand in `data`."""
        return tuple(key.path.removeprefix("data.") for key in self.keys)


def indexes(fields: Fields, options: CollectionOptions = NO_OPTIONS) -> list[Index]:
    """All indexes that a definition asks for; every reference has one. Compounds name declared fields only."""
    single = [index for name, field in fields.items() for index in _of(name, field)]
    together = [_unique([(name, fields[name]) for name in names]) for names in options.unique]
    return [*single, *together, *(_compound(canonical(keys)) for keys in options.indexes)]


def check_indexes(fields: Fields, options: CollectionOptions) -> list[Violation]:
    """All that is wrong with the compounds of a definition, or that its indexes are too many."""
    found = list(check_compounds(options, fields))
    if not found and len(indexes(fields, options)) > MAX_INDEXES:
        msg = f"At most {MAX_INDEXES} indexes: one for each index or reference, unique field and compound"
        found.append(Violation(LOC, msg, "too_long"))
    return found


def _of(name: str, field: Field) -> list[Index]:
    found = []
    if field.unique:
        key = IndexKey(f"data.{name}", types=BSON_TYPES[field.kind])
        found.append(Index(f"unique {field.kind.value} {name}", (key,)))
    if field.index or target_of(field) is not None:
        found.append(Index(f"index {name}", (IndexKey(f"data.{name}"),)))
    return found


def _unique(fields: list[tuple[str, Field]]) -> Index:
    kinds = [[field.kind.value, name] for name, field in fields]
    keys = tuple(IndexKey(f"data.{name}", types=BSON_TYPES[field.kind]) for name, field in fields)
    return Index(f"compound unique {json.dumps(kinds, ensure_ascii=False)}", keys)


def _compound(keys: Names) -> Index:
    found = tuple(IndexKey(_record_path(name), is_descending) for name, is_descending in map(read_key, keys))
    return Index(f"compound {json.dumps(keys, ensure_ascii=False)}", found)


def _record_path(name: str) -> str:
    """As in queries, a declared field hides none of the record's own."""
    return name if name in RECORD_TIMES else f"data.{name}"

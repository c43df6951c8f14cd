"""A row → the fields of a record: mapped names, and cells of text read as their types. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from service.errors import Invalid
from service.schema.csv_text import read_cell, type_of
from service.schema.values import Kind
from service.seeding.manifest import Source

ABSENT = object()


class BadCell(ValueError):
    """A row that cannot be read; the message names the field and says what to change."""


def fields_of(row: Mapping[str, Any], source: Source, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The record's fields. `kinds` are the declared types of a collection, which the `types` of the source override.

    Cells of CSV files are converted, an empty one is an absent field. JSON says itself what it means, unless `types`
    says otherwise. Raises BadCell.
    """
    taken = {name: _at(row, path) for name, path in source.fields.items()} if source.fields else dict(row)
    present = {name: value for name, value in taken.items() if value is not ABSENT}
    if source.file is not None and source.file.suffix == ".csv":
        types = {name: type_of(kind) for name, kind in kinds.items()} | source.types
        return {name: _read(name, value, types.get(name, "string")) for name, value in present.items() if value != ""}
    named = {name: _read(name, _text(present[name]), type_) for name, type_ in source.types.items() if name in present}
    return present | {name: value for name, value in named.items() if present[name] is not None}


def _at(row: Mapping[str, Any], path: str) -> Any:
    """The value at a column of that very name, else at a dotted path."""
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return ABSENT
        value = value[part]
    return value


def _read(name: str, text: str, type_: str) -> Any:
    try:
        return read_cell(text, type_)
    except (ValueError, KeyError, Invalid):
        raise BadCell(f"{name}: {json.dumps(text[:40], ensure_ascii=False)} is not {type_}") from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)

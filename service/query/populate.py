"""Puts the related records that a lookup brought under their names in `data`."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.query.nodes import EVERY_RELATION, Expansion
from service.query.pipeline import related_key

Record = dict[str, Any]


def attach(record: Record, expansions: Sequence[Expansion]) -> Record:
    """`record` with `data.<name>` beside each `data.<name>_id`: the related record, None where it is gone.

    An array of ids gives an array. `*` fills in only what was found, for not every `_id` field is a relation.
    """
    for number, expansion in enumerate(expansions):
        found = {row["_id"]: _shown(row, expansion) for row in record.pop(related_key(number))}
        _fill(record["data"], expansion.name, found)
    return record


def _shown(row: Record, expansion: Expansion) -> Record:
    attach(row, expansion.inner)
    return {"id": row["_id"], **{name: row.get(name) for name in expansion.fields}}


def _fill(data: Record, name: str, found: Mapping[str, Record]) -> None:
    if name != EVERY_RELATION:
        if f"{name}_id" in data:
            data[name] = _resolve(data[f"{name}_id"], found)
        return
    for field, value in list(data.items()):
        if field.endswith("_id") and field != "_id" and _resolves(value, found):
            data[field.removesuffix("_id")] = _resolve(value, found)


def _resolves(value: Any, found: Mapping[str, Record]) -> bool:
    if isinstance(value, list):
        return any(_resolves(item, found) for item in value)
    return _resolve(value, found) is not None


def _resolve(value: Any, found: Mapping[str, Record]) -> Any:
    if isinstance(value, list):
        return [_resolve(item, found) for item in value]
    return found.get(value) if isinstance(value, str) else None

"""The schema of a collection from all of its records, in flat memory: a type is taken when each value has it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service.bounds import MAX_FIELDS
from service.importing.values import TimeText
from service.schema.inference import DATETIME, INTEGER, NUMBER, STRING, type_of_value

ARRAY, ANY = "array", "any"


@dataclass(slots=True)
class _Field:
    types: set[str] = field(default_factory=set)
    items: set[str] = field(default_factory=set)
    seen: int = 0
    has_null: bool = False


class Inference:
    """The fields of records that were seen. Texts that look like times stay texts, unless `detects_dates`."""

    def __init__(self, *, detects_dates: bool = False) -> None:
        self._detects_dates = detects_dates
        self._fields: dict[str, _Field] = {}
        self._records = 0

    def see(self, data: Mapping[str, Any]) -> None:
        self._records += 1
        for name, value in data.items():
            if name not in self._fields and len(self._fields) >= MAX_FIELDS:
                continue
            found = self._fields.setdefault(name, _Field())
            found.seen += 1
            if value is None:
                found.has_null = True
                continue
            found.types.add(self._type(value))
            if isinstance(value, list):
                found.items |= {self._type(each) if each is not None else ANY for each in value}

    def schema(self) -> dict[str, Any]:
        """The body of `schema` of POST /api/collections."""
        return {name: self._describe(found) for name, found in self._fields.items()}

    def _describe(self, found: _Field) -> dict[str, Any]:
        type_ = _narrowest(found.types)
        described: dict[str, Any] = {"type": type_}
        if type_ == ARRAY and found.items and (items := _narrowest(found.items)) not in {ANY, ARRAY}:
            described["items"] = {"type": items}
        if found.seen == self._records and not found.has_null:
            described["required"] = True
        if found.has_null and type_ != ANY:
            described["nullable"] = True
        return described

    def _type(self, value: Any) -> str:
        if isinstance(value, TimeText):
            return DATETIME
        type_ = type_of_value(value)
        return STRING if type_ == DATETIME and not self._detects_dates else type_


def _narrowest(types: set[str]) -> str:
    if len(types) == 1:
        return next(iter(types))
    if types == {INTEGER, NUMBER}:
        return NUMBER
    return STRING if types == {STRING, DATETIME} else ANY

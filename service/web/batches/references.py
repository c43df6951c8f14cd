"""`{"$id": "o"}` in an operation is the id of the document that an earlier one of the batch creates as `o`."""

from collections.abc import Mapping
from typing import Any

from service.bounds import MAX_DEPTH
from service.errors import Invalid, Location, Violation

KEY = "$id"
# The depth of `data` in an operation.
DEPTH = MAX_DEPTH + 4


class CreatedIds:
    """The ids of the documents that the operations so far create, by their names."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._ids

    def name(self, name: str, id_: str) -> None:
        self._ids[name] = id_

    def find(self, name: Any) -> str | None:
        return self._ids.get(name) if isinstance(name, str) else None


class _Resolution:
    def __init__(self, created: CreatedIds) -> None:
        self.created = created
        self.used: set[str] = set()
        self.violations: list[Violation] = []

    def visit(self, value: Any, loc: Location) -> Any:
        """`value` with ids in the place of references. The reader of `data` refuses a value nested too deeply."""
        if len(loc) > DEPTH:
            return value
        if isinstance(value, list):
            return [self.visit(each, (*loc, number)) for number, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if value.keys() == {KEY}:
            return self._find(value[KEY], (*loc, KEY))
        return {name: self.visit(each, (*loc, name)) for name, each in value.items()}

    def _find(self, name: Any, loc: Location) -> str:
        found = self.created.find(name)
        if found is None:
            msg = "No earlier operation creates a document of this name"
            self.violations.append(Violation(loc, msg, "unknown_reference"))
            return ""
        self.used.add(found)
        return found


def resolve(sent: Mapping[str, Any], created: CreatedIds) -> tuple[dict[str, Any], frozenset[str]]:
    """The operation with ids in it, and those. Raises Invalid for names that no earlier operation has."""
    resolution = _Resolution(created)
    resolved = {name: resolution.visit(value, ("body", name)) for name, value in sent.items()}
    if resolution.violations:
        raise Invalid(resolution.violations)
    return resolved, frozenset(resolution.used)

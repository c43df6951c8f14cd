"""The window of a live query: the first documents of a list, kept in the service's order while changes arrive."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import total_ordering
from typing import Any

from auth_collections_client.narrow import list_of, object_of

Row = dict[str, Any]
# Values of several types sort in this order; null and absent come first, an empty array before them.
KINDS: tuple[tuple[type | tuple[type, ...], int], ...] = ((bool, 5), ((int, float), 2), (str, 3), (dict, 4))


def rank(value: Any) -> tuple[int, Any]:
    """Returns a key that sorts as the service does: null, numbers, text by code points, objects, booleans."""
    for kind, place in KINDS:
        if isinstance(value, kind):
            return place, json.dumps(value, sort_keys=True) if place == 4 else value
    return (1, 0)


def sort_value(row: Row, name: str) -> Any:
    """Returns the value of a sort field: `title`, `created_at`, or `data.address.city`."""
    if name in {"id", "created_at", "updated_at"} or (name == "email" and "email" in row):
        return row.get(name)
    value: Any = row.get("data")
    for part in name.removeprefix("data.").split("."):
        value = object_of(value).get(part)
    return value


@total_ordering
class Reversed:
    """A key that sorts the other way."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reversed) and bool(self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: "Reversed") -> bool:
        return bool(other.key < self.key)


def order(sort_by: str | None, sort_order: str | None) -> Callable[[Row], Any]:
    """Returns the key by which rows sort; ties are broken by id, in the same direction."""
    name = sort_by or "created_at"
    descends = sort_order == "desc" or name.startswith("-")
    name = name.removeprefix("-")

    def key(row: Row) -> Any:
        value = sort_value(row, name)
        found = (_of_list(list_of(value), descends=descends) if isinstance(value, list) else rank(value), row["id"])
        return Reversed(found) if descends else found

    return key


def _of_list(values: Sequence[Any], *, descends: bool) -> tuple[int, Any]:
    """An array sorts by its least element, descending by its greatest."""
    ranks = [rank(each) for each in values]
    if not ranks:
        return (0, 0)
    return max(ranks) if descends else min(ranks)


class Window:
    """At most `limit` documents. `is_complete` says that the query finds no others."""

    def __init__(self, limit: int, key: Callable[[Row], Any]) -> None:
        self.limit = limit
        self.rows: list[Row] = []
        self.is_complete = True
        self._key = key

    def reset(self, rows: Sequence[Row], *, is_complete: bool) -> None:
        self.rows = sorted(rows, key=self._key)[: self.limit]
        self.is_complete = is_complete and len(rows) <= self.limit

    def apply(self, changes: Sequence[Mapping[str, Any]]) -> bool:
        """Applies the changes of a frame. Returns True where documents are missing, so that a new snapshot is needed."""
        changed = {_id_of(change): change.get("document") for change in changes}
        kept = [row for row in self.rows if row["id"] not in changed]
        entered = [row for row in changed.values() if row is not None]
        if not self.is_complete:
            # Past the last one there may be documents that this window never saw.
            last = self._key(self.rows[-1]) if self.rows else None
            entered = [row for row in entered if last is not None and self._key(row) <= last]
        rows = sorted([*kept, *entered], key=self._key)
        self.is_complete = self.is_complete and len(rows) <= self.limit
        self.rows = rows[: self.limit]
        return len(self.rows) < self.limit and not self.is_complete


def _id_of(change: Mapping[str, Any]) -> str:
    found: str = change["document_id"] if change["op"] == "leave" else change["document"]["id"]
    return found

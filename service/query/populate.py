"""Puts the related records that came with a page under their names in `data`, and bounds how much that may be.

A record that is named a thousand times came once, and would be written a thousand times: it is the answer that is bounded,
not what came.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from service.bounds import MAX_POPULATED, MAX_POPULATED_BYTES
from service.errors import page_too_large
from service.query.commands import ROWS, related_key
from service.query.nodes import EVERY_RELATION, Expansion, View
from service.query.selection import Selection, prune
from service.query.shapes import FILES
from service.schema.steps import Steps

# Rows without conditions that are shown in one step.
PLAIN_ROWS = 100
# A record as a list reads it: `_id` and the fields asked for.
Row = dict[str, Any]
Reply = Mapping[str, list[Row]]
# Puts the URLs of a row's files where its record has their names.
ShowRow = Callable[[Row], object]
# Does that in the rows of a MongoDB collection; None if they have no files.
ShowFiles = Callable[[str], ShowRow | None]


def attach(
    reply: Reply,
    expansions: Sequence[Expansion],
    *,
    collection: str,
    show: ShowFiles,
    view: View | None = None,
    selection: Selection | None = None,
) -> Steps[list[Row]]:
    """The rows of a populated page's one document (`commands.page`), with `data.<name>` beside each `data.<name>_id`:

    the related record, None where it is gone. An array of ids gives an array, and a declared one has no None.
    `*` fills in only what was found, for not every `_id` field is a relation. A step is one record.
    Raises Invalid where too much would be attached.
    """
    rows = yield from show_rows(reply[ROWS], show=show(collection), view=view)
    sources = [row["data"] for row in rows]
    rows = select_rows(rows, selection)
    related = yield from _related(reply, expansions, "r", show=show)
    yield from _fill_all(rows, sources, related, expansions, _Attached())
    return rows


def show_rows(rows: Sequence[Row], *, show: ShowRow | None, view: View | None) -> Steps[list[Row]]:
    """The rows with the URLs of files, reduced to visible fields: a hidden id attaches nothing.

    A step is one row with a view, which judges conditions, else PLAIN_ROWS.
    """
    shown = []
    for number, row in enumerate(rows):
        if view is not None or number % PLAIN_ROWS == 0:
            yield
        # Nothing of `data` may have been asked for.
        row.setdefault("data", {})
        if show is not None:
            show(row)
        shown.append(row if view is None else view(row))
    return shown


def select_rows(rows: list[Row], selection: Selection | None) -> list[Row]:
    """The rows reduced to the selected fields."""
    if selection is None:
        return rows
    return [{**row, "data": prune(row["data"], selection)} for row in rows]


class _Attached:
    """The number of records attached to one record or page, and their bytes of JSON, each time they occur."""

    __slots__ = ("bytes", "count")

    def __init__(self, count: int = 0, size: int = 0) -> None:
        self.count = count
        self.bytes = size

    def add(self, other: "_Attached") -> None:
        self.count += other.count
        self.bytes += other.bytes
        if self.count > MAX_POPULATED or self.bytes > MAX_POPULATED_BYTES:
            raise page_too_large(
                f"More than {MAX_POPULATED} related records, or {MAX_POPULATED_BYTES} bytes of them, would be in the answer"
            )


# A related record as it is shown, and what it is together with all that is attached to it.
_Related = tuple[Row, _Attached]


def _related(
    reply: Reply, expansions: Sequence[Expansion], prefix: str, *, show: ShowFiles
) -> Steps[list[dict[str, _Related]]]:
    """The related records of each expansion by their ids, what is inside them filled in first."""
    found = []
    for number, expansion in enumerate(expansions):
        key = related_key(prefix, number)
        inner = yield from _related(reply, expansion.inner, f"{key}_", show=show)
        rows = yield from show_rows(reply[key], show=show(expansion.collection), view=expansion.view)
        shown: dict[str, _Related] = {}
        for row in rows:
            shown[row["_id"]] = yield from _shown(row, expansion, inner)
        found.append(shown)
    return found


def _shown(row: Row, expansion: Expansion, inner: Sequence[Mapping[str, _Related]]) -> Steps[_Related]:
    names = [name for name in expansion.fields if name != FILES]
    if expansion.view is not None:
        names = [name for name in names if name in row]
    shown = {"id": row["_id"], **{name: row.get(name) for name in names}}
    if expansion.selection is not None:
        shown["data"] = prune(row["data"], expansion.selection)
    attached = _Attached(1, len(orjson.dumps(shown, str)))
    yield from _fill_all([shown], [row["data"]], inner, expansion.inner, attached)
    return shown, attached


def _fill_all(
    records: Sequence[Row],
    sources: Sequence[Row],
    related: Sequence[Mapping[str, _Related]],
    expansions: Sequence[Expansion],
    attached: _Attached,
) -> Steps[None]:
    """`sources` are the `data` of the records with all their ids, which need not be shown."""
    for expansion, found in zip(expansions, related, strict=True):
        for record, source in zip(records, sources, strict=True):
            if expansion.name == EVERY_RELATION or isinstance(source.get(expansion.ids), list):
                # There may be thousands of ids in one record.
                yield
            _fill(record["data"], source, expansion, found, attached)


def _fill(data: Row, source: Row, expansion: Expansion, found: Mapping[str, _Related], attached: _Attached) -> None:
    if expansion.name != EVERY_RELATION:
        if expansion.ids in source:
            related = _resolve(source[expansion.ids], found, attached)
            data[expansion.name] = _drop_absent(related) if expansion.drops else related
        return
    for field in [field for field in source if field.endswith("_id") and field != "_id"]:
        if _resolves(source[field], found):
            data[field.removesuffix("_id")] = _resolve(source[field], found, attached)


def _drop_absent(related: Any) -> Any:
    return [each for each in related if each is not None] if isinstance(related, list) else related


def _resolves(value: Any, found: Mapping[str, _Related]) -> bool:
    if isinstance(value, list):
        return any(_resolves(item, found) for item in value)
    return isinstance(value, str) and value in found


def _resolve(value: Any, found: Mapping[str, _Related], attached: _Attached) -> Any:
    if isinstance(value, list):
        return [_resolve(item, found, attached) for item in value]
    related = found.get(value) if isinstance(value, str) else None
    if related is None:
        return None
    attached.add(related[1])
    return related[0]

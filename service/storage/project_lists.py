"""Pages of projects, as operators list them: one command for the page, one for the number of all that match."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from service.storage.client import Document
from service.storage.databases import Databases
from service.storage.records import Records
from service.storage.usage import lookup_sizes

SortBy = Literal["name", "created_at", "requests_24h", "errors_24h", "storage_bytes"]
# Orders by a figure, which a project that was not measured yet has as 0.
BY_FIGURE = frozenset({"requests_24h", "errors_24h", "storage_bytes"})
# The field that holds the value by which a page is ordered.
ORDER = "order"


@dataclass(frozen=True, slots=True)
class ProjectQuery:
    """The wanted projects: among `ids` (None: all), with `text` in name or id, after the row `after`."""

    ids: Collection[str] | None
    text: str
    sort_by: SortBy
    descends: bool
    limit: int
    after: tuple[Any, str] | None = None


@dataclass(frozen=True, slots=True)
class ProjectPage:
    """The records of a page; there is another one where there `is_more`."""

    records: list[Document]
    total: int
    is_more: bool


async def list_page(databases: Databases, query: ProjectQuery) -> ProjectPage:
    """Raises QueryTooSlow."""
    records = Records(databases.system["projects"])
    match = _match(query)
    direction = -1 if query.descends else 1
    by_figure = query.sort_by in BY_FIGURE
    order = {"$ifNull": [f"$figures.{query.sort_by}", 0]} if by_figure else f"${query.sort_by}"
    stages: list[Document] = [
        {"$match": match},
        *(lookup_sizes() if by_figure else ()),
        {"$set": {ORDER: order}},
        *([{"$match": _after(query)}] if query.after else ()),
        {"$sort": {ORDER: direction, "_id": direction}},
        {"$limit": query.limit + 1},
        *(() if by_figure else lookup_sizes()),
        {"$project": {"name": 1, "created_at": 1, "figures": 1, ORDER: 1}},
    ]
    command: Document = {"aggregate": records.name, "pipeline": stages, "cursor": {"batchSize": query.limit + 2}}
    found = await records.page(command, seconds=2.0)
    total = await records.count({"count": records.name, "query": match}, seconds=2.0)
    return ProjectPage(found[: query.limit], total, len(found) > query.limit)


def _match(query: ProjectQuery) -> Document:
    match: Document = {"deleting": {"$exists": False}}
    if query.ids is not None:
        match["_id"] = {"$in": sorted(query.ids)}
    if query.text:
        contains: Mapping[str, str] = {"$regex": re.escape(query.text), "$options": "i"}
        match["$or"] = [{"name": contains}, {"_id": contains}]
    return match


def _after(query: ProjectQuery) -> Document:
    value, id_ = query.after or ("", "")
    beyond = "$lt" if query.descends else "$gt"
    return {"$or": [{ORDER: {beyond: value}}, {ORDER: value, "_id": {beyond: id_}}]}

"""Pages of projects, as operators list them: one command for the page, one for the number of all that match."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from service.storage.client import Document
from service.storage.databases import Databases
from service.storage.records import Records

SortBy = Literal["name", "created_at"]


@dataclass(frozen=True, slots=True)
class ProjectQuery:
    """The projects that are wanted: among `ids` (None: all), with `text` in name or id, after the row `after`."""

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
    find: Document = {
        "find": records.name,
        "filter": {"$and": [match, _after(query)]} if query.after else match,
        "sort": {query.sort_by: direction, "_id": direction},
        "limit": query.limit + 1,
        "batchSize": query.limit + 2,
        "projection": {"name": 1, "created_at": 1},
    }
    found = await records.page(find, seconds=2.0)
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
    return {"$or": [{query.sort_by: {beyond: value}}, {query.sort_by: value, "_id": {beyond: id_}}]}

"""The query string of a list of projects, and its cursor."""

import base64
import binascii
from collections.abc import Collection
from datetime import datetime
from typing import Any, cast

import orjson

from service.errors import Invalid
from service.query.parse import parse_pairs
from service.schema.values import write_time
from service.storage.project_lists import BY_FIGURE, ORDER, ProjectQuery, SortBy
from service.web.openapi.declaration import Parameter

DEFAULT_LIMIT, MAX_LIMIT, MAX_TEXT = 50, 200, 100
# The largest whole number of MongoDB.
MAX_FIGURE = 2**63 - 1
SORTS: tuple[SortBy, ...] = ("name", "created_at", "requests_24h", "errors_24h", "storage_bytes")
NAMES = ("q", "sort_by", "limit", "cursor")
PARAMETERS = (
    Parameter(
        name="q",
        description="A part of the name or the id, in any case.",
        schema={"type": "string", "maxLength": MAX_TEXT},
    ),
    Parameter(
        name="sort_by",
        description="The order; `-` before it descends.",
        schema={"type": "string", "enum": [*SORTS, *(f"-{each}" for each in SORTS)], "default": "name"},
    ),
    Parameter(
        name="limit",
        description="Page size.",
        schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    ),
    Parameter(name="cursor", description="The `next` of the page before.", schema={"type": "string"}),
)


def read_project_query(query_string: bytes, ids: Collection[str] | None) -> ProjectQuery:
    """The page that is wanted, among the projects `ids`. Raises Invalid."""
    given: dict[str, str] = {}
    for name, value in parse_pairs(query_string):
        if name not in NAMES or name in given:
            raise Invalid.one(("query", name), "This endpoint takes no such parameter, or takes it once")
        given[name] = value
    sort = given.get("sort_by", "name")
    if sort.removeprefix("-") not in SORTS:
        raise Invalid.one(("query", "sort_by"), f"Must be one of {', '.join(SORTS)}, with or without - before it")
    if len(given.get("q", "")) > MAX_TEXT:
        raise Invalid.one(("query", "q"), f"Must have at most {MAX_TEXT} characters")
    sort_by = cast(SortBy, sort.removeprefix("-"))
    after = read_cursor(given["cursor"], sort_by) if "cursor" in given else None
    limit = _read_limit(given.get("limit", str(DEFAULT_LIMIT)))
    return ProjectQuery(ids, given.get("q", ""), sort_by, sort.startswith("-"), limit, after)


def _read_limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= MAX_LIMIT):
        raise Invalid.one(("query", "limit"), f"Must be a whole number from 1 to {MAX_LIMIT}")
    return int(text)


def write_cursor(record: dict[str, Any]) -> str:
    """The place behind `record`."""
    value = record[ORDER]
    row = [write_time(value) if isinstance(value, datetime) else value, record["_id"]]
    return base64.urlsafe_b64encode(orjson.dumps(row)).decode().rstrip("=")


def read_cursor(text: str, sort_by: SortBy) -> tuple[Any, str]:
    """Raises Invalid."""
    try:
        value, id_ = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if not isinstance(id_, str):
            raise TypeError
        return _read_place(value, sort_by), id_
    except (binascii.Error, ValueError, TypeError):
        raise Invalid.one(("query", "cursor"), "This is no cursor of this list") from None


def _read_place(value: object, sort_by: SortBy) -> object:
    """Raises TypeError, ValueError."""
    if sort_by in BY_FIGURE:
        if not isinstance(value, int) or not 0 <= value <= MAX_FIGURE:
            raise TypeError
        return value
    if not isinstance(value, str):
        raise TypeError
    return datetime.fromisoformat(value).replace(tzinfo=None) if sort_by == "created_at" else value

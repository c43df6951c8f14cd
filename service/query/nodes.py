"""What a query is, before (`ListQuery`) and after (`BoundQuery`) its names were given a meaning."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from service.query.tree import Tree

EVERY_RELATION = "*"

# A record as MongoDB has it → the same record with what may be shown of it.
View = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Condition:
    """`referred_by.email_eq=a@b.c` → parameter as sent, path ("referred_by", "email"), operator "eq", text "a@b.c"."""

    parameter: str
    path: tuple[str, ...]
    operator: str
    text: str


@dataclass(frozen=True, slots=True)
class ListQuery:
    """A parsed query string. `populate` holds dotted names as paths, or the one path ("*",)."""

    conditions: tuple[Condition, ...] = ()
    sort_by: tuple[str, ...] = ("created_at",)
    descending: bool = False
    limit: int = 50
    offset: int = 0
    count: bool = True
    populate: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class RelationMatch:
    """Records whose related record, found by the id at `local` in `collection`, satisfies all of `match`."""

    local: str
    collection: str
    match: "Match"


@dataclass(frozen=True, slots=True)
class Match:
    """What must all hold: MongoDB filters on a record itself, conditions on records related to it, and trees of both."""

    filters: tuple[dict[str, Any], ...] = ()
    relations: tuple[RelationMatch, ...] = ()
    trees: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class Expansion:
    """A relation to populate: `data.<name>` of a record becomes the record of `collection` that `data.<name>_id` names.

    `fields` are all that is ever read of a related record, which must satisfy `match`; `view` leaves out what is not to be
    shown. The name `*` stands for every `_id` field that resolves.
    """

    name: str
    collection: str
    fields: tuple[str, ...]
    inner: tuple["Expansion", ...] = ()
    match: Match = Match()
    view: View | None = None


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query whose every name is a path in MongoDB. `sort` ends with the tie-break; `fields` are all that is read."""

    collection: str
    match: Match
    sort: tuple[tuple[str, int], ...]
    limit: int
    offset: int
    count: bool
    expansions: tuple[Expansion, ...]
    fields: tuple[str, ...]
    view: View | None = None

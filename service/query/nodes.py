"""What a query is, before (`ListQuery`) and after (`BoundQuery`) its names were given a meaning."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from service.errors import Location
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

    @property
    def place(self) -> Location:
        return "query", self.parameter


@dataclass(frozen=True, slots=True)
class JsonCondition:
    """`{"stock_gte": 1}` at a place of a `where` → the place, path ("stock",), operator "gte", value 1."""

    place: Location
    path: tuple[str, ...]
    operator: str
    value: Any


AnyCondition = Condition | JsonCondition


@dataclass(frozen=True, slots=True)
class Where:
    """All of some conditions, and of others joined: an object of a `where`, or the filters of a query string."""

    conditions: tuple[AnyCondition, ...] = ()
    joined: tuple["Joined", ...] = ()

    def __iter__(self) -> Iterator[AnyCondition]:
        """Every condition, at any depth."""
        yield from self.conditions
        for joined in self.joined:
            for part in joined.parts:
                yield from part


@dataclass(frozen=True, slots=True)
class Joined:
    """`word` is and, or, or not, which has one part."""

    word: str
    parts: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class ListQuery:
    """A parsed query. `populate` holds dotted names as paths, or the one path ("*",). The `conditions` and `where` all hold."""

    conditions: tuple[Condition, ...] = ()
    where: Where = Where()
    sort_by: tuple[str, ...] = ("created_at",)
    descending: bool = False
    limit: int = 50
    offset: int = 0
    count: bool = True
    populate: tuple[tuple[str, ...], ...] = ()

    def __iter__(self) -> Iterator[AnyCondition]:
        """Every condition."""
        yield from self.conditions
        yield from self.where


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

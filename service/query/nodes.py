"""The form of a query before (`ListQuery`) and after (`BoundQuery`) its names were given a meaning."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from service.errors import Location
from service.query.selection import Selection
from service.query.tree import Filter, Tree

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
class SortKey:
    """A field to sort by."""

    path: tuple[str, ...]
    descending: bool = False


class Count(Enum):
    """The total of a list: exact, absent, or quickly found."""

    EXACT = "exact"
    NONE = "none"
    ESTIMATED = "estimated"
    CAPPED = "capped"


@dataclass(frozen=True, slots=True)
class Cursor:
    """The beginning of a page: behind the record that has these values, by the sort keys; without them at the first.

    `query` is the fingerprint of the query that the cursor goes with.
    """

    query: str
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class ListQuery:
    """A parsed query. The `conditions` and `where` all hold. `populate` holds dotted names as paths, or the one path ("*",).

    `fields` are the paths of what is shown of `data`; None for all of it. With a cursor there is no offset. `counts` are the
    names of related records to count, as they were sent.
    """

    conditions: tuple[Condition, ...] = ()
    where: Where = Where()
    sort: tuple[SortKey, ...] = (SortKey(("created_at",)),)
    limit: int = 50
    offset: int = 0
    count: Count = Count.EXACT
    populate: tuple[tuple[str, ...], ...] = ()
    fields: tuple[tuple[str, ...], ...] | None = None
    cursor: Cursor | None = None
    counts: tuple[str, ...] = ()

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
    """A conjunction: MongoDB filters on a record itself, conditions on records related to it, and trees of both."""

    filters: tuple[dict[str, Any], ...] = ()
    relations: tuple[RelationMatch, ...] = ()
    trees: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class Expansion:
    """A relation to populate: `data.<name>` of a record becomes the record of `collection` that `data.<ids>` names.

    `fields` are all that is ever read of a related record, which must satisfy `match`; `view` leaves out what is not to be
    shown, and `selection` what was not asked for. The name `*` stands for every `_id` field that resolves.
    `drops`: the field is an array of references, of which those that name nothing are left out.
    """

    name: str
    ids: str
    collection: str
    fields: tuple[str, ...]
    inner: tuple["Expansion", ...] = ()
    drops: bool = False
    match: Match = Match()
    view: View | None = None
    selection: Selection | None = None


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query whose every name is a path in MongoDB. `sort` ends with the tie-break; `fields` are all that is read.

    With a `cursor` the page begins `after` what it names, or at the first record.
    """

    collection: str
    match: Match
    sort: tuple[tuple[str, int], ...]
    limit: int
    offset: int
    count: Count
    expansions: tuple[Expansion, ...]
    fields: tuple[str, ...]
    view: View | None = None
    selection: Selection | None = None
    cursor: Cursor | None = None
    after: Filter | None = None

    @property
    def size(self) -> int:
        """The number of records to read: with a cursor one more than are shown, which shows that there is a further
        page.
        """
        return self.limit if self.cursor is None else self.limit + 1

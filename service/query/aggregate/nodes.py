"""The form of an aggregation before (`AskedAggregation`) and after (`BoundAggregation`) its names were given a meaning."""

from dataclasses import dataclass

from service.query.nodes import Match, Where
from service.query.tree import Tree
from service.schema.values import Kind

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DateBucket:
    """The minute, hour, ... or year that a date lies in, by the clocks of a time zone."""

    every: str
    timezone: str


@dataclass(frozen=True, slots=True)
class NumberBucket:
    """Numbers from a multiple of `step` up to the next one."""

    step: int | float


Bucket = DateBucket | NumberBucket


@dataclass(frozen=True, slots=True)
class AskedKey:
    """A key of `group`. With `each`, an array's elements are looked at one by one."""

    name: str
    path: Path
    bucket: Bucket | None = None
    each: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """One of `values`: the computation, and its field; none for `count`."""

    name: str
    function: str
    path: Path = ()


@dataclass(frozen=True, slots=True)
class AskedAggregation:
    """A parsed body. `sort` has result names, each with whether it descends."""

    where: Where
    keys: tuple[AskedKey, ...]
    values: tuple[Value, ...]
    having: Where
    sort: tuple[tuple[str, bool], ...]
    limit: int


@dataclass(frozen=True, slots=True)
class Hop:
    """A step to the record of `collection` that the id at `local` names; the record counts only if it satisfies
    `match`.

    If the relation `is_declared`, the field holds only ids.
    """

    local: str
    collection: str
    match: Match
    is_declared: bool = False


@dataclass(frozen=True, slots=True)
class BoundKey:
    """A key as MongoDB finds it: by `hops`, then at `path` of the record there.

    `kind` is that of the field's values, or of its elements. `is_file` says that the field may hold a file's name, which is
    shown as its URL.
    """

    name: str
    hops: tuple[Hop, ...]
    path: str
    kind: Kind
    bucket: Bucket | None
    each: bool
    many: bool
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class BoundValue:
    """A value as MongoDB computes it. `count` has no path."""

    name: str
    function: str
    path: str = ""
    kind: Kind = Kind.INTEGER
    many: bool = False
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class BoundAggregation:
    """An aggregation whose every name is a path in MongoDB.

    `having` and `sort` speak of the fields of a row: `_id.k0` is the first key, `v0` the first value. `file_prefix`
    stands before the name of a file where that is shown.
    """

    collection: str
    match: Match
    keys: tuple[BoundKey, ...]
    values: tuple[BoundValue, ...]
    having: Tree
    sort: tuple[tuple[str, int], ...]
    limit: int
    file_prefix: str = ""

"""The largest trees of conditions that a query may have: as many and as deep as may be, each as dear as it can be."""

from collections.abc import Iterator
from typing import Any

from service import bounds

Where = dict[str, Any]


def largest_trees(prefix: str, relation: str) -> Iterator[tuple[str, str, Where]]:
    """Yields a name, the bound that the tree reaches, and the tree. `prefix` precedes the names of fields."""
    text = "a" * bounds.MAX_CONTAINS
    numbers = range(bounds.MAX_CONDITIONS)
    yield "searches", "MAX_CONDITIONS", _deep([{"not": {f"{prefix}k{n}_icontains": text}} for n in numbers])
    most = range(bounds.MAX_LISTED // bounds.MAX_HASALL)
    yield "hasall", "MAX_HASALL", _deep([{f"{prefix}k{n}_hasall": _texts(bounds.MAX_HASALL)} for n in most])
    full = range(bounds.MAX_LISTED // bounds.MAX_IN)
    yield "in", "MAX_LISTED", _deep([{f"{prefix}k{n}_in": _texts(bounds.MAX_IN)} for n in full])
    searches = [{f"{relation}.name_icontains": f"{n}{text[:-2]}"} for n in range(bounds.MAX_LOOKUPS)]
    yield "one relation", "MAX_LOOKUPS", _deep(searches)
    yield (
        "and of or",
        "MAX_CONDITIONS",
        {"and": [{"or": [{f"{prefix}k{n}_eq": m} for m in range(5)]} for n in range(10)]},
    )


def _texts(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def _deep(parts: list[Where]) -> Where:
    """`parts`, of which one must hold, as deep as they may stand."""
    where: Where = {"or": parts}
    for _ in range(bounds.MAX_WHERE_DEPTH - 3):
        where = {"and": [where]}
    return where

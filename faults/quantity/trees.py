"""The largest trees of conditions that a query may have: as many and as deep as may be, each as dear as it can be."""

from collections.abc import Iterator
from typing import Any

from service import bounds

Where = dict[str, Any]


def largest_trees(prefix: str, relation: str) -> Iterator[tuple[str, str, Where]]:
    """Yields a name, the bound that the tree reaches, and the tree. `prefix` precedes the names of fields."""
    yield "searches", "MAX_CONDITIONS", _deep(_negated(searches(prefix + "k{}", bounds.MAX_CONDITIONS)))
    longest = bounds.MAX_SEARCH_CHARACTERS // bounds.MAX_CONTAINS
    yield "long searches", "MAX_SEARCH_CHARACTERS", _deep(_negated(searches(prefix + "k{}", longest)))
    most = range(bounds.MAX_LISTED // bounds.MAX_HASALL)
    yield "hasall", "MAX_HASALL", _deep([{f"{prefix}k{n}_hasall": _texts(bounds.MAX_HASALL)} for n in most])
    full = range(bounds.MAX_LISTED // bounds.MAX_IN)
    yield "in", "MAX_LISTED", _deep([{f"{prefix}k{n}_in": _texts(bounds.MAX_IN)} for n in full])
    yield "one relation", "MAX_LOOKUPS", _deep(searches(f"{relation}.name", bounds.MAX_LOOKUPS))
    yield (
        "and of or",
        "MAX_CONDITIONS",
        {"and": [{"or": [{f"{prefix}k{n}_eq": m} for m in range(5)]} for n in range(10)]},
    )


def searches(field: str, count: int) -> list[Where]:
    """So many conditions, with as long texts as they may have together; `{}` in `field` becomes the number of each.

    In a text of many "a" MongoDB compares each of them at every position to its end.
    """
    length = min(bounds.MAX_CONTAINS, bounds.MAX_SEARCH_CHARACTERS // count)
    return [{f"{field.format(number)}_icontains": f"{number:02}".rjust(length, "a")} for number in range(count)]


def _negated(parts: list[Where]) -> list[Where]:
    return [{"not": part} for part in parts]


def _texts(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def _deep(parts: list[Where]) -> Where:
    """`parts`, of which one must hold, as deep as they may stand."""
    where: Where = {"or": parts}
    for _ in range(bounds.MAX_WHERE_DEPTH - 3):
        where = {"and": [where]}
    return where

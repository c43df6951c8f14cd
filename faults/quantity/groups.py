"""The largest aggregations: as many keys and values as there may be, along as many relations."""

from collections.abc import Iterator, Sequence
from typing import Any

from service import bounds

Body = dict[str, Any]
DATES = {"field": "created_at", "every": "month", "timezone": "Europe/Paris"}


def largest_aggregations(relations: Sequence[str]) -> Iterator[tuple[str, Body]]:
    """The bound at whose end each is, and the aggregation, of users."""
    far = [".".join([*(relations[(n + step) % len(relations)] for step in range(3)), "code"]) for n in range(8)]
    keys = {f"k{n}": path for n, path in enumerate(far[: bounds.MAX_GROUP_KEYS - 1])} | {"month": DATES}
    yield "MAX_GROUP_KEYS", {"group": keys, "values": {"n": "count"}}
    different = {f"v{n}": {"count_distinct": "code"} for n in range(bounds.MAX_GROUP_VALUES)}
    yield "MAX_GROUP_VALUES", {"group": {"name": "name"}, "values": different}
    texts = {f"v{n}": {"max": "note"} for n in range(bounds.MAX_GROUP_VALUES)}
    yield "MAX_GROUPED_BYTES", {"group": {"note": "note"}, "values": texts}
    yield "MAX_ROWS", {"group": {"code": "code"}, "values": different, "limit": int(bounds.MAX_ROWS)}
    yield (
        "MAX_SORT_KEYS",
        {"group": {"code": "code"}, "values": {"a": "count", "b": {"sum": "code"}}, "sort_by": ["-a", "b", "code"]},
    )


def largest_definition() -> Body:
    """All parameters, and as many bytes as there may be."""
    names = [f"p{n}" for n in range(bounds.MAX_PARAMETERS)]
    where = {f"f{n}_eq": f"${name}" for n, name in enumerate(names)} | {
        "text_in": [f"{n:060}" for n in range(bounds.MAX_IN)]
    }
    parameters = {name: {"type": "string"} for name in names}
    return {"collection": "users", "aggregate": {"where": where, "values": {"n": "count"}}, "parameters": parameters}

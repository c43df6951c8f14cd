"""A command of MongoDB without its values: names and operators of its filter, its sort, and its plan. Pure.

`{"find": "c_notes", "filter": {"data.title": {"$regex": "x"}}}` → filter `["data.title $regex"]`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bson.regex import Regex

# A description names at most this many conditions, and as many stages of a plan.
MAX_DESCRIBED = 20
JOINED = frozenset({"$and", "$or", "$nor"})
# The parts of a command that decide its plan, in an order that MongoDB takes: the command's name comes first.
PLANNED = ("find", "aggregate", "count", "filter", "query", "sort", "projection", "skip", "limit", "pipeline", "cursor")


@dataclass(frozen=True, slots=True)
class QueryShape:
    """`filter` has entries "name operator", `sort` entries "name direction"."""

    collection: str
    filter: tuple[str, ...]
    sort: tuple[str, ...]


def describe(command: Mapping[str, Any]) -> QueryShape:
    """The shape of a `find`, `count` or `aggregate`; of an aggregation, that of its first $match and $sort."""
    collection = next((str(command[name]) for name in ("find", "count", "aggregate") if name in command), "")
    match = command.get("filter") or command.get("query") or _first(command, "$match") or {}
    sort = command.get("sort") or _first(command, "$sort") or {}
    names = dict.fromkeys(_conditions(match, ""))
    return QueryShape(
        collection, tuple(names)[:MAX_DESCRIBED], tuple(f"{name} {order}" for name, order in sort.items())
    )


def _first(command: Mapping[str, Any], stage: str) -> Any:
    return next((each[stage] for each in command.get("pipeline", ()) if stage in each), None)


def _conditions(match: Mapping[str, Any], path: str) -> Iterator[str]:
    for key, value in match.items():
        if key in JOINED:
            for part in value:
                yield from _conditions(part, path)
        elif key in {"$not", "$elemMatch"} and isinstance(value, Mapping):
            yield from _conditions(value, path)
        elif key.startswith("$"):
            # The options of an expression belong to it.
            yield from () if key == "$options" else (f"{path} {key}".strip(),)
        elif isinstance(value, Mapping) and any(name.startswith("$") for name in value):
            yield from _conditions(value, key)
        else:
            yield f"{key} {'$regex' if isinstance(value, re.Pattern | Regex) else '$eq'}"


def explained(command: Mapping[str, Any]) -> dict[str, Any]:
    """The command that asks MongoDB for the plan of `command`, without running it."""
    kept: dict[str, Any] = {name: command[name] for name in PLANNED if name in command}
    return {"explain": kept, "verbosity": "queryPlanner"}


def describe_plan(reply: Any) -> str:
    """The stages of the winning plan, outermost first, with the names of indexes: "SORT COLLSCAN", "FETCH IXSCAN(email)"."""
    stages = list(dict.fromkeys(_stages(_winning(reply))))
    return " ".join(stages[:MAX_DESCRIBED])


def _winning(reply: Any) -> Any:
    """The winning plan anywhere in a reply: an aggregation has it inside its first stage."""
    if isinstance(reply, Mapping):
        if "winningPlan" in reply:
            return reply["winningPlan"]
        return next(filter(None, map(_winning, reply.values())), None)
    if isinstance(reply, Sequence) and not isinstance(reply, str | bytes):
        return next(filter(None, map(_winning, reply)), None)
    return None


def _stages(plan: Any) -> Iterator[str]:
    if isinstance(plan, Mapping):
        if isinstance(stage := plan.get("stage"), str):
            index = plan.get("indexName")
            yield f"{stage}({index})" if isinstance(index, str) else stage
        for inner in plan.values():
            yield from _stages(inner)
    elif isinstance(plan, list):
        for inner in plan:
            yield from _stages(inner)

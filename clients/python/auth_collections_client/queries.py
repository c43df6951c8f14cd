"""Bodies of lists: nested relations become dotted keys, a single name becomes a list of one."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from auth_collections_client.calls import Options, present
from auth_collections_client.encoding import json_bytes
from auth_collections_client.errors import ConfigurationError

JUNCTIONS = frozenset({"and", "or", "not"})
LISTS = frozenset({"fields", "populate", "sort_by", "with_counts"})
Names = Sequence[str] | str | None
Count = Literal["exact", "none", "capped", "estimated"]


def flatten(where: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the conditions as the service takes them: `{"author": {"name_eq": 1}}` becomes `{"author.name_eq": 1}`."""
    result: dict[str, Any] = {}
    for name, value in where.items():
        for key, each in _entries(name, value):
            if key in result:
                raise ConfigurationError("A condition stands twice: once dotted and once nested.")
            result[key] = each
    return result


def _entries(name: str, value: Any) -> list[tuple[str, Any]]:
    if name in {"and", "or"} and isinstance(value, Sequence) and not isinstance(value, str):
        return [(name, [flatten(each) for each in cast("Sequence[Mapping[str, Any]]", value)])]
    if not isinstance(value, Mapping):
        return [(name, value)]
    nested = cast("Mapping[str, Any]", value)
    if name == "not":
        return [(name, flatten(nested))]
    if JUNCTIONS & nested.keys():
        raise ConfigurationError("`and`, `or` and `not` stand around a relation, not inside it.")
    return [(f"{name}.{key}", each) for key, each in flatten(nested).items()]


class Shown(Options, total=False):
    """The part of a record that is shown. `with_counts` names the records that refer to it, and are counted."""

    fields: Names
    populate: Names
    with_counts: Names


class Sorted(Shown, total=False):
    sort_by: Names


class Limited(Sorted, total=False):
    limit: int | None


class Paged(Limited, total=False):
    """A page is named by `offset`, or by a `cursor`: "*" and then `next` of each page."""

    offset: int | None
    cursor: str | None
    count: Count | bool | None


def query_body(where: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the body of a query; a single name becomes a list of one."""
    lists = {name: listed(parts[name]) for name in LISTS & parts.keys()}
    return present({"where": None if where is None else flatten(where), **parts, **lists})


def listed(names: Names) -> list[str] | None:
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(names)


def condition_text(where: Any) -> str | None:
    """Returns a condition as a parameter of a query string."""
    return None if where is None else json_bytes(flatten(where)).decode()

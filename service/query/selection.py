"""The shown fields of `data`, as a tree of their names; the fields MongoDB must read for them, and those left out then.

{"title": None, "address": {"city": None}}: all of the title, and of the address the city.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Selection = Mapping[str, "Selection | None"]
Path = Sequence[str]


def select(paths: Iterable[Path]) -> Selection:
    """All that the paths name; the whole of a field where one of them names that."""
    found: dict[str, Any] = {}
    for path in paths:
        _add(found, path)
    return found


def _add(selection: dict[str, Any], path: Path) -> None:
    name, rest = path[0], path[1:]
    if not rest:
        selection[name] = None
    elif (inner := selection.setdefault(name, {})) is not None:
        _add(inner, rest)


def prune(value: Mapping[str, Any], selection: Selection) -> dict[str, Any]:
    """The selected part of an object, in its order: as MongoDB's projection does, also in arrays of objects."""
    return {
        name: each if (inner := selection[name]) is None else _prune(each, inner)
        for name, each in value.items()
        if name in selection and (selection[name] is None or isinstance(each, dict | list))
    }


def _prune(value: Any, selection: Selection) -> Any:
    if isinstance(value, list):
        return [_prune(each, selection) for each in value if isinstance(each, dict | list)]
    return prune(value, selection)


def data_paths(selection: Selection, more: Iterable[str] = ()) -> list[str]:
    """The MongoDB paths to read for a selection, and `more` of them in `data`; none is inside another."""
    found: dict[str, Any] = _copy(selection)
    for path in more:
        _add(found, path.split(".")[1:])
    return [".".join(("data", *path)) for path in _leaves(found)]


def _copy(selection: Selection) -> dict[str, Any]:
    return {name: None if inner is None else _copy(inner) for name, inner in selection.items()}


def _leaves(selection: Selection) -> Iterable[tuple[str, ...]]:
    for name, inner in selection.items():
        if inner is None:
            yield (name,)
        else:
            yield from ((name, *rest) for rest in _leaves(inner))

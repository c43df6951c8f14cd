"""The changes of an audit entry: the values before and after, by their paths, without secrets and within bounds. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import orjson

from service.bounds import MAX_AUDIT_BYTES, MAX_AUDIT_CHANGES, MAX_AUDIT_COUNTED, MAX_AUDIT_VALUE

HIDDEN = "***"
CUT = "…"
NOTHING: Set[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AuditChange:
    """The value at a path before and after; None where there was none, or is none."""

    path: tuple[str, ...]
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class KeptChanges:
    """The changes that an entry keeps, as JSON text, and the number of the others, which is counted up to a bound."""

    text: str
    omitted: int


def find_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], *, secrets: Set[str] = NOTHING, path: tuple[str, ...] = ()
) -> Iterator[AuditChange]:
    """Each value in which two objects differ, by name; objects are entered, new ones too, lists are compared whole.

    A value of one of the names in `secrets` is hidden, at every depth.
    """
    for name in sorted(before.keys() | after.keys()):
        one, other, place = before.get(name), after.get(name), (*path, name)
        if _is_object(one) and _is_object(other) and name not in secrets:
            yield from find_changes(one or {}, other or {}, secrets=secrets, path=place)
        elif one != other:
            yield AuditChange(place, _mask(name, one, secrets), _mask(name, other, secrets))


def compare(
    before: Mapping[str, Any], after: Mapping[str, Any], *, secrets: Set[str] = NOTHING, path: tuple[str, ...] = ()
) -> KeptChanges:
    """The differences of two objects, as `find_changes` has them, within the bounds of an entry."""
    return keep_changes(find_changes(before, after, secrets=secrets, path=path))


def keep_changes(changes: Iterable[AuditChange]) -> KeptChanges:
    """The first changes that fit into an entry."""
    remaining = iter(changes)
    kept, size = list[bytes](), 0
    for change in islice(remaining, MAX_AUDIT_CHANGES):
        text = _write(change)
        size += len(text) + 1
        if size > MAX_AUDIT_BYTES:
            return _join(kept, 1 + _count(remaining))
        kept.append(text)
    return _join(kept, _count(remaining))


NO_CHANGES = KeptChanges("[]", 0)


def _join(kept: list[bytes], omitted: int) -> KeptChanges:
    return KeptChanges(f"[{b','.join(kept).decode()}]", omitted)


def _count(changes: Iterator[AuditChange]) -> int:
    return sum(1 for _ in islice(changes, MAX_AUDIT_COUNTED))


def _is_object(value: object) -> bool:
    return value is None or isinstance(value, Mapping)


def _mask(name: str, value: Any, secrets: Set[str]) -> Any:
    if name in secrets:
        return None if value is None else HIDDEN
    if isinstance(value, Mapping):
        return {each: _mask(each, inner, secrets) for each, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_mask("", each, secrets) for each in value]
    return value


def _write(change: AuditChange) -> bytes:
    shown = replace(change, before=_cut(change.before), after=_cut(change.after))
    return orjson.dumps({"path": shown.path, "before": shown.before, "after": shown.after})


def _cut(value: Any) -> Any:
    """The value, or the beginning of its JSON text where that is too long."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return value if len(text) <= MAX_AUDIT_VALUE else f"{text[: MAX_AUDIT_VALUE - 1]}{CUT}"

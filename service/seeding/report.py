"""The results of a seed, or of a dry run: counts of each kind of record, the first differences, and refusals with
reasons.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

SHOWN = 20
MAX_SHOWN_VALUE = 60

Observe = Callable[[str, int], None]


@dataclass(slots=True)
class Report:
    """`counts[kind]` are created, updated, unchanged and refused; `differences` and `refusals` hold the first SHOWN of
    each.

    `observe` is called for each kind with the rows done since its last call.
    """

    observe: Observe = lambda _kind, _count: None
    dry_run: bool = False
    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    differences: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    refusals: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def refused(self) -> int:
        return sum(counter["refused"] for counter in self.counts.values())

    @property
    def rows(self) -> int:
        return sum(counter.total() for counter in self.counts.values())

    def created(self, kind: str, name: str) -> None:
        self._count(kind, "created", f"+ {kind} {name}")

    def updated(
        self, kind: str, name: str, before: Mapping[str, Any], after: Mapping[str, Any], *, note: str = ""
    ) -> None:
        """`before` and `after` hold the fields that differ; one that is not there yet is missing in `before`."""
        changes = ", ".join(f"{each}: {_short(before, each)} -> {_short(after, each)}" for each in after)
        self._count(kind, "updated", f"~ {kind} {name}: {changes}{f' ({note})' if note else ''}")

    def unchanged(self, kind: str) -> None:
        self.counts[kind]["unchanged"] += 1

    def refuse(self, kind: str, place: str, reason: str) -> None:
        self.counts[kind]["refused"] += 1
        if len(self.refusals[kind]) < SHOWN:
            self.refusals[kind].append(f"! {place}: {reason}")

    def _count(self, kind: str, what: str, line: str) -> None:
        self.counts[kind][what] += 1
        if len(self.differences[kind]) < SHOWN:
            self.differences[kind].append(line)

    def lines(self, *, differences: bool) -> list[str]:
        """The report as text: differences if wanted, then refusals, then the counts."""
        told = [line for kind in self.counts for line in self._told(kind, differences=differences)]
        counts = (
            f"{kind}: " + ", ".join(f"{n} {what}" for what, n in sorted(c.items())) for kind, c in self.counts.items()
        )
        return [*told, *counts]

    def _told(self, kind: str, *, differences: bool) -> list[str]:
        counts = self.counts[kind]
        changed = self.differences[kind] if differences else []
        more = counts["created"] + counts["updated"] - len(changed) if differences else 0
        hidden = counts["refused"] - len(self.refusals[kind])
        return [
            *changed,
            *([f"  ... and {more} more {kind}"] if more else []),
            *self.refusals[kind],
            *([f"! ... and {hidden} more {kind} were refused"] if hidden else []),
        ]


def _short(values: Mapping[str, Any], name: str) -> str:
    if name not in values:
        return "absent"
    text = orjson.dumps(values[name], default=str).decode()
    return text if len(text) <= MAX_SHOWN_VALUE else f"{text[: MAX_SHOWN_VALUE - 3]}..."


def find_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `after` that `before` lacks or has otherwise."""
    return {name: value for name, value in after.items() if name not in before or not is_same(before[name], value)}


def is_same(one: Any, other: Any) -> bool:
    """True if two values are equal and of one type, at every depth: for Python, `1`, `1.0` and `True` are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other) and _kind(one) is _kind(other)


def _kind(value: Any) -> type:
    """The driver reads integers of 64 bits as a type of its own."""
    return int if isinstance(value, int) and not isinstance(value, bool) else type(value)

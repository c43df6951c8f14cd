"""Where a write goes, and the rules of it that no validator can hold: names, depth, patterns, and that references resolve."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from service.domain.collections.catalog import Collection
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.documents.approval import Approval
from service.domain.projects.lookup import Project
from service.errors import Invalid, Location, Violation
from service.schema.values import check_data
from service.storage.collections import mongo_collection_name
from service.storage.documents import DocumentStore
from service.storage.references import missing

LOC: Location = ("body", "data")

Data = Mapping[str, Any]
Item = TypeVar("Item")
Result = TypeVar("Result")
AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Target:
    """A collection as its definition is known to a request, and where its documents are."""

    project: Project
    collection: Collection
    store: DocumentStore


async def check_completed(target: Target, data: Data, judge: PatternJudge, approval: Approval | None = None) -> None:
    """Asks the database once for all references in `data`. Raises Invalid for those that name no record.

    Also for texts that break a pattern. With an `approval` a record that its caller may not read is none.
    """
    if not (target.collection.targets or target.collection.patterned):
        return
    (violations,) = await _faults(target, [data], judge, approval)
    if violations:
        raise Invalid(violations)


async def faults_of(
    target: Target, rows: Sequence[Data], completed: Sequence[Data], judge: PatternJudge
) -> list[list[Violation]]:
    """For each of `rows`, in one command: what is wrong with its names and, once completed, with its references."""
    found = await _faults(target, completed, judge)
    named = await map_in_turns(lambda row: check_data(row, LOC), rows)
    return [[*violations, *faults] for violations, faults in zip(named, found, strict=True)]


async def map_in_turns(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`function` of each item; after every few, others have their turn on the event loop."""
    results: list[Result] = []
    for number, item in enumerate(items, start=1):
        results.append(function(item))
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
    return results


async def _faults(
    target: Target, rows: Sequence[Data], judge: PatternJudge, approval: Approval | None = None
) -> list[list[Violation]]:
    """Of references only texts are looked for; a value of another type is for the validator to refuse."""
    wanted: dict[str, set[str]] = {}
    for data in rows:
        for name, related in target.collection.targets.items():
            if isinstance(value := data.get(name), str):
                wanted.setdefault(related, set()).add(value)
    database, names = target.project.database, {related: _shown(related) for related in wanted}
    gone = await (missing(database, wanted) if approval is None else approval.hidden_references(wanted, names))
    fields = target.collection.patterned
    mismatches = [await judge.judge(target.project.id, data, fields, LOC) if fields else [] for data in rows]
    return [[*found, *_dangling(target, data, gone)] for found, data in zip(mismatches, rows, strict=True)]


def _dangling(target: Target, data: Data, gone: set[tuple[str, str]]) -> list[Violation]:
    return [
        Violation((*LOC, name), f"There is no record with this id in {_shown(related)}", "reference_not_found")
        for name, related in target.collection.targets.items()
        if isinstance(value := data.get(name), str) and (related, value) in gone
    ]


def _shown(target: str) -> str:
    return target.removeprefix(mongo_collection_name(""))

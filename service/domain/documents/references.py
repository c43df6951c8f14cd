"""Where a write goes, and the rules of it that no validator can hold: names, depth, patterns, and that references resolve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.domain.collections.catalog import Collection
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.projects.lookup import Project
from service.errors import Invalid, Location, Violation
from service.schema.values import check_data
from service.storage.collections import mongo_collection_name
from service.storage.records import Records
from service.storage.references import missing

LOC: Location = ("body", "data")

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """A collection as its definition is known to a request, and the records of it."""

    project: Project
    collection: Collection

    @property
    def records(self) -> Records:
        return self.project.database.records(mongo_collection_name(self.collection.name))


async def check_completed(place: Target, data: Data, judge: PatternJudge) -> None:
    """Asks the database once for all references in `data`. Raises Invalid for those that name no record.

    Also for texts that break a pattern.
    """
    if not (place.collection.targets or place.collection.patterned):
        return
    (violations,) = await _faults(place, [data], judge)
    if violations:
        raise Invalid(violations)


async def faults_of(
    place: Target, rows: Sequence[Data], completed: Sequence[Data], judge: PatternJudge
) -> list[list[Violation]]:
    """For each of `rows`, in one command: what is wrong with its names and, once completed, with its references."""
    found = await _faults(place, completed, judge)
    return [[*check_data(row, LOC), *faults] for row, faults in zip(rows, found, strict=True)]


async def _faults(place: Target, rows: Sequence[Data], judge: PatternJudge) -> list[list[Violation]]:
    """Of references only texts are looked for; a value of another type is for the validator to refuse."""
    wanted: dict[str, set[str]] = {}
    for data in rows:
        for name, target in place.collection.targets.items():
            if isinstance(value := data.get(name), str):
                wanted.setdefault(target, set()).add(value)
    gone = await missing(place.project.database, wanted)
    fields = place.collection.patterned
    mismatches = [await judge.judge(place.project.id, data, fields, LOC) if fields else [] for data in rows]
    return [[*found, *_dangling(place, data, gone)] for found, data in zip(mismatches, rows, strict=True)]


def _dangling(place: Target, data: Data, gone: set[tuple[str, str]]) -> list[Violation]:
    return [
        Violation((*LOC, name), f"There is no record with this id in {_shown(target)}", "reference_not_found")
        for name, target in place.collection.targets.items()
        if isinstance(value := data.get(name), str) and (target, value) in gone
    ]


def _shown(target: str) -> str:
    return target.removeprefix(mongo_collection_name(""))

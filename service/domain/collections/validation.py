"""Accepting a declared schema: what the definitions say by themselves, then what only the database can tell."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from service.domain.collections.catalog import DeclaredCollection
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.projects.lookup import Project
from service.errors import Invalid, Location, Violation
from service.schema.collection_options import NO_OPTIONS, CollectionOptions
from service.schema.conformance import judge_defaults
from service.schema.documents import try_complete
from service.schema.fields import LOC, USERS, Fields, defaults, parse, references, targets
from service.schema.indexes import check_indexes
from service.schema.patterns import patterned
from service.storage.definitions import Definitions


async def validate_schema(
    project: Project,
    name: str,
    schema: Mapping[str, Any],
    judge: PatternJudge,
    *,
    options: CollectionOptions = NO_OPTIONS,
    present: DeclaredCollection | None = None,
    coming: Iterable[str] = (),
) -> Fields:
    """The fields of the schema of the collection `name`. Raises Invalid with everything that is wrong with it.

    A reference that the collection `present` has already may stay, though its target may have been deleted since. The
    collections `coming` are taken to exist.
    """
    fields = parse(schema)
    if violations := check_indexes(fields, options):
        raise Invalid(violations)
    wanted = set(references(fields).values()) - {USERS, name, *coming}
    wanted -= set(references(present.fields).values()) if present else set()
    await check_fields(project, fields, judge, await _check_targets(project, fields, wanted))
    return fields


async def check_fields(
    project: Project, fields: Fields, judge: PatternJudge, violations: Sequence[Violation] = ()
) -> None:
    """Checks patterns and defaults. Raises Invalid with their violations and those that were found before."""
    found = [*violations, *await judge.check(project.id, fields)]
    # A pattern that RE2 does not know could judge no default.
    found = found or await _check_defaults(project, fields, judge)
    if found:
        raise Invalid(found)


async def _check_targets(project: Project, fields: Fields, wanted: set[str]) -> list[Violation]:
    known = await Definitions(project.database).names() if wanted else set()
    absent = [name for name, target in targets(fields).items() if target in wanted - known]
    return [
        Violation((*_place(name, fields), "collection"), "There is no collection of this name", "collection_not_found")
        for name in absent
    ]


def _place(name: str, fields: Fields) -> Location:
    """The place of a reference's own definition, which in an array of them is that of its items."""
    return (*LOC, name) if fields[name].collection is not None else (*LOC, name, "items")


async def _check_defaults(project: Project, fields: Fields, judge: PatternJudge) -> list[Violation]:
    """The violations of all defaults, each judged by its own definition."""
    found = list(defaults(fields))
    keys = {str(number): field for number, (_, field, _) in enumerate(found)}
    values = {str(number): value for number, (_, _, value) in enumerate(found)}
    completed, overfull = try_complete(values, keys)
    violations = await judge.run(project.id, judge_defaults(fields))
    if overfull:
        return violations or [Violation(LOC, each.msg, each.type) for each in overfull]
    mismatches = await judge.judge(project.id, completed, patterned(keys), ())
    # The loc of a mismatch is the key, and the way into the value.
    return [
        *violations,
        *(Violation((*found[int(each.loc[0])][0], *each.loc[1:]), each.msg, each.type) for each in mismatches),
    ]

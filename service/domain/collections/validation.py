"""Accepting a declared schema: what the definitions say by themselves, then what only the database can tell."""

import asyncio
from collections.abc import Mapping
from typing import Any

from service.domain.collections.catalog import Catalog
from service.errors import Invalid, Violation
from service.schema.documents import complete
from service.schema.fields import LOC, USERS, Fields, defaults, parse, patterns, references
from service.schema.json_schema import trial
from service.schema.pattern_budget import check_patterns
from service.schema.violations import translate
from service.storage.databases import ProjectDatabase
from service.storage.validation_probe import compiles, probe


async def validate_schema(database: ProjectDatabase, name: str, schema: Mapping[str, Any], catalog: Catalog) -> Fields:
    """The fields of the schema of the collection `name`. Raises Invalid with everything that is wrong with it.

    A reference that the collection has already may stay, though its target may have been deleted since.
    """
    fields = parse(schema)
    present = catalog.collections.get(name)
    known = {*catalog.collections, USERS, name, *(references(present.fields).values() if present else ())}
    violations = [*_targets(fields, known), *check_patterns(fields, LOC), *await _patterns(database, fields)]
    # A pattern that does not compile would make the trial of the defaults fail as a whole.
    violations = violations or await _defaults(database, fields)
    if violations:
        raise Invalid(violations)
    return fields


def _targets(fields: Fields, known: set[str]) -> list[Violation]:
    return [
        Violation((*LOC, name, "collection"), "There is no collection of this name", "collection_not_found")
        for name, field in fields.items()
        if field.collection is not None and field.collection not in known
    ]


async def _patterns(database: ProjectDatabase, fields: Fields) -> list[Violation]:
    found = list(patterns(fields))
    good = await asyncio.gather(*(compiles(database.database, pattern) for _, pattern in found))
    msg = "Not a regular expression that can be compiled (the syntax is PCRE's)"
    return [Violation(loc, msg, "value_error") for (loc, _), compiled in zip(found, good, strict=True) if not compiled]


async def _defaults(database: ProjectDatabase, fields: Fields) -> list[Violation]:
    """The violations of all defaults, each judged by its own definition under a key of its own."""
    found = list(defaults(fields))
    keys = {str(number): field for number, (_, field, _) in enumerate(found)}
    values = complete({str(number): value for number, (_, _, value) in enumerate(found)}, keys)
    judged = await probe(database.database, [{"data": values}] if found else [], trial(list(keys.values())))
    # A violation's loc is data, the key, and the way into the value.
    return [
        Violation((*found[int(violation.loc[1])][0], *violation.loc[2:]), violation.msg, violation.type)
        for err_info in judged.values()
        for violation in translate(err_info, ())
    ]

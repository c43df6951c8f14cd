"""The schema of users' profiles: definitions of fields as collections have them, with the options that users can keep.

A profile keeps its times as text, so that conditions on free-form data find them. Users are made without a form, by
providers and by mail: no field is required, and one with a default is always there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from service.bounds import MAX_SCHEMA_DEPTH
from service.errors import Invalid, Location, Violation
from service.schema.fields import ABSENT, LOC, USERS, Field, Fields, build, parse
from service.schema.options import is_file, is_reference
from service.schema.strict_json import shown
from service.schema.values import Kind

# Names beside `data` in a user, and those of a signup's own fields.
RESERVED = frozenset({"id", "email", "password", "created_at", "updated_at", "oauth_id"})
# The field that a sign-in through a provider writes.
USERNAME = "username"
# Options of a collection's fields that a profile does not take, each with the reason.
REFUSED: Mapping[str, str] = {
    "required": "A user is also made without a form, so no field of a profile is required; give it a default",
    "unique": "A field of a profile cannot be unique",
    "index": "Every field of a profile has an index",
    "protected": "The access rules say which files of profiles are protected",
    "variants": "A file of a profile has no variants",
}


def parse_profile(schema: Mapping[str, Any], *, additional: bool) -> Fields:
    """The fields of a declared schema, which came from strict JSON, as `build_profile` has them.

    Raises Invalid with all violations at once.
    """
    found = [*_find_name_faults(schema), *_find_faults(schema, LOC, 1)]
    places = {each.loc for each in found}
    try:
        parse(schema)
    except Invalid as error:
        found += [each for each in error.violations if each.loc not in places]
    if found:
        raise Invalid(found)
    return build_profile(schema, additional=additional)


def build_profile(schema: Mapping[str, Any], *, additional: bool) -> Fields:
    """The fields in the form in which users keep them, of a schema that `parse_profile` accepted before."""
    fields = {name: _keep(field) for name, field in declared_fields(schema, additional=additional).items()}
    return {name: replace(field, required=field.default is not ABSENT) for name, field in fields.items()}


def declared_fields(schema: Mapping[str, Any], *, additional: bool) -> Fields:
    """The fields of a checked schema as they were declared, with the user name if profiles take no other fields."""
    fields = build(schema)
    return fields if additional or USERNAME in fields else {**fields, USERNAME: Field(Kind.STRING)}


def _keep(field: Field) -> Field:
    """The field with its times as text, here and further in."""
    return replace(
        field,
        kind=Kind.TIME_TEXT if field.kind is Kind.DATETIME else field.kind,
        items=_keep(field.items) if field.items is not None else None,
        properties=_keep_each(field.properties),
        defaulted=_keep_each(field.defaulted),
    )


def _keep_each(fields: Fields | None) -> Fields | None:
    return {name: _keep(each) for name, each in fields.items()} if fields is not None else None


def _find_name_faults(schema: Mapping[str, Any]) -> Iterator[Violation]:
    for name, definition in schema.items():
        if name in RESERVED:
            yield Violation((*LOC, name), f"{name} is the service's own name, which no profile field has", "reserved")
        kind = definition.get("type") if isinstance(definition, dict) else None
        if name == USERNAME and kind != Kind.STRING.value:
            msg = "username is a string, for a sign-in through a provider writes it"
            yield Violation((*LOC, name, "type"), msg, "value_error")


def _find_faults(fields: Any, loc: Location, depth: int) -> Iterator[Violation]:
    """The options that no profile takes, at every depth. `parse` refuses what is no definition, or is too deep."""
    if not isinstance(fields, dict) or depth > MAX_SCHEMA_DEPTH:
        return
    for name, definition in fields.items():
        if isinstance(definition, dict):
            yield from _find_option_faults(definition, (*loc, shown(name)[1:-1]), depth)


def _find_option_faults(definition: Mapping[str, Any], loc: Location, depth: int) -> Iterator[Violation]:
    for option, reason in REFUSED.items():
        if option in definition:
            yield Violation((*loc, option), reason, "extra_forbidden")
    if definition.get("collection", USERS) != USERS:
        yield Violation((*loc, "collection"), "A reference in a profile points at users", "value_error")
    items = definition.get("items")
    if is_reference(items):
        yield Violation((*loc, "items", "type"), "A field of a profile refers to one user", "nested_reference")
    if is_file(items):
        yield Violation((*loc, "items", "type"), "A field of a profile holds one file", "nested_file")
    yield from _find_faults(definition.get("properties"), (*loc, "properties"), depth + 1)
    yield from _find_faults({"items": items}, loc, depth + 1)

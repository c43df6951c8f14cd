"""Definitions → the `$jsonSchema` validator with which MongoDB judges every write, from wherever it comes.

Patterns are not in it, but those of the names of files: see `patterns`.

Source: https://www.mongodb.com/docs/manual/reference/operator/query/jsonSchema/
"""

from collections.abc import Mapping
from typing import Any

from service.bounds import MAX_LIVE_BYTES
from service.schema.fields import Field, Fields
from service.schema.file_urls import name_pattern
from service.schema.values import Kind

JsonSchema = dict[str, Any]

JSON_SCHEMA = "$jsonSchema"
VERSION = "version"
# The author of the last write, which no answer shows by this name.
BY = "by"
# The form in which `write_time` writes a time.
TIME_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$"

# No decimal: JSON has no such numbers, so one could not be sent back as it was stored.
BSON_TYPES: Mapping[Kind, tuple[str, ...]] = {
    Kind.STRING: ("string",),
    Kind.BOOLEAN: ("bool",),
    Kind.INTEGER: ("int", "long"),
    Kind.NUMBER: ("int", "long", "double"),
    Kind.DATETIME: ("date",),
    Kind.TIME_TEXT: ("string",),
    Kind.OBJECT: ("object",),
    Kind.ARRAY: ("array",),
    Kind.REFERENCE: ("string",),
    Kind.FILE: ("string",),
    Kind.ANY: (),
}


def validator(fields: Fields, *, realtime: bool = False) -> dict[str, Any]:
    """The validator of a collection of records {_id, data, created_at, updated_at, version?, by?}.

    `data` has these fields.

    A record that another program wrote has no version. In a collection that can be followed live, a record is small enough
    for an event that holds it twice.
    """
    if realtime:
        return {"$and": [validator(fields), {"$expr": {"$lte": [{"$bsonSize": "$$ROOT"}, int(MAX_LIVE_BYTES)]}}]}
    return {
        JSON_SCHEMA: {
            "bsonType": "object",
            "required": ["_id", "data", "created_at", "updated_at"],
            "additionalProperties": False,
            "properties": {
                "_id": {"bsonType": ["string"]},
                "data": _object(fields),
                "created_at": {"bsonType": ["date"]},
                "updated_at": {"bsonType": ["date"]},
                VERSION: {"bsonType": ["int", "long"]},
                BY: {"bsonType": ["string"]},
            },
        }
    }


def find_json_schema(validator: Mapping[str, Any]) -> JsonSchema:
    """The `$jsonSchema` in a validator of `validator` or `profile_validator`; empty without one."""
    found: JsonSchema = validator.get("$and", [validator])[0].get(JSON_SCHEMA, {})
    return found


def profile_validator(fields: Fields, *, additional: bool, complete: bool = True) -> dict[str, Any]:
    """The validator of users whose `data` has these fields, and no others unless `additional`.

    It does not look at the rest of a user. Without `complete` a field may be absent though it has a default.
    """
    if not fields and additional:
        return {}
    return {JSON_SCHEMA: {"properties": {"data": profile_schema(fields, additional=additional, complete=complete)}}}


def profile_schema(fields: Fields, *, additional: bool, complete: bool = True) -> JsonSchema:
    """The schema of the `data` of a user; see `profile_validator`."""
    left_out = {*(["additionalProperties"] if additional else []), *([] if complete else ["required"])}
    return {keyword: value for keyword, value in _object(fields).items() if keyword not in left_out}


def both(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The validator in force while a schema changes: both must hold.

    Its clauses have other numbers than those of `validator`.
    """
    return {"$and": [{}, {}, old, new]}


def value_schema(field: Field) -> JsonSchema:
    """The schema of one value of `field`."""
    schema = {key: value for key, value in _rules(field).items() if value is not None}
    if types := BSON_TYPES[field.kind]:
        schema["bsonType"] = [*types, "null"] if field.nullable else list(types)
    if field.enum is not None:
        # An enum is compared as a whole, so null must be one of its members where the field may be null.
        schema["enum"] = [*field.enum, None] if field.nullable else list(field.enum)
    if field.properties is not None:
        schema |= _object(field.properties) | {"bsonType": schema["bsonType"]}
    return schema


def _rules(field: Field) -> JsonSchema:
    rules: JsonSchema = {"minimum": field.minimum, "maximum": field.maximum}
    unit = "Items" if field.kind is Kind.ARRAY else "Length"
    rules |= {f"min{unit}": field.min_length, f"max{unit}": field.max_length}
    if field.kind is Kind.FILE:
        rules["pattern"] = name_pattern(field.types)
    if field.kind is Kind.TIME_TEXT:
        rules["pattern"] = TIME_PATTERN
    if field.items is not None:
        rules["items"] = value_schema(field.items)
    return rules


def _object(fields: Fields) -> JsonSchema:
    schema: JsonSchema = {
        "bsonType": ["object"],
        "additionalProperties": False,
        "properties": {name: value_schema(field) for name, field in fields.items()},
    }
    # MongoDB refuses an empty list here.
    if required := [name for name, field in fields.items() if field.required]:
        schema["required"] = required
    return schema

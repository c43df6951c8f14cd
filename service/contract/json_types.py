"""Definitions → JSON Schema (draft 2020-12, as OpenAPI 3.1 takes it): of rows, of new records and of changes. Pure."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from service.contract.model import Contract, Entity, Member, is_demanded, is_kept
from service.schema.fields import ABSENT, USERS, Field
from service.schema.values import Kind

Schema = dict[str, Any]
ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{24}$"}
TIME: Schema = {"type": "string", "format": "date-time"}
TYPES: Mapping[Kind, Schema] = {
    Kind.STRING: {"type": "string"},
    Kind.INTEGER: {"type": "integer"},
    Kind.NUMBER: {"type": "number"},
    Kind.BOOLEAN: {"type": "boolean"},
    Kind.DATETIME: TIME,
    Kind.REFERENCE: ID,
    Kind.FILE: {"type": "string"},
    Kind.OBJECT: {"type": "object", "additionalProperties": True},
    Kind.ARRAY: {"type": "array", "items": {}},
    Kind.ANY: {},
}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def object_of(properties: Mapping[str, Schema], required: Iterable[str], *, additional: bool = False) -> Schema:
    found: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": additional}
    return found | ({"required": needed} if (needed := list(required)) else {})


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def row_schema(entity: Entity, contract: Contract, *, is_certain: bool = True) -> Schema:
    """The `data` of a record that is read, with the records that may be populated in it."""
    members = {name: each for name, each in entity.members.items() if each.is_read}
    properties = {name: _member(each, "readOnly", each.is_written) for name, each in members.items()}
    related = {name: _related(name, entity, contract) for name in entity.relations}
    required = [name for name, each in members.items() if is_certain and each.is_present]
    return object_of(properties | related, required, additional=entity.additional)


def new_schema(entity: Entity) -> Schema:
    """The `data` of a new record. Files are not demanded, for they may come as parts of a form."""
    members = {name: each for name, each in entity.members.items() if each.is_written}
    required = [name for name, each in members.items() if each.is_demanded and not file_of(each.field)]
    return object_of(sent_properties(members), required, additional=entity.additional)


def change_schema(entity: Entity) -> Schema:
    """The fields of `data` that a change sets."""
    return object_of(sent_properties({name: each for name, each in entity.members.items() if each.is_changed}), ())


def sent_properties(members: Mapping[str, Member]) -> dict[str, Schema]:
    return {name: _member(each, "writeOnly", each.is_read) for name, each in members.items()}


def file_of(field: Field) -> bool:
    return (field.items or field).kind is Kind.FILE


def _member(member: Member, keyword: str, has_both: bool) -> Schema:
    return _described(member.field, is_new=keyword == "writeOnly") | ({} if has_both else {keyword: True})


def _related(name: str, entity: Entity, contract: Contract) -> Schema:
    """A record that a reference leads to, null where it is gone or may not be read; those of an array, without these."""
    target = entity.relations[name]
    email = {"email": {"type": "string"}} if target == USERS else {}
    one = object_of({"id": ID, "data": ref(contract.made[target]), **email}, ("id", "data"))
    return {"type": "array", "items": one} if name in entity.many else nullable(one)


def _described(field: Field, *, is_new: bool) -> Schema:
    """The schema of a field; a default stands in words, for makers of types demand what has a `default`."""
    found = _schema(field, is_new=is_new)
    if field.unique:
        found["x-unique"] = True
    if field.default is not ABSENT:
        found["description"] = f"Default: {json.dumps(field.default, ensure_ascii=False)}"
    return found


def _schema(field: Field, *, is_new: bool) -> Schema:
    make = SHAPES.get(field.kind)
    found = dict(TYPES[field.kind]) | _limits(field) | (make(field, is_new) if make else {})
    return nullable(found) if field.nullable else found


def _limits(field: Field) -> Schema:
    size = "Items" if field.kind is Kind.ARRAY else "Length"
    found = {
        **_values(field),
        "minimum": field.minimum,
        "maximum": field.maximum,
        f"min{size}": field.min_length,
        f"max{size}": field.max_length,
        # RE2's syntax is not that of ECMA, which JSON Schema means by `pattern`.
        "x-pattern": field.pattern,
        "x-collection": field.collection,
    }
    return {name: value for name, value in found.items() if value is not None}


def _values(field: Field) -> Schema:
    """The values of an enum. Makers of Python clients take no enum of fractions, and no constants of them."""
    if field.enum is None:
        return {}
    if any(isinstance(each, float) for each in field.enum):
        return {"x-enum": list(field.enum)}
    return {"enum": list(field.enum)}


def _object(field: Field, is_new: bool) -> Schema:
    if field.properties is None:
        return {}
    needed = is_demanded if is_new else is_kept
    properties = {name: _described(each, is_new=is_new) for name, each in field.properties.items()}
    return object_of(properties, (name for name, each in field.properties.items() if needed(each)))


def _array(field: Field, is_new: bool) -> Schema:
    return {"items": _described(field.items, is_new=is_new)} if field.items is not None else {}


SHAPES: Mapping[Kind, Callable[[Field, bool], Schema]] = {Kind.OBJECT: _object, Kind.ARRAY: _array}

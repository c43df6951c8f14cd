"""Judges values by a `$jsonSchema` as MongoDB does: it names the rules that a value breaks in the form of `errInfo`.

It knows the keywords that `json_schema` writes. Defaults are judged here, and the documents that a change of a schema
would break; MongoDB judges every write. The tests compare both judges.
"""

import re
from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from typing import Any

from service.errors import Invalid, Violation
from service.schema.documents import read_value
from service.schema.fields import Fields, defaults
from service.schema.json_schema import JsonSchema, value_schema
from service.schema.violations import translate_rules

Rule = dict[str, Any]
# It yields after each item of an array, so that other work can have its turn.
Rules = Generator[None, None, list[Rule]]
Violations = Generator[None, None, list[Violation]]

BSON_TYPES: Mapping[type, str] = {
    str: "string",
    bool: "bool",
    int: "long",
    float: "double",
    datetime: "date",
    dict: "object",
    list: "array",
    type(None): "null",
}
# Keyword → whether a value of the right type, which is not null, keeps the rule. NaN is neither small nor large enough.
SIMPLE: Mapping[str, Callable[[Any, Any], bool]] = {
    "maximum": lambda value, bound: value <= bound,
    "minimum": lambda value, bound: value >= bound,
    "minLength": lambda value, bound: len(value) >= bound,
    "maxLength": lambda value, bound: len(value) <= bound,
    "minItems": lambda value, bound: len(value) >= bound,
    "maxItems": lambda value, bound: len(value) <= bound,
    "pattern": lambda value, pattern: re.search(pattern, value) is not None,
    "enum": lambda value, values: value in values,
}


def judge_defaults(fields: Fields) -> Violations:
    """The violations of all defaults, each judged by its own definition and located where it stands in the schema."""
    found: list[Violation] = []
    for loc, field, default in defaults(fields):
        yield
        try:
            value = read_value(default, field)
        except Invalid as error:
            found += [Violation(loc, each.msg, each.type) for each in error.violations]
            continue
        rules = yield from find_broken_rules(value, value_schema(field))
        found += translate_rules(rules, loc)
    return found


def find_broken_rules(value: Any, schema: JsonSchema) -> Rules:
    """The rules of `schema` that `value` breaks. A value of the wrong type breaks that rule only."""
    if "bsonType" in schema and _bson_type(value) not in schema["bsonType"]:
        return [_rule("bsonType", schema)]
    if value is None:
        return []
    rules = [_rule(name, schema) for name, keeps in SIMPLE.items() if name in schema and not keeps(value, schema[name])]
    if "items" in schema:
        rules += yield from _judge_items(value, schema["items"])
    if "properties" in schema:
        rules += yield from _judge_object(value, schema)
    return rules


def _judge_items(values: list[Any], schema: JsonSchema) -> Rules:
    """MongoDB names the first item that breaks a rule, and no other."""
    for index, value in enumerate(values):
        yield
        if rules := (yield from find_broken_rules(value, schema)):
            return [{"operatorName": "items", "itemIndex": index, "details": rules}]
    return []


def _judge_object(value: Mapping[str, Any], schema: JsonSchema) -> Rules:
    properties, inner = schema["properties"], list[Rule]()
    for name in properties:
        if name in value and (rules := (yield from find_broken_rules(value[name], properties[name]))):
            inner.append({"propertyName": name, "details": rules})
    unknown = [name for name in value if name not in properties] if "additionalProperties" in schema else []
    absent = sorted(name for name in schema.get("required", ()) if name not in value)
    found: list[Rule] = [
        {"operatorName": "properties", "propertiesNotSatisfied": inner},
        {"operatorName": "additionalProperties", "additionalProperties": unknown},
        {"operatorName": "required", "missingProperties": absent},
    ]
    return [rule for rule, broken in zip(found, (inner, unknown, absent), strict=True) if broken]


def _rule(operator: str, schema: JsonSchema) -> Rule:
    return {"operatorName": operator, "specifiedAs": {operator: schema[operator]}}


def _bson_type(value: Any) -> str:
    """`long` for every whole number; no declared type accepts what another program stored in a type of its own."""
    return BSON_TYPES.get(type(value), "long" if isinstance(value, int) else "other")

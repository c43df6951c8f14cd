"""MongoDB's account of a refused document (`errInfo`) → the violations a client is shown, in the client's terms.

errInfo names every broken rule of every property, but of an array only the first item that breaks one, and of a very
large document nothing at all; then one violation says that the document does not fit.
Source: https://www.mongodb.com/docs/manual/core/schema-validation/handle-invalid-documents/
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from service.bounds import MAX_LIVE_BYTES
from service.errors import Location, Violation
from service.schema.file_urls import pattern_extensions
from service.schema.json_schema import BY, JSON_SCHEMA, TIME_PATTERN, VERSION
from service.schema.strict_json import shown

BODY: Location = ("body",)
MAX_LISTED = 20
UNKNOWN = Violation(("data",), "Does not fit the schema of this collection", "value_error")
TOO_LARGE = Violation(("data",), f"A record that can be followed live has at most {MAX_LIVE_BYTES} bytes", "too_large")

Detail = Mapping[str, Any]

# By the BSON types a field accepts: the stable type, and what the value must be.
WANTED: Mapping[frozenset[str], tuple[str, str]] = {
    frozenset({"string"}): ("string_type", "text"),
    frozenset({"bool"}): ("bool_type", "true or false"),
    frozenset({"int", "long"}): ("int_type", "a whole number"),
    frozenset({"int", "long", "double"}): ("float_type", "a number"),
    frozenset({"date"}): ("datetime_type", "an ISO 8601 date such as 2026-01-31 or 2026-01-31T12:00:00Z"),
    frozenset({"object"}): ("dict_type", "an object"),
    frozenset({"array"}): ("list_type", "an array"),
}


def translate(err_info: Mapping[str, Any], loc: Location = BODY) -> list[Violation]:
    """Every violation that `err_info` tells of, at least one; `loc` is put before the path within the record."""
    found = [violation.under(*loc) for clause in _clauses(err_info) for violation in _of_clause(clause)]
    return found or [UNKNOWN.under(*loc)]


def translate_rules(rules: Sequence[Detail], loc: Location) -> list[Violation]:
    """The violations of one value, which stands at `loc`, from the rules that it breaks."""
    return [violation.under(*loc) for violation in _rules(rules, ())]


def is_verdict(err_info: Mapping[str, Any]) -> bool:
    """True if it is the verdict of a collection's own validator, not of the one in force while a schema changes
    (`both`).
    """
    details = err_info.get("details", {})
    numbers = (clause["index"] for clause in details.get("clausesNotSatisfied", ()))
    return details.get("operatorName", JSON_SCHEMA) in {JSON_SCHEMA, "$and"} and all(number < 2 for number in numbers)


def _clauses(err_info: Mapping[str, Any]) -> list[Detail]:
    """The verdicts of the parts of a validator, which are one or two."""
    details = err_info.get("details", {})
    if details.get("operatorName") != "$and":
        return [details]
    return [clause["details"] for clause in details.get("clausesNotSatisfied", ())]


def _of_clause(details: Detail) -> Iterator[Violation]:
    if details.get("operatorName") == "$expr":
        yield TOO_LARGE
    yield from _rules(details.get("schemaRulesNotSatisfied", []), ())


def may_lack_version(err_info: Mapping[str, Any]) -> bool:
    """True if the validator that refused a record may be one from before records had versions, or authors."""
    if not is_verdict(err_info):
        return False
    schemas = [clause for clause in _clauses(err_info) if clause.get("operatorName", JSON_SCHEMA) == JSON_SCHEMA]
    rules = [rule for clause in schemas for rule in clause.get("schemaRulesNotSatisfied", [])]
    return (bool(schemas) and not rules) or any(
        not {VERSION, BY}.isdisjoint(rule.get("additionalProperties", [])) for rule in rules
    )


def _rules(rules: Sequence[Detail], loc: Location) -> Iterator[Violation]:
    """The violations of one value. A value of the wrong type breaks other rules only because of that."""
    types = [rule for rule in rules if rule.get("operatorName") == "bsonType"]
    for rule in types or rules:
        yield from _rule(rule, loc)


def _rule(rule: Detail, loc: Location) -> Iterator[Violation]:
    match rule.get("operatorName"):
        case "properties":
            for inner in rule.get("propertiesNotSatisfied", []):
                yield from _rules(inner.get("details", []), (*loc, inner["propertyName"]))
        case "items":
            yield from _rules(rule.get("details", []), (*loc, rule["itemIndex"]))
        case "required":
            for name in rule.get("missingProperties", []):
                yield Violation((*loc, name), "This field is required", "missing")
        case "additionalProperties":
            for name in rule.get("additionalProperties", []):
                yield Violation((*loc, name), "The schema declares no field of this name", "extra_forbidden")
        case operator:
            yield _broken(str(operator), rule.get("specifiedAs", {}), loc)


def _broken(operator: str, specified: Detail, loc: Location) -> Violation:
    if operator == "bsonType":
        return _wrong_type(specified["bsonType"], loc)
    if operator == "pattern" and (extensions := pattern_extensions(specified["pattern"])):
        return Violation(
            loc, f"Must be the URL of a file that the field has, one of: {', '.join(extensions)}", "file_url"
        )
    if operator == "pattern" and specified["pattern"] == TIME_PATTERN:
        return _wrong_type("date", loc)
    type_, say = SENTENCES.get(operator, ("value_error", lambda _: UNKNOWN.msg))
    return Violation(loc, say(specified.get(operator)), type_)


def _wrong_type(specified: str | list[str], loc: Location) -> Violation:
    types = frozenset([specified] if isinstance(specified, str) else specified)
    type_, wanted = WANTED.get(types - {"null"}, ("value_error", "of the declared type"))
    return Violation(loc, f"Must be {wanted} or null" if "null" in types else f"Must be {wanted}", type_)


def _choices(values: list[Any]) -> str:
    listed = ", ".join(_json(value) for value in values[:MAX_LISTED])
    more = len(values) - MAX_LISTED
    return f"Must be one of {listed}" + (f" and {more} others" if more > 0 else "")


def _json(value: Any) -> str:
    return shown(value) if isinstance(value, str) else json.dumps(value)


def _of(singular: str, text: str) -> Callable[[Any], str]:
    """A sentence about a count: `text` with {n} replaced, in the singular for one."""
    return lambda n: text.format(n=n, unit=singular if n == 1 else f"{singular}s")


too_many = _of("item", "Must have at most {n} {unit}")


def mismatch(pattern: str) -> Violation:
    """The violation of a text in which `pattern` is not found; the caller adds its place."""
    return Violation((), f"Must match the regular expression {pattern}", "string_pattern_mismatch")


SENTENCES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "enum": ("enum", _choices),
    "minimum": ("greater_than_equal", lambda bound: f"Must be at least {bound}"),
    "maximum": ("less_than_equal", lambda bound: f"Must be at most {bound}"),
    "minLength": ("string_too_short", _of("character", "Must have at least {n} {unit}")),
    "maxLength": ("string_too_long", _of("character", "Must have at most {n} {unit}")),
    "minItems": ("too_short", _of("item", "Must have at least {n} {unit}")),
    "maxItems": ("too_long", too_many),
    "pattern": ("string_pattern_mismatch", lambda pattern: mismatch(pattern).msg),
}

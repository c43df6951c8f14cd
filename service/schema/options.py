"""The options of a field definition: which types take which, and what each one's value must be."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from service.bounds import MAX_ENUM, MAX_FILE_BYTES, MAX_PATTERN, MAX_REFERENCES
from service.errors import Location, Violation
from service.schema.file_urls import EXTENSIONS
from service.schema.values import Kind
from service.schema.variants import check_variants

MAX_LENGTH_OPTION = 2**31 - 1
COLLECTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
COLLECTION_NAME_RULE = "Must begin with a letter and have 1 to 63 letters, digits, '_' or '-'"

EVERY = frozenset({"type", "required", "default"})
INDEXED = frozenset({"unique", "index"})
NUMERIC = EVERY | INDEXED | {"nullable", "enum", "min", "max"}
OPTIONS: Mapping[Kind, frozenset[str]] = {
    Kind.STRING: EVERY | INDEXED | {"nullable", "enum", "min_length", "max_length", "pattern"},
    Kind.BOOLEAN: EVERY | {"nullable", "index"},
    Kind.INTEGER: NUMERIC,
    Kind.NUMBER: NUMERIC,
    Kind.DATETIME: EVERY | INDEXED | {"nullable"},
    Kind.OBJECT: EVERY | {"nullable", "properties"},
    Kind.ARRAY: EVERY | {"nullable", "items", "min_length", "max_length", "index"},
    Kind.REFERENCE: EVERY | INDEXED | {"nullable", "collection"},
    Kind.FILE: frozenset({"type", "required", "nullable", "types", "max_bytes", "protected", "variants"}),
    Kind.ANY: EVERY | {"index"},
}
ENUM_MEMBER: Mapping[Kind, tuple[type, ...]] = {Kind.STRING: (str,), Kind.INTEGER: (int,), Kind.NUMBER: (int, float)}

Problem = tuple[str, str]
Check = Callable[[Any, Kind], Problem | None]


def check_option(option: str, value: Any, kind: Kind, *, top: bool) -> Problem | None:
    """The fault of one option of a definition of `kind`, as (type, msg), or None. `top`: not inside another."""
    if option not in OPTIONS[kind]:
        taken = ", ".join(sorted(OPTIONS[kind]))
        return "extra_forbidden", f"Not an option of the type {kind.value}, which takes {taken}"
    if option in INDEXED and not top:
        return "nested_index", "Only a field at the top level of a schema can be unique or have an index"
    check = CHECKS.get(option)
    return check(value, kind) if check else None


def check_pairs(definition: Mapping[str, Any], kind: Kind, loc: Location) -> Iterator[Violation]:
    """The rules between two options of one definition of `kind`."""
    for low, high in (("min", "max"), ("min_length", "max_length")):
        if _is_number(definition.get(low)) and _is_number(definition.get(high)) and definition[low] > definition[high]:
            yield Violation((*loc, low), f"Must not be greater than {high}", "value_error")
    if definition.get("unique") is True and "default" in definition:
        msg = "A unique field cannot have a default, for only one record could use it"
        yield Violation((*loc, "default"), msg, "value_error")
    if kind is Kind.REFERENCE and "collection" not in definition:
        msg = "A reference names the collection it points at, or users"
        yield Violation((*loc, "collection"), msg, "missing")
    if kind is Kind.FILE and "variants" in definition:
        yield from check_variants(definition, loc)
    if kind is Kind.ARRAY and is_reference(definition.get("items")) and _exceeds(definition.get("max_length")):
        yield Violation(
            (*loc, "max_length"), f"An array of references has at most {MAX_REFERENCES} items", "value_error"
        )
    if kind is Kind.ARRAY and is_file(definition.get("items")) and definition.get("default"):
        yield Violation((*loc, "default"), "A new document has no files but those that come with it", "value_error")


def is_file(definition: Any) -> bool:
    return isinstance(definition, dict) and definition.get("type") == Kind.FILE.value


def is_reference(definition: Any) -> bool:
    return isinstance(definition, dict) and definition.get("type") == Kind.REFERENCE.value


def _exceeds(length: Any) -> bool:
    return _is_number(length) and length > MAX_REFERENCES


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _boolean(value: Any, _: Kind) -> Problem | None:
    return None if isinstance(value, bool) else ("bool_type", "Must be true or false")


def _bound(value: Any, kind: Kind) -> Problem | None:
    if not _is_number(value):
        return "float_type", "Must be a number"
    if kind is Kind.INTEGER and not isinstance(value, int):
        return "int_type", "Must be a whole number, as the values of this field are"
    return None


def _length(value: Any, _: Kind) -> Problem | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_LENGTH_OPTION
    return None if fits else ("int_type", f"Must be a whole number from 0 to {MAX_LENGTH_OPTION}")


def _pattern(value: Any, _: Kind) -> Problem | None:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_PATTERN or "\x00" in value:
        return "string_type", f"Must be a regular expression of 1 to {MAX_PATTERN} characters"
    return None


def _enum(value: Any, kind: Kind) -> Problem | None:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_ENUM:
        return "list_type", f"Must be an array of 1 to {MAX_ENUM} values"
    if any(isinstance(each, bool) or not isinstance(each, ENUM_MEMBER[kind]) for each in value):
        return "value_error", f"Every value must be of the field's own type, {kind.value}; for null set nullable"
    if len(set(value)) != len(value):
        return "value_error", "Each value may occur only once"
    return None


def _collection(value: Any, _: Kind) -> Problem | None:
    fits = isinstance(value, str) and COLLECTION_NAME.fullmatch(value)
    return None if fits else ("value_error", COLLECTION_NAME_RULE)


def _types(value: Any, _: Kind) -> Problem | None:
    fits = isinstance(value, list) and value and all(each in EXTENSIONS for each in value)
    if not fits:
        return "list_type", f"Must be an array of some of {', '.join(EXTENSIONS)}"
    return ("value_error", "Each type may occur only once") if len(set(value)) < len(value) else None


def _file_bytes(value: Any, _: Kind) -> Problem | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_FILE_BYTES
    return None if fits else ("int_type", f"Must be a whole number from 1 to {MAX_FILE_BYTES}")


CHECKS: Mapping[str, Check] = {
    "required": _boolean,
    "nullable": _boolean,
    "unique": _boolean,
    "index": _boolean,
    "min": _bound,
    "max": _bound,
    "min_length": _length,
    "max_length": _length,
    "pattern": _pattern,
    "enum": _enum,
    "collection": _collection,
    "protected": _boolean,
    "types": _types,
    "max_bytes": _file_bytes,
}

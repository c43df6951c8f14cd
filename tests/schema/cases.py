"""One table of definitions with values that fit and values that do not, for the pure tests and for MongoDB."""

from dataclasses import dataclass, field
from typing import Any

Path = tuple[str | int, ...]
DATE = "an ISO 8601 date such as 2026-01-31 or 2026-01-31T12:00:00Z"


@dataclass(frozen=True)
class Bad:
    """A value of the field `f`, and what must be said of it: (path within `data`, type, msg) for each violation."""

    value: Any
    violations: list[tuple[Path, str, str]]


def bad(value: Any, type_: str, msg: str, *path: str | int) -> Bad:
    return Bad(value, [(("f", *path), type_, msg)])


@dataclass(frozen=True)
class Case:
    """The definition of the field `f`, with good and bad values of it."""

    name: str
    definition: dict[str, Any]
    good: list[Any]
    bad: list[Bad] = field(default_factory=list)


def string_type(*path: str | int) -> tuple[Path, str, str]:
    return ("f", *path), "string_type", "Must be text"


NOT_TEXT: list[Any] = [1, 1.5, True, None, [], {}]
NOT_NUMBERS: list[Any] = ["3", False, None, {}]

NESTED = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "required": True},
        "at": {"type": "datetime"},
        "stops": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer", "min": 1, "required": True}}},
        },
    },
}

CASES = [
    Case(
        "string",
        {"type": "string"},
        ["", "é\u0000\U0001f600", "2026-01-31", "x" * 100_000],
        [bad(value, "string_type", "Must be text") for value in NOT_TEXT],
    ),
    Case(
        "string, nullable",
        {"type": "string", "nullable": True},
        ["", None],
        [bad(1, "string_type", "Must be text or null")],
    ),
    Case(
        "string, lengths count characters",
        {"type": "string", "min_length": 2, "max_length": 3},
        ["ab", "äöü", "\U0001f600\U0001f600\U0001f600"],
        [
            bad("a", "string_too_short", "Must have at least 2 characters"),
            bad("abcd", "string_too_long", "Must have at most 3 characters"),
            bad("\U0001f600" * 4, "string_too_long", "Must have at most 3 characters"),
        ],
    ),
    Case(
        "string, one character",
        {"type": "string", "min_length": 1, "max_length": 1},
        ["a"],
        [
            bad("", "string_too_short", "Must have at least 1 character"),
            bad("ab", "string_too_long", "Must have at most 1 character"),
        ],
    ),
    Case(
        "string, enum",
        {"type": "string", "enum": ["R", "PG", 'a"b']},
        ["R", 'a"b'],
        [
            bad("r", "enum", 'Must be one of "R", "PG", "a\\"b"'),
            bad(1, "string_type", "Must be text"),
            bad(None, "string_type", "Must be text"),
        ],
    ),
    Case(
        "string, enum, nullable",
        {"type": "string", "enum": ["R"], "nullable": True},
        ["R", None],
        [bad("x", "enum", 'Must be one of "R", null')],
    ),
    Case(
        "string, pattern",
        {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"},
        ["a", "a-b"],
        [
            bad("A", "string_pattern_mismatch", "Must match the regular expression ^[a-z]+(-[a-z]+)*$"),
            bad("", "string_pattern_mismatch", "Must match the regular expression ^[a-z]+(-[a-z]+)*$"),
        ],
    ),
    Case(
        "string, pattern of classes of characters, found anywhere",
        {"type": "string", "pattern": "\\p{Lu}\\p{L}+"},
        ["Éa", "Жук", "1 Éa", "\x00Éa"],
        [bad("éa", "string_pattern_mismatch", "Must match the regular expression \\p{Lu}\\p{L}+")],
    ),
    Case(
        "string, every rule at once",
        {"type": "string", "min_length": 3, "enum": ["bcd"]},
        ["bcd"],
        [
            Bad(
                "a",
                [
                    (("f",), "string_too_short", "Must have at least 3 characters"),
                    (("f",), "enum", 'Must be one of "bcd"'),
                ],
            )
        ],
    ),
    Case(
        "boolean",
        {"type": "boolean"},
        [True, False],
        [bad(value, "bool_type", "Must be true or false") for value in (0, 1, "true", None)],
    ),
    Case(
        "boolean, nullable",
        {"type": "boolean", "nullable": True},
        [None],
        [bad(0, "bool_type", "Must be true or false or null")],
    ),
    Case(
        "integer",
        {"type": "integer"},
        [0, -1, 3.0, 2**31, 2**63 - 1, -(2**63)],
        [bad(value, "int_type", "Must be a whole number") for value in (3.5, 1e19, "3", True, None, [3])],
    ),
    Case(
        "integer, bounds",
        {"type": "integer", "min": 0, "max": 5},
        [0, 5, 5.0],
        [
            bad(-1, "greater_than_equal", "Must be at least 0"),
            bad(6, "less_than_equal", "Must be at most 5"),
            bad(4.5, "int_type", "Must be a whole number"),
        ],
    ),
    Case(
        "integer, enum, nullable",
        {"type": "integer", "enum": [1, 2], "nullable": True},
        [1, 2.0, None],
        [bad(3, "enum", "Must be one of 1, 2, null"), bad(True, "int_type", "Must be a whole number or null")],
    ),
    Case(
        "number",
        {"type": "number"},
        [0, 3, 3.5, -1e308, 2**63 - 1],
        [bad(value, "float_type", "Must be a number") for value in NOT_NUMBERS],
    ),
    Case(
        "number, bounds",
        {"type": "number", "min": -1.5, "max": 1},
        [-1.5, 1, 0],
        [
            bad(-1.6, "greater_than_equal", "Must be at least -1.5"),
            bad(1.1, "less_than_equal", "Must be at most 1"),
        ],
    ),
    Case(
        "number, enum", {"type": "number", "enum": [0.5, 1]}, [0.5, 1, 1.0], [bad(2, "enum", "Must be one of 0.5, 1")]
    ),
    Case(
        "datetime",
        {"type": "datetime"},
        ["2026-01-31", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123+02:00", "1800-01-01"],
        [bad(value, "datetime_type", f"Must be {DATE}") for value in ("today", "2026-02-30", "", 0, True, None)],
    ),
    Case(
        "datetime, nullable",
        {"type": "datetime", "nullable": True},
        [None, "2026-01-31"],
        [bad("x", "datetime_type", f"Must be {DATE} or null")],
    ),
    Case(
        "object, free", {"type": "object"}, [{}, {"a": {"b": [1, None]}}], [bad([], "dict_type", "Must be an object")]
    ),
    Case(
        "object, nullable",
        {"type": "object", "nullable": True},
        [{}, None],
        [bad(1, "dict_type", "Must be an object or null")],
    ),
    Case(
        "object, nothing declared",
        {"type": "object", "properties": {}},
        [{}],
        [
            bad({"a": 1}, "extra_forbidden", "The schema declares no field of this name", "a"),
        ],
    ),
    Case(
        "object, nested",
        NESTED,
        [{"city": "Bonn"}, {"city": "Bonn", "at": "2026-01-31", "stops": [{"n": 1}, {"n": 2.0}]}],
        [
            bad({}, "missing", "This field is required", "city"),
            bad(
                {"city": "Bonn", "stops": [{"n": 1}, {"n": 0}]},
                "greater_than_equal",
                "Must be at least 1",
                "stops",
                1,
                "n",
            ),
            bad({"city": "Bonn", "stops": [{}]}, "missing", "This field is required", "stops", 0, "n"),
            bad({"city": "Bonn", "stops": [{"n": 1}, 7]}, "dict_type", "Must be an object", "stops", 1),
            Bad(
                {"city": 1, "at": "soon", "x": 1, "y": 2},
                [
                    string_type("city"),
                    (("f", "at"), "datetime_type", f"Must be {DATE}"),
                    (("f", "x"), "extra_forbidden", "The schema declares no field of this name"),
                    (("f", "y"), "extra_forbidden", "The schema declares no field of this name"),
                ],
            ),
        ],
    ),
    Case("array, free", {"type": "array"}, [[], [1, "a", None, {"b": []}]], [bad({}, "list_type", "Must be an array")]),
    Case(
        "array, nullable",
        {"type": "array", "nullable": True},
        [[], None],
        [bad("", "list_type", "Must be an array or null")],
    ),
    Case(
        "array, lengths",
        {"type": "array", "min_length": 1, "max_length": 2},
        [[1], [1, 2]],
        [
            bad([], "too_short", "Must have at least 1 item"),
            bad([1, 2, 3], "too_long", "Must have at most 2 items"),
        ],
    ),
    Case(
        "array, items",
        {"type": "array", "items": {"type": "string"}},
        [[], ["a", "b"]],
        # MongoDB stops at the first item that does not fit.
        [Bad(["a", "b", 3, 4], [string_type(2)]), Bad([None], [string_type(0)])],
    ),
    Case(
        "array, nullable items",
        {"type": "array", "items": {"type": "datetime", "nullable": True}},
        [["2026-01-31", None]],
        [bad([None, 1], "datetime_type", f"Must be {DATE} or null", 1)],
    ),
    Case(
        "array, items with a pattern",
        {"type": "array", "items": {"type": "string", "pattern": "^a"}},
        [[], ["a", "ab"]],
        [bad(["a", "b", "c"], "string_pattern_mismatch", "Must match the regular expression ^a", 1)],
    ),
    Case(
        "array, of arrays",
        {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        [[], [[]], [[1, 2.0], [3]]],
        [bad([[1], [2, 3.5]], "int_type", "Must be a whole number", 1, 1)],
    ),
    Case("any", {"type": "any"}, [None, 1, 1.5, "a", True, [], {"a": [None]}]),
]

# The definition of a field, and every violation of it as (path below the definition, type).
BAD_DEFINITIONS: list[tuple[str, Any, list[tuple[Path, str]]]] = [
    ("not an object", "string", [((), "dict_type")]),
    ("no type", {}, [(("type",), "missing")]),
    ("unknown type", {"type": "text"}, [(("type",), "enum")]),
    ("type of the wrong type", {"type": ["string"]}, [(("type",), "enum")]),
    ("unknown key", {"type": "string", "requird": True}, [(("requird",), "extra_forbidden")]),
    ("option of another type", {"type": "string", "min": 1}, [(("min",), "extra_forbidden")]),
    ("nullable any", {"type": "any", "nullable": True}, [(("nullable",), "extra_forbidden")]),
    ("required as text", {"type": "string", "required": "yes"}, [(("required",), "bool_type")]),
    (
        "bounds as text",
        {"type": "number", "min": "1", "max": True},
        [(("min",), "float_type"), (("max",), "float_type")],
    ),
    ("a broken bound of integers", {"type": "integer", "min": 1.5}, [(("min",), "int_type")]),
    ("min above max", {"type": "number", "min": 2, "max": 1}, [(("min",), "value_error")]),
    ("lengths crossed", {"type": "array", "min_length": 2, "max_length": 1}, [(("min_length",), "value_error")]),
    ("a negative length", {"type": "string", "min_length": -1}, [(("min_length",), "int_type")]),
    ("a length past 32 bits", {"type": "string", "max_length": 2**31}, [(("max_length",), "int_type")]),
    ("an empty pattern", {"type": "string", "pattern": ""}, [(("pattern",), "string_type")]),
    ("a long pattern", {"type": "string", "pattern": "a" * 257}, [(("pattern",), "string_type")]),
    ("NUL in a pattern", {"type": "string", "pattern": "a\x00"}, [(("pattern",), "string_type")]),
    ("an empty enum", {"type": "string", "enum": []}, [(("enum",), "list_type")]),
    ("an enum of another type", {"type": "integer", "enum": [1, 1.5]}, [(("enum",), "value_error")]),
    ("null in an enum", {"type": "string", "enum": ["a", None]}, [(("enum",), "value_error")]),
    ("booleans in an enum", {"type": "number", "enum": [1, True]}, [(("enum",), "value_error")]),
    ("objects in an enum", {"type": "string", "enum": [{}]}, [(("enum",), "value_error")]),
    ("a repeated value in an enum", {"type": "number", "enum": [1, 1.0]}, [(("enum",), "value_error")]),
    ("items that are no definition", {"type": "array", "items": []}, [(("items",), "dict_type")]),
    ("properties that are no map", {"type": "object", "properties": 1}, [(("properties",), "dict_type")]),
    (
        "mistakes further in",
        {
            "type": "array",
            "items": {"type": "object", "properties": {"a.b": {"type": "x"}, "c": {"type": "string", "min": 1}}},
        },
        [
            (("items", "properties", "a.b"), "field_name"),
            (("items", "properties", "a.b", "type"), "enum"),
            (("items", "properties", "c", "min"), "extra_forbidden"),
        ],
    ),
    (
        "nested unique",
        {"type": "object", "properties": {"a": {"type": "string", "unique": True}}},
        [(("properties", "a", "unique"), "nested_index")],
    ),
    (
        "an index inside an array",
        {"type": "array", "items": {"type": "string", "index": True}},
        [(("items", "index"), "nested_index")],
    ),
    ("unique with a default", {"type": "string", "unique": True, "default": "a"}, [(("default",), "value_error")]),
    (
        "a nested reference",
        {"type": "object", "properties": {"a_id": {"type": "reference", "collection": "users"}}},
        [(("properties", "a_id", "type"), "nested_reference")],
    ),
    ("a collection on a string", {"type": "string", "collection": "users"}, [(("collection",), "extra_forbidden")]),
]

"""Unexpected values, drawn from a seeded source of chance."""

import random
from typing import Any

WORDS = (
    *(
        "",
        "0",
        "-1",
        "1.5",
        "1e999",
        "NaN",
        "null",
        "true",
        "$gt",
        "$where",
        "a.b",
        "__proto__",
        "constructor",
        "*",
        "'",
    ),
    *(
        "../../etc/passwd",
        "%00",
        "{}",
        "[]",
        "(a+)+$",
        "2026-01-01T00:00:00Z",
        "9999-99-99",
        "things",
        "users",
        "me.png",
    ),
    *("\x00", "\n", "\t", "\x7f", "\ud800", "\u202e", "\ufeff", "\u00df", "\u0130", "\U0001f600", "e\u0301", "9" * 30),
    *("x" * 300, "x" * 5_000, "ann@example.com", "ANN@EXAMPLE.COM ", "ann@\u00e9xample.com", "a,b", '"a', "0" * 24),
)
NAMES = (
    *("id", "_id", "email", "password", "data", "name", "schema", "type", "fields", "items", "properties", "default"),
    *("created_at", "updated_at", "oauth_id", "token_version", "required", "unique", "pattern", "enum", "collection"),
    *("friend_id", "number", "tags", "min", "max_length", "nullable", "metadata", "length", "files"),
)
OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "contains", "icontains", "in", "isnull", "regex", "where")
PARAMETERS = (
    "limit",
    "offset",
    "count",
    "sort_by",
    "sort_order",
    "populate",
    "where",
    "fields",
    "cursor",
    "field",
    "state",
    "code",
    "error",
    "dry_run",
)
NUMBERS = (0, -1, 1.5, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**40, 1e308, float("nan"), float("inf"))


def text(chance: random.Random) -> str:
    if chance.random() < 0.7:
        return chance.choice(WORDS)
    return "".join(chr(chance.choice((chance.randrange(0x20, 0x7F), chance.randrange(0x3000)))) for _ in range(8))


def name(chance: random.Random) -> str:
    return chance.choice(NAMES) if chance.random() < 0.7 else text(chance)


def value(chance: random.Random, depth: int = 0) -> Any:
    """Any JSON value, and Python values that its encoder writes although they are no JSON."""
    kind = chance.randrange(8 if depth < 3 else 5)
    if kind == 5:
        return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 6:
        return {name(chance): value(chance, depth + 1) for _ in range(chance.randrange(4))}
    if kind == 7:
        return nested(chance.choice((31, 33, 200)))
    return (text(chance), chance.choice(NUMBERS), None, True, name(chance))[kind]


def nested(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


def condition(chance: random.Random) -> tuple[str, str]:
    """One pair of a query string."""
    if chance.random() < 0.3:
        return chance.choice(PARAMETERS), text(chance)
    field = ".".join(name(chance) for _ in range(chance.choice((1, 1, 1, 2, 3, 6))))
    return f"{field}_{chance.choice(OPERATORS)}", text(chance)


def raw(chance: random.Random, length: int) -> bytes:
    return chance.randbytes(chance.randrange(length))

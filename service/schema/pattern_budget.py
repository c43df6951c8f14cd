"""How often one document may have its patterns matched: MongoDB cannot be interrupted while it judges a document.

One match is cut short by the engine after some ten milliseconds, but an array may ask for thousands of them. So a
schema must bound such arrays, and one that is too long does not reach the database: its validator would refuse it, but
only after it matched every item.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from service.errors import Location, Violation
from service.schema.fields import Field, Fields
from service.schema.violations import too_many

MAX_MATCHES = 500
TOO_MANY = Violation(
    (),
    f"A pattern inside arrays needs max_length on each of them, for at most {MAX_MATCHES} items in all",
    "pattern_budget",
)


def check_patterns(fields: Fields, loc: Location, matches: float = 1) -> Iterator[Violation]:
    """The patterns that one document could have matched too often; `matches` of the fields' own object."""
    for name, field in fields.items():
        yield from _check(field, (*loc, name), matches)


def _check(field: Field, loc: Location, matches: float) -> Iterator[Violation]:
    if field.pattern is not None and matches > MAX_MATCHES:
        yield TOO_MANY.under(*loc, "pattern")
    if field.properties is not None:
        yield from check_patterns(field.properties, (*loc, "properties"), matches)
    if field.items is not None:
        items = field.max_length if field.max_length is not None else float("inf")
        yield from _check(field.items, (*loc, "items"), matches * items)


def guarded(fields: Fields) -> Fields:
    """Those of `fields` that have arrays with patterns in them."""
    return {name: field for name, field in fields.items() if _is_guarded(field, in_array=False)}


def check_lengths(data: Mapping[str, Any], fields: Fields, loc: Location) -> Iterator[Violation]:
    """The arrays in `data` that are longer than the `guarded` fields allow, in the validator's own words."""
    for name, field in fields.items():
        yield from _too_long(data.get(name), field, (*loc, name))


def _is_guarded(field: Field, *, in_array: bool) -> bool:
    if field.items is not None:
        return _is_guarded(field.items, in_array=True)
    inner = (field.properties or {}).values()
    return (in_array and field.pattern is not None) or any(_is_guarded(each, in_array=in_array) for each in inner)


def _too_long(value: Any, field: Field, loc: Location) -> Iterator[Violation]:
    if isinstance(value, dict) and field.properties is not None:
        yield from check_lengths(value, field.properties, loc)
    elif isinstance(value, list) and field.items is not None:
        if field.max_length is not None and len(value) > field.max_length:
            yield Violation(loc, too_many(field.max_length), "too_long")
        else:
            for position, each in enumerate(value):
                yield from _too_long(each, field.items, (*loc, position))

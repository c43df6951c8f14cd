"""The options of a collection beside its fields: live queries, compound unique keys, and compound indexes.

{"realtime": true, "unique": [["board_id", "user_id"]], "indexes": [["status", "-due"]]}
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from service.bounds import MAX_COMPOUND_FIELDS, MAX_COMPOUNDS
from service.errors import Location, Violation
from service.schema.fields import Field, Fields
from service.schema.options import INDEXED, OPTIONS
from service.schema.strict_json import shown
from service.schema.values import Kind

# Times of the record itself, which a compound index may name beside declared fields.
RECORD_TIMES = frozenset({"created_at", "updated_at"})
UNIQUE_KINDS = frozenset({Kind.BOOLEAN, *(kind for kind, taken in OPTIONS.items() if taken >= INDEXED)})
# A value of the other kinds may hold several arrays, or differ in form from one document to the next.
INDEXED_KINDS = UNIQUE_KINDS | {Kind.ARRAY}
Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CollectionOptions:
    """`unique` are lists of fields whose values together no two documents share.

    `indexes` are lists of sort keys; a key that begins with `-` is descending.
    """

    realtime: bool = False
    unique: tuple[Names, ...] = ()
    indexes: tuple[Names, ...] = ()

    def merged(self, changes: Mapping[str, Any]) -> "CollectionOptions":
        """The options after `changes`, which have those that are set, as JSON has them."""
        return replace(self, **{name: _frozen(value) for name, value in changes.items()})

    def as_json(self) -> dict[str, Any]:
        """All options, as a definition is shown; compounds only where there are some."""
        listed = {"unique": self.unique, "indexes": self.indexes}
        return {"realtime": self.realtime} | {name: [*map(list, each)] for name, each in listed.items() if each}


OPTION_NAMES = ("realtime", "unique", "indexes")
NO_OPTIONS = CollectionOptions()


def read_options(record: Mapping[str, Any]) -> CollectionOptions:
    """The options in a stored definition, or in a body that was checked; those it lacks have their defaults."""
    return NO_OPTIONS.merged({name: record[name] for name in OPTION_NAMES if name in record})


def _frozen(value: Any) -> Any:
    return value if isinstance(value, bool) else tuple(map(tuple, value))


def read_key(key: str) -> tuple[str, bool]:
    """The field that a sort key names, and True if it is descending."""
    return key.removeprefix("-"), key.startswith("-")


def check_compounds(options: CollectionOptions, fields: Fields) -> Iterator[Violation]:
    """All that is wrong with the compound keys and indexes of a collection of `fields`.

    A list that is too long is refused for that alone: a body has room for 200,000 of them.
    """
    listed = [*_check_lists("unique", options.unique), *_check_lists("indexes", options.indexes)]
    if listed:
        yield from listed
        return
    for place, name in _named("unique", options.unique):
        yield from _check_name(place, name, fields.get(name), UNIQUE_KINDS)
    for place, key in _named("indexes", options.indexes):
        name, _ = read_key(key)
        if name not in RECORD_TIMES:
            yield from _check_name(place, name, fields.get(name), INDEXED_KINDS)
    for number, keys in enumerate(options.indexes):
        arrays = [name for name, _ in map(read_key, keys) if name in fields and fields[name].kind is Kind.ARRAY]
        if len(arrays) > 1:
            yield Violation(("body", "indexes", number), "An index may have one array", "parallel_arrays")


def _check_lists(option: str, compounds: Sequence[Names]) -> Iterator[Violation]:
    if len(compounds) > MAX_COMPOUNDS:
        yield Violation(("body", option), f"At most {MAX_COMPOUNDS} lists of fields", "too_long")
        return
    seen = set[frozenset[str] | Names]()
    for number, keys in enumerate(compounds):
        names = [read_key(key)[0] if option == "indexes" else key for key in keys[: MAX_COMPOUND_FIELDS + 1]]
        if not 2 <= len(names) <= MAX_COMPOUND_FIELDS or len(set(names)) < len(names):
            msg = f"Must name 2 to {MAX_COMPOUND_FIELDS} different fields"
            yield Violation(("body", option, number), msg, "compound_fields")
            continue
        identity = frozenset(names) if option == "unique" else canonical(keys)
        if identity in seen:
            yield Violation(("body", option, number), "Another list of fields means the same", "duplicate")
        seen.add(identity)


def canonical(keys: Names) -> Names:
    """The keys of an index in the direction in which the first is descending: an index is read both ways.

    So no compound index has the keys of an index that is built for rules, whose keys are all ascending.
    """
    if not keys or keys[0].startswith("-"):
        return keys
    return tuple(name if is_descending else f"-{name}" for name, is_descending in map(read_key, keys))


def _named(option: str, compounds: Sequence[Names]) -> Iterator[tuple[Location, str]]:
    for number, names in enumerate(compounds):
        for position, name in enumerate(names):
            yield ("body", option, number, position), name


def _check_name(place: Location, name: str, field: Field | None, kinds: frozenset[Kind]) -> Iterator[Violation]:
    if field is None:
        yield Violation(place, f"There is no such field: {shown(name)}", "value_error")
    elif field.kind not in kinds:
        taken = ", ".join(sorted(kind.value for kind in kinds))
        yield Violation(place, f"{shown(name)} is of the type {field.kind.value}; possible are {taken}", "field_type")

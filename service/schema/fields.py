"""Field definitions: the `schema` object of a collection, read into frozen values with every mistake named.

{"title": {"type": "string", "required": true, "max_length": 80}} → {"title": Field(STRING, required=True, ...)}

`defaults` lists the defaults that `conformance` judges, `patterns` the patterns that RE2 must know.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from service.bounds import MAX_FIELDS, MAX_FILE_BYTES, MAX_INDEXES, MAX_REFERENCES, MAX_SCHEMA_DEPTH
from service.errors import Invalid, Location, Violation
from service.schema.file_urls import EXTENSIONS
from service.schema.options import OPTIONS, check_option, check_pairs, is_reference
from service.schema.strict_json import shown
from service.schema.values import Kind, check_data, check_name
from service.schema.variants import Variants, build_variants

LOC: Location = ("body", "schema")
RELATION_SUFFIX = "_id"
# The end of the name of an array of references.
RELATIONS_SUFFIX = "_ids"
USERS = "users"
# A value, its type and its name or its position.
VALUE_BYTES = 16
# Bytes of an array's place at the top level.
ELEMENT = len(LOC) + 2


class Absent(Enum):
    """The type of ABSENT: no default was declared, which is not the same as a default of null."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Field:
    """One definition. `minimum` and `maximum` bound numbers; `min_length` and `max_length` text and arrays.

    `collection` is what a reference points at: the name of a collection, or `users`. `types` are the extensions of files, and
    `max_bytes` their length; those that are `protected` are read by signed URLs only, and `variants` are made of images.
    `default_size` is about the bytes of the default, and `defaulted` are those of the `properties` that have one.
    `works` is true where reading a value means more than checking it: a date, a whole number, a file, a default, here or
    further in.
    """

    kind: Kind
    required: bool = False
    nullable: bool = False
    default: Any = ABSENT
    enum: tuple[Any, ...] | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    items: "Field | None" = None
    properties: "Fields | None" = None
    unique: bool = False
    index: bool = False
    collection: str | None = None
    types: tuple[str, ...] = EXTENSIONS
    max_bytes: int = MAX_FILE_BYTES
    protected: bool = False
    variants: Variants | None = None
    works: bool = False
    default_size: int = 0
    defaulted: "Fields | None" = None


Fields = Mapping[str, Field]


def parse(schema: Mapping[str, Any]) -> Fields:
    """The fields of a declared schema, which came from strict JSON. Raises Invalid with all violations at once.

    Names, types, options and their values are checked, and that relations do not collide.
    """
    violations = list(_schema_problems(schema))
    if violations:
        raise Invalid(violations)
    return build(schema)


def build(schema: Mapping[str, Any]) -> Fields:
    """The fields of a schema that `parse` accepted before."""
    return {name: _field(definition) for name, definition in schema.items()}


def relation(name: str) -> str:
    """The name under which what `name` refers to is populated: author_id → author, and of an array tag_ids → tags."""
    if name.endswith(RELATIONS_SUFFIX):
        return f"{name.removesuffix(RELATIONS_SUFFIX)}s"
    return name.removesuffix(RELATION_SUFFIX)


def target_of(field: Field) -> str | None:
    """The collection, or `users`, that the id or the ids in `field` point at; None for a field of another type."""
    return (field.items or field).collection


def targets(fields: Fields) -> dict[str, str]:
    """Field → the collection that its id or its ids point at, or `users`: {"author_id": "users", "tag_ids": "tags"}."""
    return {name: target for name, field in fields.items() if (target := target_of(field)) is not None}


def references(fields: Fields) -> dict[str, str]:
    """Relation → the collection it points at, or `users`: {"author": "users", "tags": "tags"}."""
    return {relation(name): target for name, target in targets(fields).items()}


def files_of(fields: Fields) -> Fields:
    """The fields that hold files, or arrays of them: name → the definition of a file there."""
    found = {name: field.items or field for name, field in fields.items()}
    return {name: field for name, field in found.items() if field.kind is Kind.FILE}


def defaults(fields: Fields, loc: Location = LOC) -> Iterator[tuple[Location, Field, Any]]:
    """Every default at every depth, as (where it stands, the definition it must fit, its value)."""
    for place, field in _walk(fields, loc):
        if field.default is not ABSENT:
            yield (*place, "default"), field, field.default


def patterns(fields: Fields, loc: Location = LOC) -> Iterator[tuple[Location, str]]:
    """Every pattern at every depth, as (where it stands, the pattern)."""
    for place, field in _walk(fields, loc):
        if field.pattern is not None:
            yield (*place, "pattern"), field.pattern


def _walk(fields: Fields, loc: Location) -> Iterator[tuple[Location, Field]]:
    for name, field in fields.items():
        yield from _walk_field(field, (*loc, name))


def _walk_field(field: Field, loc: Location) -> Iterator[tuple[Location, Field]]:
    yield loc, field
    if field.items is not None:
        yield from _walk_field(field.items, (*loc, "items"))
    if field.properties is not None:
        yield from _walk(field.properties, (*loc, "properties"))


def _schema_problems(schema: Mapping[str, Any]) -> Iterator[Violation]:
    yield from _map_problems(schema, LOC, 1)
    if _count(schema, 1) > MAX_FIELDS:
        yield Violation(LOC, f"A schema may declare at most {MAX_FIELDS} fields, nested ones included", "too_long")
    if sum(map(_indexes, schema.values())) > MAX_INDEXES:
        msg = f"At most {MAX_INDEXES} indexes: one for each index or reference, one for each unique"
        yield Violation(LOC, msg, "too_long")
    yield from _name_problems(schema)


def _name_problems(schema: Mapping[str, Any]) -> Iterator[Violation]:
    """The references whose names make no relation of their own."""
    taken = set(schema)
    for name, definition in schema.items():
        if not _refers(definition):
            continue
        suffix = RELATION_SUFFIX if is_reference(definition) else RELATIONS_SUFFIX
        if not _is_named(name, suffix) or relation(name) in taken:
            of = "<relation>_id" if suffix == RELATION_SUFFIX else "<x>_ids, for the relation <x>s"
            msg = f"This reference is named {of}, and no other field or relation has the name of its relation"
            yield Violation((*LOC, shown(name)[1:-1]), msg, "reference_name")
        taken.add(relation(name))


def _is_named(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and name != suffix


def _count(fields: Any, depth: int) -> int:
    """The number of definitions a schema holds, valid or not; those too deep are refused, not counted."""
    if not isinstance(fields, dict) or depth > MAX_SCHEMA_DEPTH:
        return 0
    return sum(1 + _count_inside(inner, depth + 1) for inner in fields.values())


def _count_inside(definition: Any, depth: int) -> int:
    if not isinstance(definition, dict):
        return 0
    items = definition.get("items")
    return _count(definition.get("properties"), depth) + (_count({"items": items}, depth) if items else 0)


def _indexes(definition: Any) -> int:
    if not isinstance(definition, dict):
        return 0
    own = _refers(definition) or definition.get("index") is True
    return own + (definition.get("unique") is True)


def _refers(definition: Any) -> bool:
    """True for a reference, and for an array of them."""
    return is_reference(definition) or (isinstance(definition, dict) and is_reference(definition.get("items")))


def _map_problems(fields: Any, loc: Location, depth: int) -> Iterator[Violation]:
    if not isinstance(fields, dict):
        yield Violation(loc, "Must be an object: a map from field name to field definition", "dict_type")
        return
    for name, definition in fields.items():
        place = (*loc, shown(name)[1:-1])
        if problem := check_name(name):
            yield Violation(place, problem, "field_name")
        yield from _problems(definition, place, depth)


def _problems(definition: Any, loc: Location, depth: int) -> Iterator[Violation]:
    if depth > MAX_SCHEMA_DEPTH:
        yield Violation(loc, f"Definitions may be nested {MAX_SCHEMA_DEPTH} deep", "too_deep")
    elif not isinstance(definition, dict):
        yield Violation(loc, 'Must be a field definition such as {"type": "string"}', "dict_type")
    elif (kind := _kind(definition)) is None:
        known = ", ".join(kind.value for kind in OPTIONS)
        yield Violation((*loc, "type"), f"Must be one of {known}", "enum" if "type" in definition else "missing")
    else:
        yield from _option_problems(definition, kind, loc, top=depth == 1)
        yield from check_pairs(definition, kind, loc)
        if isinstance(definition.get("properties"), dict) or ("properties" in definition and kind is Kind.OBJECT):
            yield from _map_problems(definition["properties"], (*loc, "properties"), depth + 1)
        if "items" in definition and kind is Kind.ARRAY:
            yield from _problems(definition["items"], (*loc, "items"), depth + 1)


def _kind(definition: Mapping[str, Any]) -> Kind | None:
    declared = definition.get("type")
    return next((kind for kind in OPTIONS if kind.value == declared), None)


def _option_problems(definition: Mapping[str, Any], kind: Kind, loc: Location, *, top: bool) -> Iterator[Violation]:
    for option, value in definition.items():
        if problem := check_option(option, value, kind, top=top):
            type_, msg = problem
            yield Violation((*loc, shown(option)[1:-1]), msg, type_)
        elif option == "default":
            yield from check_data({option: value}, loc)
    if kind is Kind.REFERENCE and not top and len(loc) > ELEMENT:
        msg = "Only the top level of a schema can have a reference, or an array of references"
        yield Violation((*loc, "type"), msg, "nested_reference")
    if kind is Kind.FILE and not top and len(loc) > ELEMENT:
        msg = "Only the top level of a schema can have a file, or an array of files"
        yield Violation((*loc, "type"), msg, "nested_file")


def _field(definition: Mapping[str, Any]) -> Field:
    kind = Kind(definition["type"])
    items = _field(definition["items"]) if "items" in definition else None
    inner = definition.get("properties")
    properties = {name: _field(each) for name, each in inner.items()} if inner is not None else None
    return Field(
        kind,
        required=definition.get("required", False),
        nullable=definition.get("nullable", False),
        default=definition.get("default", ABSENT),
        enum=tuple(definition["enum"]) if "enum" in definition else None,
        minimum=definition.get("min"),
        maximum=definition.get("max"),
        min_length=definition.get("min_length"),
        max_length=definition.get(
            "max_length", int(MAX_REFERENCES) if items and items.collection is not None else None
        ),
        pattern=definition.get("pattern"),
        items=items,
        properties=properties,
        unique=definition.get("unique", False),
        index=definition.get("index", False),
        collection=definition.get("collection"),
        types=tuple(definition.get("types", EXTENSIONS)),
        max_bytes=definition.get("max_bytes", MAX_FILE_BYTES),
        protected=definition.get("protected", False),
        variants=build_variants(definition["variants"]) if "variants" in definition else None,
        works=_works(kind, items, properties),
        default_size=_size(definition.get("default")),
        defaulted={name: each for name, each in (properties or {}).items() if each.default is not ABSENT},
    )


def _size(value: Any) -> int:
    """About the bytes that MongoDB keeps of a value of JSON."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return VALUE_BYTES + sum(map(_size, inner)) + (len(value.encode()) if isinstance(value, str) else 0)


def _works(kind: Kind, items: Field | None, properties: Fields | None) -> bool:
    if kind in {Kind.DATETIME, Kind.INTEGER, Kind.FILE}:
        return True
    if items is not None:
        return items.works
    return any(field.works or field.default is not ABSENT for field in (properties or {}).values())

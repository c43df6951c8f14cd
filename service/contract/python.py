"""A contract as Python, format 1 of the generated types: typed dictionaries that name the types of the library. Pure."""

import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from service.contract.filters import EQUAL, ORDERED, SEARCHED, Group, Key, keys_of, operators_of
from service.contract.model import Contract, Entity, Member, is_demanded, is_kept
from service.contract.names import name_parts
from service.contract.written import Room, WrittenTypes
from service.schema.fields import USERS, Field, Fields, target_of
from service.schema.values import Kind

HEADER = "# auth-collections types 1. Generated: change the schema, not this file.\n# ruff: noqa\n# fmt: off"
TYPING = frozenset({"TYPE_CHECKING", "Any", "Literal", "NotRequired", "TypedDict"})
SEQUENCE = "Sequence"
PLAIN = {Kind.STRING: "str", Kind.INTEGER: "int", Kind.NUMBER: "float", Kind.BOOLEAN: "bool"}
BOUND = "float | TimeInput"
OWN = ("created_at", "updated_at")
# They yield the types of objects that stand before what they return.
TypeOf = Generator[str, None, str]
TypesOf = Generator[str, None, dict[str, str]]


def write_python(contract: Contract) -> WrittenTypes:
    """The text, and the parts of each collection and of the users in it. Raises TooLarge."""
    writer, room = _PythonWriter(contract), Room()
    rows = {
        each.name: room.take("\n".join(writer.write_rows(each))) for each in (contract.users, *contract.collections)
    }
    filters = {each.name: room.take("".join(writer.write_conditions(each))) for each in contract.collections}
    block = writer.write_filters(filters)
    refs = "\n".join(writer.write_refs())
    head = "\n".join((HEADER, *writer.write_imports()))
    text = "\n\n".join([head, "\n".join(rows.values()), *block, refs]) + "\n"
    return WrittenTypes(text, {name: (row, filters.get(name, "")) for name, row in rows.items()})


@dataclass(slots=True)
class _PythonWriter:
    """Writes the parts of a text; `used` are the names in them that must be imported."""

    contract: Contract
    used: set[str] = field(default_factory=lambda: {"TypedDict", "CollectionRef", "UserWhere"})

    def write_imports(self) -> Iterator[str]:
        typing = sorted(self.used & TYPING, key=lambda name: (not name.isupper(), name))
        library = sorted(self.used - TYPING - {SEQUENCE})
        if SEQUENCE in self.used:
            yield "from collections.abc import Sequence"
        yield f"from typing import {', '.join(typing)}"
        yield f"\nfrom auth_collections_client import {', '.join(library)}"

    def write_rows(self, entity: Entity) -> Iterator[str]:
        """The type of a record and of a new one, each behind those of the objects inside it."""
        read = {name: each for name, each in entity.members.items() if each.is_read}
        written = {name: each for name, each in entity.members.items() if each.is_written}
        related = [self._related(name, target, many=name in entity.many) for name, target in entity.relations.items()]
        yield from self._row(entity.made, read, is_new=False, more=related)
        yield from self._row(f"New{entity.made}", written, is_new=True)

    def _row(self, made: str, members: dict[str, Member], *, is_new: bool, more: Iterable[str] = ()) -> Iterator[str]:
        fields = {name: each.field for name, each in members.items()}
        types = yield from self._types(fields, made, is_new=is_new)
        needed = {name: each.is_demanded if is_new else each.is_present for name, each in members.items()}
        lines = [self._line(name, types[name], needed=needed[name]) for name in members]
        yield _dictionary(made, [*lines, *more])

    def _types(self, fields: Fields, made: str, *, is_new: bool) -> TypesOf:
        """The type of each field; yields the types of objects inside, which stand before it."""
        places = {name: place for place, (name, each) in enumerate(fields.items()) if _has_object(each)}
        parts = name_parts(places)
        found: dict[str, str] = {}
        for name, each in fields.items():
            found[name] = yield from self._type(each, f"{made}_{parts.get(name, '')}", is_new=is_new)
        return found

    def _type(self, declared: Field, made: str, *, is_new: bool) -> TypeOf:
        if declared.enum is not None:
            found = self._enum(declared)
        else:
            found = yield from self._single(declared, made, is_new=is_new)
        return f"{found} | None" if declared.nullable else found

    def _single(self, declared: Field, made: str, *, is_new: bool) -> TypeOf:
        match declared.kind:
            case Kind.DATETIME:
                return self._use("TimeInput" if is_new else "Time")
            case Kind.REFERENCE:
                return self._use("Id")
            case Kind.FILE:
                return self._use("Upload" if is_new else "FileUrl")
            case Kind.OBJECT if declared.properties is not None:
                types = yield from self._types(declared.properties, made, is_new=is_new)
                yield _dictionary(made, self._lines(declared.properties, types, is_new=is_new))
                return made
            case Kind.OBJECT:
                return f"dict[str, {self._use('Any')}]"
            case Kind.ARRAY if declared.items is not None:
                inner = yield from self._type(declared.items, f"{made}_Item", is_new=is_new)
                return f"list[{inner}]"
            case Kind.ARRAY:
                return f"list[{self._use('Any')}]"
        return PLAIN.get(declared.kind) or self._use("Any")

    def _lines(self, fields: Fields, types: dict[str, str], *, is_new: bool) -> Iterator[str]:
        needed = is_demanded if is_new else is_kept
        return (self._line(name, types[name], needed=needed(each)) for name, each in fields.items())

    def _line(self, name: str, found: str, *, needed: bool) -> str:
        value = found if needed else f"{self._use('NotRequired')}[{found}]"
        return f"    {_text(name)}: {value},\n"

    def _related(self, name: str, target: str, *, many: bool) -> str:
        one = f"{self._use('Related')}[{self.contract.made[target]}]"
        found = f"list[{one}]" if many else f"{one} | None"
        return self._line(name, f'"{found}"', needed=False)

    def _enum(self, declared: Field) -> str:
        """Python has no literals of fractions."""
        values = declared.enum or ()
        if any(isinstance(each, float) for each in values):
            return "float"
        literals = (_text(each) if isinstance(each, str) else str(each) for each in values)
        return f"{self._use('Literal')}[{', '.join(literals)}]"

    def write_filters(self, lines: Mapping[str, str]) -> list[str]:
        """The block of conditions: first those that relations lead to, then those of each collection."""
        collections = self.contract.collections
        if not collections:
            return []
        named = {target_of(each.field) for entity in collections for each in entity.members.values()}
        keys = [_dictionary_of(f"{each.made}Keys", lines[each.name]) for each in collections if each.name in named]
        wheres = [
            _dictionary_of(f"{each.made}Where", f"{lines[each.name]}        {self._logic(each)}\n")
            for each in collections
        ]
        return [f"if {self._use('TYPE_CHECKING')}:\n" + "\n".join([*keys, *wheres])]

    def write_conditions(self, entity: Entity) -> Iterator[str]:
        """The conditions on a record's own fields, a line for each path."""
        yield self._write("id", (*EQUAL, "in", "isnull"), self._use("Id"))
        for name in OWN:
            yield self._write(name, (*EQUAL, *ORDERED, "in", "isnull"), self._use("TimeInput"))
        for key in keys_of(entity.readable):
            yield self._write(key.path, operators_of(key), self._values(key))

    def _write(self, path: str, operators: Iterable[str], values: str) -> str:
        found = (f"{_text(f'{path}_{each}')}: {self._operand(each, values)}" for each in operators)
        return f"        {', '.join(found)},\n"

    def _operand(self, operator: str, values: str) -> str:
        match operator:
            case "isnull":
                return "bool"
            case "in" | "hasall":
                return f"{self._use(SEQUENCE)}[{values}]"
            case _ if operator in SEARCHED:
                return "str"
            case _ if operator in ORDERED and values == "Scalar":
                return BOUND
        return values

    def _values(self, key: Key) -> str:
        if key.field.enum is not None:
            return self._enum(key.field)
        match key.group, key.field.kind:
            case Group.TIME, _:
                return self._use("TimeInput")
            case Group.ANY, _:
                self._use("TimeInput")
                return self._use("Scalar")
            case _, Kind.REFERENCE:
                return self._use("Id")
        return PLAIN.get(key.field.kind, "str")

    def _logic(self, entity: Entity) -> str:
        where = f'"{entity.made}Where"'
        logic = f'"and": list[{where}], "or": list[{where}], "not": {where},'
        made = self.contract.made
        related = (
            f" {_text(name)}: {self._use('UserKeys') if target == USERS else made[target] + 'Keys'},"
            for name, target in entity.filtered.items()
        )
        return logic + "".join(related)

    def write_refs(self) -> Iterator[str]:
        yield 'UsersRef: CollectionRef[User, NewUser, UserWhere] = CollectionRef("users")'
        for each in self.contract.collections:
            made = each.made
            ref = f'{made}Ref: CollectionRef[{made}, New{made}, "{made}Where"]'
            yield f"{ref} = CollectionRef({_text(each.name)})"

    def _use(self, name: str) -> str:
        self.used.add(name)
        return name


def _has_object(declared: Field) -> bool:
    """True if the field's type needs a name of its own."""
    if declared.items is not None:
        return _has_object(declared.items)
    return declared.properties is not None


def _dictionary(made: str, lines: Iterable[str]) -> str:
    inner = "".join(lines)
    return f'{made} = TypedDict("{made}", {{\n{inner}}})' if inner else f'{made} = TypedDict("{made}", {{}})'


def _dictionary_of(made: str, lines: str) -> str:
    return f'    {made} = TypedDict("{made}", {{\n{lines}    }}, total=False)'


def _text(text: str) -> str:
    """A literal in ASCII."""
    return json.dumps(text).replace("\x7f", "\\u007f")

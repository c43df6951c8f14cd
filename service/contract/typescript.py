"""A contract as TypeScript, format 1 of the generated types: interfaces that name the types of the client library. Pure."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from service.contract.filters import Group, Key, keys_of
from service.contract.model import Contract, Entity, Member, find_counted, is_demanded, is_kept
from service.contract.written import Room, WrittenTypes
from service.schema.fields import USERS, Field
from service.schema.values import Kind

HEADER = "// auth-collections types 1. Generated: change the schema, not this file."
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# DEL, C1, the line ends and the byte order mark of Unicode, and all controls of direction (UAX 9).
UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
PLAIN = {
    Kind.STRING: "string",
    Kind.INTEGER: "number",
    Kind.NUMBER: "number",
    Kind.BOOLEAN: "boolean",
    Kind.ANY: "unknown",
}
USER_KEYS = "Keys.User & Keys.Free"


def write_typescript(contract: Contract) -> WrittenTypes:
    """The text, and the part of each collection and of the users in it. Raises TooLarge."""
    writer, room = _TypeScriptWriter(contract), Room()
    parts = {USERS: room.take(writer.write_users())}
    parts |= {each.name: room.take(writer.write_collection(each)) for each in contract.collections}
    imports = f'import type {{ {", ".join(sorted(writer.used))} }} from "@auth-collections/client";'
    text = "\n\n".join([f"{HEADER}\n{imports}", *parts.values(), writer.write_schema()]) + "\n"
    return WrittenTypes(text, {name: (part,) for name, part in parts.items()})


@dataclass(slots=True)
class _TypeScriptWriter:
    """Writes the parts of a text; `used` are the library's names in them."""

    contract: Contract
    used: set[str] = field(default_factory=lambda: {"Keys"})

    def write_users(self) -> str:
        users = self.contract.users
        free = ["Keys.Free"] if users.additional else []
        bases = ", ".join(["Keys.User", *self._groups(users), *free])
        body = "".join(f"{each} " for each in self._relations(users)) + _logic("UserWhere")
        where = f"export interface UserWhere extends {bases} {{ {body} }}"
        return f"{self._rows(users)}\n{where}"

    def write_collection(self, entity: Entity) -> str:
        keys, where = f"{entity.made}Keys", f"{entity.made}Where"
        bases = ", ".join(["Keys.Own", *self._groups(entity)])
        body = "".join(f"{each} " for each in self._relations(entity))
        return "\n".join(
            (
                self._rows(entity),
                f"export interface {keys} extends {bases} {{ {body}}}",
                f"export interface {where} extends {keys} {{ {_logic(where)} }}",
            )
        )

    def write_schema(self) -> str:
        contract = self.contract
        counted = {name: f"; counted: {_union(each)}" for name, each in find_counted(contract.collections).items()}
        lines = [
            f"    {_name(each.name)}: {{ data: {each.made}; create: New{each.made}; where: {each.made}Where; "
            f"unique: {_union(each.unique) or 'never'}{counted.get(each.name, '')} }};\n"
            for each in contract.collections
        ]
        users = f"data: User; create: NewUser; where: UserWhere{counted.get(USERS, '')}"
        return f"export interface Schema {{\n  users: {{ {users} }};\n  collections: {{\n{''.join(lines)}  }};\n}}"

    def _rows(self, entity: Entity) -> str:
        more = "  [field: string]: unknown;\n" if entity.additional else ""
        row = (self._line(name, each, is_new=False) for name, each in entity.members.items() if each.is_read)
        new = (self._line(name, each, is_new=True) for name, each in entity.members.items() if each.is_written)
        return (
            f"export interface {entity.made} {{\n{''.join(row)}{more}}}\n"
            f"export interface New{entity.made} {{\n{''.join(new)}{more}}}"
        )

    def _line(self, name: str, member: Member, *, is_new: bool) -> str:
        needed = member.is_demanded if is_new else member.is_present
        return f"  {self._property(name, member.field, is_new=is_new, needed=needed)}\n"

    def _property(self, name: str, declared: Field, *, is_new: bool, needed: bool) -> str:
        return f"{_name(name)}{'' if needed else '?'}: {self._type(declared, is_new=is_new)};"

    def _type(self, declared: Field, *, is_new: bool) -> str:
        return " | ".join(self._alternatives(declared, is_new=is_new))

    def _alternatives(self, declared: Field, *, is_new: bool) -> list[str]:
        found = _literals(declared) if declared.enum is not None else [self._single(declared, is_new=is_new)]
        return [*found, "null"] if declared.nullable else found

    def _single(self, declared: Field, *, is_new: bool) -> str:
        match declared.kind:
            case Kind.DATETIME:
                return self._use("TimeInput" if is_new else "Time")
            case Kind.REFERENCE:
                return f"{self._use('Id')}<{_text(declared.collection or '')}>"
            case Kind.FILE:
                names = _union(declared.variants or ())
                return self._use("Upload") if is_new else self._use("FileUrl") + (f"<{names}>" if names else "")
            case Kind.OBJECT:
                return self._object(declared, is_new=is_new)
            case Kind.ARRAY if declared.items is not None:
                found = self._alternatives(declared.items, is_new=is_new)
                return f"({' | '.join(found)})[]" if len(found) > 1 else f"{found[0]}[]"
            case Kind.ARRAY:
                return "unknown[]"
        return PLAIN[declared.kind]

    def _object(self, declared: Field, *, is_new: bool) -> str:
        if not declared.properties:
            return f"Record<string, {'unknown' if declared.properties is None else 'never'}>"
        needed = is_demanded if is_new else is_kept
        inner = (
            self._property(name, each, is_new=is_new, needed=needed(each)) for name, each in declared.properties.items()
        )
        return f"{{ {' '.join(inner)} }}"

    def _groups(self, entity: Entity) -> list[str]:
        """`Keys.Text<"title" | "name">`, each group at the place of its first path."""
        groups: dict[tuple[str, str], list[str]] = {}
        for key in keys_of(entity.readable):
            for group, value, path in self._memberships(key):
                groups.setdefault((group, value), []).append(_text(path))
        return [
            f"Keys.{group}<{' | '.join(paths)}{f', {value}' if value else ''}>"
            for (group, value), paths in groups.items()
        ]

    def _memberships(self, key: Key) -> Iterator[tuple[str, str, str]]:
        """The groups of a path, each with the type of its values where the group does not say it."""
        values = self._values(key)
        yield key.group.value, values if key.group is Group.VALUE else "", key.path
        if key.many and key.group not in {Group.NULL, Group.ANY}:
            yield "List", self._use(values) if key.group is Group.TIME else values, key.path
        if key.is_open:
            yield "Inside", "", key.inner

    def _values(self, key: Key) -> str:
        if key.field.enum is not None:
            return " | ".join(_literals(key.field))
        return "TimeInput" if key.group is Group.TIME else PLAIN.get(key.field.kind, "string")

    def _relations(self, entity: Entity) -> Iterator[str]:
        made = self.contract.made
        for name, target in entity.filtered.items():
            yield f"{_name(name)}?: {USER_KEYS if target == USERS else made[target] + 'Keys'};"

    def _use(self, name: str) -> str:
        self.used.add(name)
        return name


def _logic(where: str) -> str:
    return f"and?: {where}[]; or?: {where}[]; not?: {where}"


def _union(names: Iterable[str]) -> str:
    return " | ".join(map(_text, names))


def _literals(declared: Field) -> list[str]:
    return [_text(each) if isinstance(each, str) else json.dumps(each) for each in declared.enum or ()]


def _name(name: str) -> str:
    return name if NAME.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    """A literal of nothing but data: what could hide or turn the text around it is escaped."""
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))

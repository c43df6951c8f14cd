"""All rules of a project, read from the document that `PUT /api/rules` takes, every mistake named with its place. Pure.

{"sets": {name: {"from": collection, "where": where, "take": field}},
 "users": {"read": rule, "fields": {path: {"read": rule, "write": "server", "protected": true}}},
 "assign": {role: rule}, "tests": [...],
 "collections": {name: {"read", "create", "delete": rule, "update": rule | {"before", "after"} | [pairs], "fields": {...}}}}
"""

import re
from collections.abc import Mapping
from typing import Any

from service.bounds import MAX_FIELD_CONDITIONS, MAX_SETS, MAX_TRANSITIONS
from service.errors import Invalid, Location
from service.query.shapes import Shape
from service.query.tree import Tree
from service.rules.grammar import RuleScope
from service.rules.reader import RulesReader, check_chains
from service.rules.ruleset import (
    CREATE,
    ROLE,
    ROLE_RULE,
    SERVER,
    USERS,
    CollectionRules,
    FieldRules,
    Rules,
    SetRule,
    Transition,
)
from service.rules.stored_tests import read_tests
from service.rules.templates import SET_PREFIX, USER_ID, VARIABLE_KINDS, Variable
from service.schema.steps import Steps
from service.schema.strict_json import shown
from service.schema.values import Kind

BODY: Location = ("body",)
KEYS = ("sets", "users", "assign", "tests", "collections")
SET_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def read_rules(
    document: Mapping[str, Any],
    shapes: Mapping[str, Shape],
    targets: Mapping[str, Mapping[str, str]],
    *,
    is_new: bool = False,
) -> Steps[Rules]:
    """Reads the rules of a document, one in each step. Raises Invalid with all that is wrong.

    `shapes` are those of the declared collections and of `users`, by name; `targets` says of each collection which of
    its relations leads to which collection. A document `is_new` when it is to be saved: a stored one that exceeds a
    later bound stays in force.
    """
    reader = RulesReader(shapes, targets, dict(VARIABLE_KINDS), is_new)
    parts = reader.mapping(dict(document), BODY, KEYS)
    named = {name: reader.mapping(parts.get(name, {}), (*BODY, name)) for name in ("sets", "assign", "collections")}
    reader.variables |= _server_fields(parts.get(USERS))
    sets = _sets(reader, named["sets"])
    users = (yield from _users(reader, parts[USERS])) if USERS in parts else None
    collections: dict[str, CollectionRules] = {}
    for name, each in named["collections"].items():
        collections[name] = yield from _collection(reader, name, each)
    rules = Rules(
        document=document,
        sets=sets,
        users=users,
        assign=_assign(reader, named["assign"]),
        collections=collections,
        tests=read_tests(parts.get("tests", []), (*BODY, "tests"), reader.violations, shapes.keys()),
        variables=reader.variables,
    )
    yield from check_chains(reader, rules)
    if reader.violations:
        raise Invalid(reader.violations)
    return rules


def _server_fields(users: Any) -> dict[str, Kind]:
    """The variables that a user's own record gives: only fields that no user can write."""
    fields = users.get("fields") if isinstance(users, dict) else None
    declared = fields.items() if isinstance(fields, dict) else ()
    return {
        f"user.{path}": Kind.ANY
        for path, rules in declared
        if isinstance(rules, dict) and rules.get("write") == SERVER and path.startswith("data.")
    }


def _sets(reader: RulesReader, sets: Mapping[str, Any]) -> dict[str, SetRule]:
    if len(sets) > MAX_SETS:
        reader.refuse((*BODY, "sets"), f"At most {MAX_SETS} sets", "too_long")
    found = {name: _set(reader, name, each, (*BODY, "sets", shown(name)[1:-1])) for name, each in sets.items()}
    return {name: each for name, each in found.items() if each is not None}


def _set(reader: RulesReader, name: str, value: Any, loc: Location) -> SetRule | None:
    reader.variables[f"{SET_PREFIX}{name}"] = Kind.ANY
    parts = reader.mapping(value, loc, ("from", "where", "take"))
    if not SET_NAME.fullmatch(name):
        reader.refuse(loc, "A set's name has 1 to 64 of a-z, 0-9 and _, and begins with a letter")
    for missing in {"from", "where", "take"} - parts.keys():
        reader.refuse((*loc, missing), "This field is required", "missing")
    collection = parts.get("from")
    shape = reader.shapes.get(collection) if isinstance(collection, str) else None
    if shape is None or len(parts) < 3:
        if "from" in parts and shape is None:
            reader.refuse((*loc, "from"), "There is no collection of this name", "collection_not_found")
        return None
    take = shape.field(tuple(parts["take"].split("."))) if isinstance(parts["take"], str) else None
    if take is None:
        reader.refuse((*loc, "take"), "There is no such field in this collection")
        return None
    reader.variables[f"{SET_PREFIX}{name}"] = take.kind
    if reader.is_new and not isinstance(parts["where"], dict):
        reader.refuse(loc, 'A set\'s `where` is an object of entries, such as {"user_id_eq": "$user.id"}', "dict_type")
        return None
    where = reader.own_rule(parts["where"], (*loc, "where"), reader.scope(collection, without_sets=True))
    return SetRule(shape.collection, take.path, where)


def _assign(reader: RulesReader, assign: Mapping[str, Any]) -> dict[str, Tree]:
    """Role → who may give it and take it away; such a rule is about the caller alone."""
    loc: Location = (*BODY, "assign")
    for role in assign:
        if not ROLE.fullmatch(role):
            reader.refuse((*loc, shown(role)[1:-1]), ROLE_RULE)
    # The rules of `assign` are bound without sets: a condition on one never holds.
    scope = reader.scope(None, without_sets=reader.is_new)
    return {role: reader.rule(rule, (*loc, role), scope) for role, rule in assign.items()}


def _users(reader: RulesReader, value: Any) -> Steps[CollectionRules]:
    loc: Location = (*BODY, USERS)
    parts = reader.mapping(value, loc, ("read", "fields"))
    scope = reader.scope(USERS)
    fields: dict[str, FieldRules] = {}
    for path, each in reader.mapping(parts.get("fields", {}), (*loc, "fields")).items():
        yield
        fields[path.removeprefix("data.")] = _user_field(reader, path, each, (*loc, "fields", path))
    rules = CollectionRules(read=reader.rule(parts.get("read", False), (*loc, "read"), scope), fields=fields)
    _check_field_conditions(reader, rules, (*loc, "fields"))
    return rules


def _check_field_conditions(reader: RulesReader, rules: CollectionRules, loc: Location) -> None:
    """The rules of fields are all judged on each record that is shown."""
    if reader.is_new and (count := rules.count_field_conditions()) > MAX_FIELD_CONDITIONS:
        msg = f"All rules of a collection's fields have at most {MAX_FIELD_CONDITIONS} conditions together, not {count}"
        reader.refuse(loc, msg, "too_long")


def _user_field(reader: RulesReader, path: str, value: Any, loc: Location) -> FieldRules:
    name = path.removeprefix("data.")
    # `data.email` is never stored: whoever writes it means the address, whose rule has another name.
    if path != "email" and (not path.startswith("data.") or "." in name or name in {"", "email"}):
        reader.refuse(loc, "A field of users is email, or data.<name>")
    parts = reader.mapping(value, loc, ("read", "write", "protected"))
    if "write" in parts and (parts["write"] != SERVER or path == "email"):
        reader.refuse(
            (*loc, "write"), 'Users write their own fields; a field of data may be "server", for servers alone'
        )
    if "protected" in parts and (not isinstance(parts["protected"], bool) or path == "email"):
        reader.refuse((*loc, "protected"), "Must be true or false, for a field of data that holds a file")
    read = reader.own_rule(parts["read"], (*loc, "read"), reader.scope(USERS)) if "read" in parts else None
    return FieldRules(read, parts.get("write"), protected=parts.get("protected") is True)


def _collection(reader: RulesReader, name: str, value: Any) -> Steps[CollectionRules]:
    loc: Location = (*BODY, "collections", shown(name)[1:-1])
    if name not in reader.shapes or name == USERS:
        reader.refuse(loc, "There is no collection of this name", "collection_not_found")
        return CollectionRules()
    parts = reader.mapping(value, loc, ("read", "create", "update", "delete", "fields"))
    scope = reader.scope(name)
    fields: dict[str, FieldRules] = {}
    for path, each in reader.mapping(parts.get("fields", {}), (*loc, "fields")).items():
        yield
        fields[path.removeprefix("data.")] = _field(reader, path, each, (*loc, "fields", path), scope)
    yield
    rules = CollectionRules(
        read=reader.rule(parts.get("read", False), (*loc, "read"), scope),
        create=reader.rule(parts.get("create", False), (*loc, "create"), scope),
        delete=reader.rule(parts.get("delete", False), (*loc, "delete"), scope),
        updates=(yield from _updates(reader, parts.get("update", False), (*loc, "update"), scope)),
        fields=fields,
    )
    _check_field_conditions(reader, rules, (*loc, "fields"))
    return rules


def _updates(reader: RulesReader, update: Any, loc: Location, scope: RuleScope) -> Steps[tuple[Transition, ...]]:
    if isinstance(update, list):
        if not update:
            reader.refuse(loc, 'Must have at least one {"before": rule, "after": rule}', "list_type")
        if reader.is_new and len(update) > MAX_TRANSITIONS:
            reader.refuse(loc, f"Must have at most {MAX_TRANSITIONS} transitions, not {len(update)}", "too_long")
            return ()
        found: list[Transition] = []
        for number, each in enumerate(update):
            yield
            found.append(_transition(reader, each, (*loc, number), scope))
        return tuple(found)
    if isinstance(update, dict) and update.keys() & {"before", "after"}:
        return (_transition(reader, update, loc, scope),)
    rule = reader.rule(update, loc, scope)
    return () if rule is False else (Transition(rule, rule),)


def _transition(reader: RulesReader, pair: Any, loc: Location, scope: RuleScope) -> Transition:
    parts = reader.mapping(pair, loc, ("before", "after"))
    for missing in {"before", "after"} - parts.keys():
        reader.refuse((*loc, missing), "This field is required", "missing")
    before, after = (reader.rule(parts.get(key, False), (*loc, key), scope) for key in ("before", "after"))
    return Transition(before, after)


def _field(reader: RulesReader, path: str, value: Any, loc: Location, scope: RuleScope) -> FieldRules:
    name = path.removeprefix("data.")
    if scope.shape is None or "." in name or scope.shape.field(("data", name)) is None:
        reader.refuse(loc, "There is no such field at the top level of this collection's schema")
    if isinstance(value, dict) and "protected" in value:
        msg = "Only the files of users can be protected; a field of a collection holds none"
        reader.refuse((*loc, "protected"), msg, "extra_forbidden")
        value = {key: each for key, each in value.items() if key != "protected"}
    parts = reader.mapping(value, loc, ("read", "write", "set"))
    read = reader.own_rule(parts["read"], (*loc, "read"), scope) if "read" in parts else None
    write = parts.get("write")
    if write not in (SERVER, CREATE, None):
        write = reader.rule(write, (*loc, "write"), scope)
    if "set" in parts and parts["set"] != f"${USER_ID}":
        reader.refuse((*loc, "set"), f'Must be "${USER_ID}"')
    return FieldRules(read, write, Variable(USER_ID) if "set" in parts else None)

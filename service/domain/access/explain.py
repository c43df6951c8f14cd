"""Why rules allow or refuse something: the verdict on one attempt, and what each condition of its rules found."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from service.domain.access.agreement import DeclaredShapes, find_shapes
from service.domain.access.caller import AnonymousCaller, ProjectCaller, UserCaller
from service.domain.access.control import AccessControl
from service.domain.access.relations import settle
from service.domain.projects.lookup import Project
from service.domain.steps import judge
from service.errors import CollectionNotFound, DocumentNotFound, Invalid, Location, Unauthorized, UserNotFound
from service.query.matcher import values_at
from service.query.reading import Reading
from service.query.tree import Leaf, Tree, has_relations, leaves, to_filter
from service.rules.compiled import CompiledRules, read_needs
from service.rules.grammar import RuleScope, read_rule, scope_of
from service.rules.permissions import Permissions
from service.rules.ruleset import SetRule
from service.rules.stored_tests import stored_form
from service.rules.templates import SET_PREFIX, Values, Variable, VariableLeaf, bind
from service.rules.writes import check_unchanged, creation_condition, creation_data, guard_change
from service.schema.documents import complete
from service.schema.steps import finish

USERS = "users"
ANYONE = "anyone"
# The rules that each action is judged by, and which image of the record each of them looks at.
RULES_OF: Mapping[str, tuple[tuple[str, str], ...]] = {
    "read": (("read", "before"),),
    "create": (("create", "after"),),
    "update": (("read", "before"), ("update", "both")),
    "delete": (("read", "before"), ("delete", "before")),
}
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """`user_id` is None for a guest. `roles`, where they are given, stand in for the user's own.

    With `roles` and no `user_id` it is about a user of these roles, of whom nothing else is known.
    """

    action: str
    collection: str
    user_id: str | None = None
    roles: tuple[str, ...] | None = None
    id: str | None = None
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ExplainedDecision:
    """`because` has for each condition its place in the rules, what it wanted, what it found, and whether it holds.

    `sets` has for each set that the rules need its values, or why it is unknown.
    """

    allowed: bool
    because: list[dict[str, Any]]
    sets: dict[str, Any]
    plan: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Case:
    """One question, the values of who asks, and the record before and after the action, as far as there is one."""

    project: Project
    scope: RuleScope
    document: Mapping[str, Any]
    values: Values
    permissions: Permissions
    before: Record | None
    after: Record | None


async def explain(project: Project, control: AccessControl, question: Question) -> ExplainedDecision:
    """Raises UserNotFound, CollectionNotFound, DocumentNotFound, and Invalid for an action that lacks what it needs."""
    compiled, shapes = await control.rules(project), await find_shapes(project.database)
    rules = compiled.rules.of(question.collection)
    if rules is None or question.collection not in shapes:
        raise CollectionNotFound
    _check(question)
    values = await control.values(await _caller(project, question), compiled, rules, roles=question.roles)
    permissions = Permissions(rules, values)
    before = await _stored(project, shapes, question) if question.id else None
    case = _Case(
        project=project,
        scope=scope_of(question.collection, compiled.rules.variables, shapes, shapes.targets),
        document=_document(compiled, question.collection),
        values=values,
        permissions=permissions,
        before=before,
        after=_after(permissions, shapes, question, before),
    )
    because = [entry async for entry in _because(case, question.action)]
    sets = {
        name: _found_in_set(compiled.rules.sets[name], name, values)
        for name in finish(read_needs(rules, compiled.rules)).sets
    }
    return ExplainedDecision(await _verdict(case, question), because, sets, await _plan(case, shapes, question))


def _found_in_set(rule: SetRule, name: str, values: Values) -> Any:
    """The values of a set; else {"unknown": why}."""
    found = values.known.get(f"{SET_PREFIX}{name}")
    if found is not None:
        return list(found)
    return {"unknown": "missing_variable" if bind(rule.where, values) is False else "too_large"}


def _check(question: Question) -> None:
    if question.collection == USERS and question.action != "read":
        raise Invalid.one(("body", "action"), "The rules of users are about reading them")
    if question.action in {"update", "delete"} and question.id is None:
        raise Invalid.one(("body", "id"), "Field required", type_="missing")
    if question.action in {"create", "update"} and question.data is None:
        raise Invalid.one(("body", "data"), "Field required", type_="missing")


async def _caller(project: Project, question: Question) -> ProjectCaller:
    if question.user_id is None:
        return AnonymousCaller(project)
    facts = await project.users.find_facts(question.user_id)
    if facts is None:
        raise UserNotFound
    return UserCaller(project, question.user_id, facts.version)


async def _stored(project: Project, shapes: DeclaredShapes, question: Question) -> Record:
    records = project.database.records(shapes.mongo_collections[question.collection])
    found = await records.find({"_id": question.id})
    if found is None:
        raise UserNotFound if question.collection == USERS else DocumentNotFound
    return found


def _document(compiled: CompiledRules, collection: str) -> Mapping[str, Any]:
    """The rules of a collection as they were sent."""
    sent = compiled.rules.document
    found: Mapping[str, Any] = sent[USERS] if collection == USERS else sent["collections"][collection]
    return found


def _after(
    permissions: Permissions, shapes: DeclaredShapes, question: Question, before: Record | None
) -> Record | None:
    """The record as the action would make it; None for an action that makes none, or is refused before it does."""
    data = question.data or {}
    if question.action == "create":
        try:
            return stored_form(complete(creation_data(permissions, data), shapes.fields(question.collection)))
        except (Invalid, Unauthorized):
            return None
    if question.action == "update" and before is not None:
        return {**before, "data": {**before["data"], **data}}
    return None


async def _verdict(case: _Case, question: Question) -> bool:
    data = question.data or {}
    if question.action == "create":
        return case.after is not None and await _holds(case, creation_condition(case.permissions, data), case.after)
    if case.before is None:
        return case.permissions.read is not False
    if question.action != "update":
        tree = case.permissions.delete if question.action == "delete" else case.permissions.read
        return await _holds(case, tree, case.before)
    change = finish(guard_change(case.permissions, data))
    try:
        check_unchanged(case.permissions, change.unchanged, Reading(case.before))
    except Invalid:
        return False
    return await _holds(case, change.condition, case.before)


async def _holds(case: _Case, tree: Tree, record: Record) -> bool:
    reading, database = Reading(record), case.project.database
    return await judge(database, await settle(database, tree, reading), reading)


async def _because(case: _Case, action: str) -> Any:
    for name, image in RULES_OF[action]:
        for at, rule, record in _images(case, name, image):
            for place, template in _conditions(rule, at, case.scope):
                yield await _entry(case, place, template, record)


def _images(case: _Case, name: str, image: str) -> Iterator[tuple[Location, Any, Record | None]]:
    """The rules of an action, each with the record that it looks at."""
    rule = case.document.get(name, False)
    if image != "both":
        yield (name,), rule, case.before if image == "before" else case.after
        return
    for number, pair in enumerate(rule if isinstance(rule, list) else [rule]):
        at: Location = (name, number) if isinstance(rule, list) else (name,)
        is_pair = isinstance(pair, dict) and pair.keys() & {"before", "after"}
        yield (*at, "before") if is_pair else at, pair["before"] if is_pair else pair, case.before
        yield (*at, "after") if is_pair else at, pair["after"] if is_pair else pair, case.after


def _conditions(rule: Any, at: Location, scope: RuleScope) -> Iterator[tuple[Location, Tree]]:
    """Each condition of a rule by itself, with its place."""
    if not isinstance(rule, dict):
        yield at, read_rule(rule, at, scope)[0]
        return
    for key, value in rule.items():
        if key == "not":
            yield from _conditions(value, (*at, key), scope)
        elif key in {"and", "or"}:
            for number, each in enumerate(value):
                yield from _conditions(each, (*at, key, number), scope)
        else:
            yield (*at, key), read_rule({key: value}, at, scope)[0]


async def _entry(case: _Case, at: Location, template: Tree, record: Record | None) -> dict[str, Any]:
    bound = bind(template, case.values)
    holds = bound if isinstance(bound, bool) else record is not None and await _holds(case, bound, record)
    return {"at": list(at), "wanted": _wanted(template, bound), "found": _found(case, template, record), "holds": holds}


def _wanted(template: Tree, bound: Tree) -> Any:
    leaf = next(iter(leaves(template)), None)
    if leaf is None:
        return template
    known = bound if isinstance(bound, Leaf) and isinstance(leaf, Leaf) else leaf
    value = getattr(known, "value", getattr(leaf, "word", "read"))
    if isinstance(value, Variable):
        return None
    return list(value) if isinstance(value, tuple) else value


def _found(case: _Case, template: Tree, record: Record | None) -> Any:
    """The value that a condition is about, one or several; None where there is none."""
    leaf = next(iter(leaves(template)), None)
    if isinstance(leaf, VariableLeaf):
        value = case.values.value(leaf.variable)
        return list(value) if isinstance(value, tuple) else value
    path = getattr(leaf, "path", getattr(leaf, "local", None))
    if path is None:
        return "users" if case.values.is_user else "signed_in" if case.values.is_signed_in else ANYONE
    values = [] if record is None else values_at(record, path)
    return values[0] if len(values) == 1 else values or None


async def _plan(case: _Case, shapes: DeclaredShapes, question: Question) -> dict[str, Any] | None:
    """The plan by which MongoDB would find the first page of readable records; None for other questions, or with
    lookups.
    """
    tree = case.permissions.read
    if question.action != "read" or question.id is not None or tree is False or has_relations(tree):
        return None
    records = case.project.database.records(shapes.mongo_collections[question.collection])
    return await records.explain(to_filter(tree), sort={"created_at": 1, "_id": 1}, limit=50)

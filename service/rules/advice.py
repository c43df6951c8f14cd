"""Advice for an author of rules: indexes that serve a read rule, and rules that mean more than they seem. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.errors import Location, Violation
from service.query.tree import All, AnyOf, Leaf, Tree, leaves
from service.rules.permissions import top_level
from service.rules.ruleset import USERS, CollectionRules, Rules
from service.rules.templates import USER_EMAIL, Audience, targets_of, variables_of
from service.schema.fields import Fields
from service.schema.indexes import Index
from service.schema.steps import Steps

SORTED_BY = "created_at"
UNPROVEN = "This refuses users until they have proven their address; ask for the proof with EMAIL_VERIFICATION"
EQUALITIES = frozenset({"eq", "in"})


@dataclass(frozen=True, slots=True)
class Advice:
    """An index that would serve one branch of a read rule: on `fields`, the last of which is the sort field of lists."""

    collection: str
    fields: tuple[str, ...]
    because: str


def advise_indexes(rules: Rules, present: Mapping[str, Sequence[Index]], fields: Mapping[str, Fields]) -> list[Advice]:
    """One for each equality on a field of the record that a branch of a read rule begins with.

    `present` are the declared indexes; a compound one that begins with the same fields serves as well.
    """
    found = [
        Advice(name, (field, SORTED_BY), f"the read rule compares {field} with one value or a list of them")
        for name, each in rules.collections.items()
        for field in dict.fromkeys(_equalities(each.read))
        if field in fields.get(name, {}) and not any(_serves(index, field) for index in present.get(name, ()))
    ]
    return list(dict.fromkeys(found))


def _serves(index: Index, field: str) -> bool:
    return not index.unique and [key.path for key in index.keys[:2]] == [f"data.{field}", SORTED_BY]


def _equalities(tree: Tree) -> Iterator[str]:
    """For each branch the field of its first equality: one index serves a branch, and its other conditions only filter."""
    for branch in tree.parts if isinstance(tree, AnyOf) else (tree,):
        inner = branch.parts if isinstance(branch, All) else (branch,)
        if nested := next((part for part in inner if isinstance(part, AnyOf)), None):
            yield from _equalities(nested)
        yield from (
            name
            for part in inner
            if isinstance(part, Leaf) and part.operator in EQUALITIES and not part.negated
            if (name := top_level(part.path)) is not None and part.path.count(".") == 1
        )


def lint(rules: Rules, fields: Mapping[str, Fields], present: Mapping[str, Sequence[Index]]) -> Steps[list[Violation]]:
    """Warnings, with their places. A step is one collection. `present` are the declared indexes."""
    found: list[Violation] = []
    for name, each in rules.collections.items():
        yield
        found += _lint_collection(name, each, rules, fields.get(name, {}))
        found += _lint_unique(("body", "collections", name), each, present.get(name, ()))
    return found


def find_email_rules(rules: Rules) -> list[Location]:
    """The places of the rules that compare with `$user.email`."""
    named = (
        place
        for place, template in _every_rule(rules)
        if any(variable.name == USER_EMAIL for variable in variables_of(template))
    )
    return list(dict.fromkeys(named))


def warn_of_emails(rules: Rules) -> list[Violation]:
    """Warnings for a project that lets users sign in without a proof of their address."""
    return [Violation(place, UNPROVEN, "unproven_email") for place in find_email_rules(rules)]


def _every_rule(rules: Rules) -> Iterator[tuple[Location, Tree]]:
    for name, each in rules.sets.items():
        yield ("body", "sets", name, "where"), each.where
    for role, template in rules.assign.items():
        yield ("body", "assign", role), template
    for loc, template in rules.users.templates() if rules.users is not None else ():
        yield ("body", USERS, *loc), template
    for name, collection in rules.collections.items():
        for loc, template in collection.templates():
            yield ("body", "collections", name, *loc), template


def _lint_collection(name: str, each: CollectionRules, rules: Rules, fields: Fields) -> Iterator[Violation]:
    place: Location = ("body", "collections", name)
    for loc, template in each.templates():
        yield from _lint_rule((*place, *loc), template, fields)
        for target in sorted(targets_of(template)):
            needed = rules.of(target)
            if needed is None or needed.read is False:
                yield Violation(
                    (*place, *loc), f"No rule lets users read {target}, so $can is never true", "can_without_read"
                )
    for action, template in _writes(each):
        if any(isinstance(leaf, Audience) and leaf.word == "anyone" for leaf in leaves(template)):
            yield Violation((*place, action), "Everybody on the internet may do this", "public_write")


def _lint_unique(place: Location, each: CollectionRules, present: Sequence[Index]) -> Iterator[Violation]:
    if each.create is False or each.read is True:
        return
    for names in (index.fields for index in present if index.unique):
        if any(name in each.fields and each.fields[name].read is None for name in names):
            continue
        unique = f"{names[0]} is unique" if len(names) == 1 else f"{' and '.join(names)} are unique together"
        msg = f"{unique}: a refused value tells that a record has it which the caller may not read"
        yield Violation((*place, "fields", names[0]), msg, "unique_oracle")


def _writes(each: CollectionRules) -> Sequence[tuple[str, Tree]]:
    updates = [("update", transition.after) for transition in each.updates]
    return [("create", each.create), ("delete", each.delete), *updates]


def _lint_rule(place: Location, template: Tree, fields: Fields) -> Iterator[Violation]:
    for leaf in leaves(template):
        if not isinstance(leaf, Leaf) or (name := top_level(leaf.path)) is None:
            continue
        is_negative = (leaf.operator == "ne") is not leaf.negated
        if name in fields and not fields[name].required and is_negative and leaf.operator in {"eq", "ne", "in"}:
            yield Violation(
                place, f"This also holds where {name} is absent; require the field or add _isnull", "absent_field"
            )

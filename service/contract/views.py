"""The contract of callers without the secret key: what rules leave of the declared collections. Pure.

A rule counts where it is constantly false or true: whatever the record, and whoever of the view asks. For users their own
values and sets are unknown; guests have none, so a condition on one is false. The present time is always unknown.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from service.contract.model import EVERY_ACTION, Contract, Entity, Member, RuleAction, View, find_relations
from service.contract.names import make_names
from service.query.matcher import decide
from service.query.tree import Leaf, Node, Related, Tree, all_of
from service.rules.ruleset import CREATE, SERVER, CollectionRules, FieldRules, Rules
from service.rules.templates import NOW, Audience, Can, Variable, VariableLeaf
from service.schema.fields import USERS, Field, Fields, target_of

Judge = Callable[[Tree], Tree]
WRITES = frozenset({RuleAction.CREATE, RuleAction.UPDATE})
NO_RULES = FieldRules()


def make_contract(
    profile: Fields,
    collections: Mapping[str, Fields],
    rules: Rules,
    view: View = View.SERVER,
    *,
    additional: bool = True,
) -> Contract:
    """The contract of one view. `additional`: profiles take fields that are not declared."""
    if view is View.SERVER:
        members = {name: _all_members(fields) for name, fields in collections.items()}
        actions = dict.fromkeys(collections, EVERY_ACTION)
        return _assemble(_all_members(profile), members, actions, {USERS, *collections}, additional=additional)
    judge = _make_judge(rules, view)
    actions = _find_actions(collections, rules, judge)
    open_to = {name for name, each in actions.items() if RuleAction.READ in each}
    if rules.users is not None and judge(rules.users.read) is not False:
        open_to.add(USERS)
    members = {
        name: _members(_without_absent(collections[name], actions), rules.collections[name], each, judge)
        for name, each in actions.items()
    }
    found = _assemble(_profile_members(profile, rules), members, actions, open_to, additional=additional)
    return replace(found, gives_roles=any(judge(each) is not False for each in rules.assign.values()))


def pick(contract: Contract, names: frozenset[str]) -> Contract:
    """The part of a contract that is about these collections; relations to others are left out."""
    present = names | {USERS}
    kept = [
        replace(each, relations={name: target for name, target in each.relations.items() if target in present})
        for each in contract.collections
        if each.name in names
    ]
    return replace(contract, collections=tuple(kept))


def _assemble(
    users: Mapping[str, Member],
    members: Mapping[str, Mapping[str, Member]],
    actions: Mapping[str, frozenset[RuleAction]],
    open_to: set[str],
    *,
    additional: bool,
) -> Contract:
    made = make_names(members)
    return Contract(
        Entity(USERS, "User", users, find_relations(users, open_to), additional=additional),
        tuple(
            Entity(name, made[name], members[name], find_relations(members[name], open_to), actions[name])
            for name in sorted(members)
        ),
        USERS in open_to,
    )


def _all_members(fields: Fields) -> dict[str, Member]:
    return {name: Member(field) for name, field in fields.items()}


def _profile_members(profile: Fields, rules: Rules) -> dict[str, Member]:
    """Users read all of their own profiles; some fields are written by servers alone."""
    ruled = rules.users.fields if rules.users is not None else {}
    return {
        name: Member(field, is_written=ruled.get(name, NO_RULES).write != SERVER) for name, field in profile.items()
    }


def _make_judge(rules: Rules, view: View) -> Judge:
    is_user = view is View.USERS

    def judge(template: Tree) -> Tree:
        return decide(template, judge_leaf)

    def judge_leaf(leaf: Node) -> Tree:
        match leaf:
            case Audience(word, negated):
                return (word == "anyone" or is_user) is not negated
            case Leaf(value=Variable() as variable) | VariableLeaf(variable=variable):
                return leaf if is_user or variable.name == NOW else False
            case Related():
                return leaf if judge(leaf.tree) is not False else False
            case Can(target=target):
                needed = rules.of(target)
                return leaf if needed is not None and judge(needed.read) is not False else False
        return leaf

    return judge


def _find_actions(names: Iterable[str], rules: Rules, judge: Judge) -> dict[str, frozenset[RuleAction]]:
    """The operations of each collection that has any."""
    known = {name: rules.collections[name] for name in names if name in rules.collections}
    given = {name: _actions(each, judge) for name, each in known.items()}
    return {name: actions for name, actions in given.items() if actions}


def _actions(rules: CollectionRules, judge: Judge) -> frozenset[RuleAction]:
    """The operations that are not constantly refused; what changes a record needs its read rule as well."""
    read = judge(rules.read)
    may_update = any(False not in (judge(each.before), judge(each.after)) for each in rules.updates)
    trees = {
        RuleAction.READ: read,
        RuleAction.CREATE: judge(rules.create),
        RuleAction.UPDATE: read if may_update else False,
        RuleAction.DELETE: all_of((read, judge(rules.delete))),
    }
    return frozenset(action for action, tree in trees.items() if tree is not False)


def _without_absent(fields: Fields, present: Mapping[str, object]) -> Fields:
    """The fields without references to collections that the view does not have."""

    def leads_nowhere(field: Field) -> bool:
        target = target_of(field)
        return target is not None and target != USERS and target not in present

    return {name: field for name, field in fields.items() if not leads_nowhere(field)}


def _members(fields: Fields, rules: CollectionRules, actions: frozenset[RuleAction], judge: Judge) -> dict[str, Member]:
    """The fields that can be read or written by one of these operations."""
    found: dict[str, Member] = {}
    for name, field in fields.items():
        ruled = rules.fields.get(name, NO_RULES)
        read = True if ruled.read is None else judge(ruled.read)
        writes = _writes(ruled, judge) & actions
        member = Member(
            field,
            is_read=RuleAction.READ in actions and read is not False,
            is_written=bool(writes),
            is_changed=RuleAction.UPDATE in writes,
            is_certain=read is True,
        )
        if member.is_read or member.is_written:
            found[name] = member
    return found


def _writes(rules: FieldRules, judge: Judge) -> frozenset[RuleAction]:
    """The operations in which a field may be sent."""
    if rules.set_to is not None or rules.write == SERVER:
        return frozenset()
    if rules.write == CREATE:
        return frozenset({RuleAction.CREATE})
    is_refused = rules.write is not None and not isinstance(rules.write, str) and judge(rules.write) is False
    return frozenset() if is_refused else WRITES

"""A reader of the parts of a rules document. It notes each mistake with its place. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from service.bounds import MAX_CAN_DEPTH
from service.errors import Location, Violation
from service.query.shapes import Shape
from service.query.tree import Related, Tree, leaves
from service.rules.grammar import RuleScope, read_rule, scope_of
from service.rules.ruleset import USERS, Rules
from service.rules.templates import SET_PREFIX, Can, targets_of
from service.schema.steps import Steps
from service.schema.strict_json import shown
from service.schema.values import Kind


@dataclass(slots=True)
class RulesReader:
    """The state of reading a rules document.

    A document that `is_new` must keep bounds that documents saved earlier may exceed.
    """

    shapes: Mapping[str, Shape]
    targets: Mapping[str, Mapping[str, str]]
    variables: dict[str, Kind]
    is_new: bool = False
    violations: list[Violation] = field(default_factory=list)

    def refuse(self, loc: Location, msg: str, type_: str = "value_error") -> None:
        self.violations.append(Violation(loc, msg, type_))

    def scope(self, collection: str | None, *, without_sets: bool = False) -> RuleScope:
        variables = {
            name: kind for name, kind in self.variables.items() if not (without_sets and name.startswith(SET_PREFIX))
        }
        return scope_of(collection, variables, self.shapes, self.targets)

    def rule(self, rule: Any, loc: Location, scope: RuleScope) -> Tree:
        template, violations = read_rule(rule, loc, scope)
        self.violations += violations
        return template

    def own_rule(self, rule: Any, loc: Location, scope: RuleScope) -> Tree:
        """A rule that looks at its own record only."""
        template = self.rule(rule, loc, scope)
        if any(isinstance(leaf, Related | Can) for leaf in leaves(template)):
            self.refuse(loc, "A set, and the read rule of a field, look at one record, not along its relations")
        return template

    def mapping(self, value: Any, loc: Location, known: Iterable[str] | None = None) -> dict[str, Any]:
        """`value` where it is an object, with `known` keys only; else nothing."""
        if not isinstance(value, dict):
            self.refuse(loc, "Must be an object", "dict_type")
            return {}
        allowed = value.keys() if known is None else set(known)
        for name in value.keys() - allowed:
            self.refuse((*loc, shown(name)[1:-1]), f"Must be one of {', '.join(sorted(allowed))}", "extra_forbidden")
        return {name: each for name, each in value.items() if name in allowed}


def check_chains(reader: RulesReader, rules: Rules) -> Steps[None]:
    """A rule may need the read rules of others by `$can`, a few in a row, and never its own."""
    needs = {name: targets_of(each.read) for name, each in rules.collections.items()}
    needs[USERS] = targets_of(rules.users.read) if rules.users else set()
    for name, each in (*rules.collections.items(), *([(USERS, rules.users)] if rules.users else [])):
        place = ("body", USERS) if name == USERS else ("body", "collections", name)
        for loc, template in each.templates():
            yield
            own = {name} if loc == ("read",) else set[str]()
            if _depth(targets_of(template), needs, own) > MAX_CAN_DEPTH:
                msg = f"A rule may need {MAX_CAN_DEPTH} others in a row by $can, and never itself"
                reader.refuse((*place, *loc), msg, "too_deep")


def _depth(targets: set[str], needs: Mapping[str, set[str]], passed: set[str]) -> int:
    """The longest chain of rules that need each other; more than allowed if one needs itself."""
    if targets & passed or len(passed) > MAX_CAN_DEPTH + 1:
        return MAX_CAN_DEPTH + 1
    return max((1 + _depth(needs.get(each, set()), needs, passed | {each}) for each in targets), default=0)

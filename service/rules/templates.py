"""Rules in memory: trees whose leaves may hold variables; and the values put in, for one caller. Pure.

A leaf with an unknown variable is false, also under `not`: negation was moved to the leaves already, so a leaf that
cannot be judged becomes false, negated or not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from service.query.matcher import decide, matches
from service.query.tree import Leaf, Node, Related, Tree
from service.schema.values import Kind, milliseconds

USER_ID, USER_EMAIL, USER_ROLES, NOW = "user.id", "user.email", "user.roles", "now"
USER_ANONYMOUS = "user.anonymous"
SET_PREFIX = "sets."
# A condition that no record meets, and yet one: what a set holds decides about records, never about a caller as such.
NO_RECORD = Leaf("_id", "in", ())
EVERY_RECORD = replace(NO_RECORD, negated=True)


@dataclass(frozen=True, slots=True)
class Variable:
    """A value known at the time of a request: `user.id`, `user.data.plan`, `sets.my_teams`, `now` and a shift of it."""

    name: str
    shift: timedelta = timedelta()

    @property
    def is_list(self) -> bool:
        return self.name == USER_ROLES or self.name.startswith(SET_PREFIX)


@dataclass(frozen=True, slots=True)
class VariableLeaf(Node):
    """A condition on a variable, decided before any record is looked at."""

    variable: Variable
    operator: str
    value: Any
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Audience(Node):
    """`anyone`; `users`: callers with an account; or `signed_in`: anonymous users as well."""

    word: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Can(Node):
    """True if the caller may read the record that `local` names, of the declared collection `target` or of `users`."""

    local: str
    target: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Values:
    """The values of variables for one caller at one moment. A missing name is unknown. A guest has no USER_ANONYMOUS.

    `readable` gives the MongoDB collection behind a declared one, and the bound read rule of its records.
    """

    known: Mapping[str, Any]
    readable: Callable[[str], tuple[str, Tree]] = field(default=lambda name: (name, False))

    @property
    def is_signed_in(self) -> bool:
        return USER_ANONYMOUS in self.known

    @property
    def is_user(self) -> bool:
        """True for a user with an account."""
        return self.known.get(USER_ANONYMOUS) is False

    def hears(self, word: str) -> bool:
        """True if the caller is one of the audience `word`."""
        return word == "anyone" or (self.is_signed_in if word == "signed_in" else self.is_user)

    def value(self, variable: Variable) -> Any:
        """None where it is unknown."""
        if variable.name == NOW:
            moment: datetime = self.known[NOW]
            return milliseconds(moment + variable.shift)
        return self.known.get(variable.name)


def bind(template: Tree, values: Values) -> Tree:
    """The tree without variables. It is false just where the caller is refused whatever the record."""
    return decide(template, lambda leaf: _bound(leaf, values))


def _bound(leaf: Node, values: Values) -> Tree:
    match leaf:
        case Leaf(value=Variable() as variable):
            value = _fitting(values.value(variable), leaf)
            return False if value is None else replace(leaf, value=value)
        case VariableLeaf():
            return _decided(leaf, values)
        case Audience(word, negated):
            return values.hears(word) is not negated
        case Related():
            # The related record is judged as the author of the rule sees it. It has one condition: false means unknown.
            tree = bind(leaf.tree, values)
            return False if tree is False else replace(leaf, tree=tree)
        case Can(local, target, negated):
            collection, readable = values.readable(target)
            return False if readable is False else Related(local, collection, readable, negated)
    return leaf


def _fitting(value: Any, leaf: Leaf) -> Any:
    """The value as the leaf's operator takes it, or None where it is none that could be compared."""
    if leaf.operator == "in":
        return tuple(value) if isinstance(value, list | tuple | set | frozenset) else None
    return value if isinstance(value, str | int | float | datetime) else None


def _decided(leaf: VariableLeaf, values: Values) -> Tree:
    value = values.value(leaf.variable)
    if value is None:
        return False
    condition = Leaf("value", leaf.operator, leaf.value, leaf.negated)
    holds = matches(condition, {"value": list(value) if leaf.variable.is_list else value})
    if leaf.variable.name.startswith(SET_PREFIX):
        return EVERY_RECORD if holds else NO_RECORD
    return holds


def variables_of(template: Tree) -> set[Variable]:
    """All that a template names, also behind relations."""
    found: set[Variable] = set()

    def note(leaf: Node) -> Tree:
        match leaf:
            case Leaf(value=Variable() as variable):
                found.add(variable)
            case VariableLeaf(variable=variable):
                found.add(variable)
            case Related(tree=tree):
                decide(tree, note)
        return leaf

    decide(template, note)
    return found


def targets_of(template: Tree) -> set[str]:
    """The declared collections whose read rules a template needs."""
    found: set[str] = set()

    def note(leaf: Node) -> Tree:
        if isinstance(leaf, Can):
            found.add(leaf.target)
        return leaf

    decide(template, note)
    return found


# The kinds of what every project's variables hold; those of sets and of server-only fields come from the rules.
VARIABLE_KINDS: Mapping[str, Kind] = {
    USER_ID: Kind.ID,
    USER_EMAIL: Kind.STRING,
    USER_ROLES: Kind.STRING,
    USER_ANONYMOUS: Kind.BOOLEAN,
    NOW: Kind.DATETIME,
}

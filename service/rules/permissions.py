"""The permissions of one caller on the records of one collection: its rules, with the caller's values put in. Pure.

A record is judged as it is stored, `{_id, data, created_at, updated_at, ...}`. Trees may hold relations, which the
caller settles first with MongoDB; see `domain/access/relations`.
"""

from collections.abc import Callable, Container, Mapping
from functools import cached_property
from typing import Any

from service.query.closures import compile_tree
from service.query.matcher import decide
from service.query.nodes import Match
from service.query.reading import Reading
from service.query.tree import All, Leaf, Node, Related, Tree, all_of, any_of, leaves
from service.rules.ruleset import CREATE, SERVER, CollectionRules, FieldRules, Transition
from service.rules.templates import USER_ID, Values, bind
from service.schema.steps import Steps

NO_RULES = FieldRules()


class Permissions:
    """The bound rules of a collection. False means: refused, whatever the record. `sets` are those that the rules need.

    With `is_everything` no field is hidden, not even those of users that no rule can name.
    """

    def __init__(
        self,
        rules: CollectionRules,
        values: Values,
        *,
        is_users: bool = False,
        sets: Mapping[str, object] | None = None,
        is_everything: bool = False,
    ) -> None:
        self.sets: Mapping[str, object] = sets or {}
        self.is_everything = is_everything
        self._rules = rules
        self._values = values
        self._is_users = is_users
        own = values.known.get(USER_ID)
        self._own: Tree = False if own is None else Leaf("_id", "eq", own)

    @cached_property
    def read(self) -> Tree:
        return bind(self._rules.read, self._values)

    @cached_property
    def match(self) -> Match:
        """The condition on readable records. Its parts stay apart, for each is served by indexes of its own."""
        tree = self.read
        return Match(trees=() if tree is True else tree.parts if isinstance(tree, All) else (tree,))

    @cached_property
    def create(self) -> Tree:
        return bind(self._rules.create, self._values)

    @cached_property
    def delete(self) -> Tree:
        return all_of((self.read, bind(self._rules.delete, self._values)))

    @cached_property
    def transitions(self) -> tuple[tuple[Tree, Tree], ...]:
        """Pairs of conditions on the record before an update, and after it; those that can never hold are left out."""
        bound = ((bind(each.before, self._values), bind(each.after, self._values)) for each in self._rules.updates)
        return tuple(pair for pair in bound if False not in pair)

    def allows(self, action: str) -> Tree:
        """False where the action is refused whatever the record."""
        match action:
            case "create":
                return self.create
            case "update":
                return self.may_update
            case "delete":
                return self.delete
        return self.read

    @cached_property
    def reads_freely(self) -> bool:
        """True if the caller may read every document with all its fields."""
        return self.read is True and not self.readable and not self._is_users

    @cached_property
    def creates_freely(self) -> bool:
        """True if the caller may create every document, whatever it has."""
        return self.create is True and not self._rules.fields

    @cached_property
    def updates_freely(self) -> bool:
        """True if the caller may change every document, whatever is sent."""
        return self.read is True and (True, True) in self.transitions and not self._rules.fields

    @property
    def may_update(self) -> bool:
        return self.read is not False and bool(self.transitions)

    @cached_property
    def readable(self) -> Mapping[str, Tree]:
        """Field → who may read it, of those that not everybody who reads the record may."""
        bound = {name: self._who_reads(rules) for name, rules in self._rules.fields.items()}
        return {name: tree for name, tree in bound.items() if tree is not True}

    def _who_reads(self, rules: FieldRules) -> Tree:
        if rules.read is not None:
            return bind(rules.read, self._values)
        return self._own if self._is_users else True

    @property
    def has_field_rules(self) -> bool:
        """True if a field has a read rule of its own."""
        return any(rules.read is not None for rules in self._rules.fields.values())

    def guard(self, path: str) -> Tree:
        """The condition on readable records under which the field at a MongoDB path may be read."""
        name = path if path == "email" else top_level(path)
        if name is None:
            return True
        # A field of users that no rule names is the user's own, for anything may stand there.
        listed = name in self._rules.fields or not self._is_users
        return self.readable.get(name, True) if listed else self._own

    def field(self, name: str) -> FieldRules:
        return self._rules.fields.get(name, NO_RULES)

    def write_rule(self, name: str) -> Tree:
        """The bound rule of writing a field that has one; true where the rules of the record decide."""
        write = self.field(name).write
        return True if write is None or isinstance(write, str) else bind(write, self._values)

    def set_values(self) -> dict[str, Any]:
        """Field → what the service writes there at creation; None where the caller has no such value."""
        return {
            name: self._values.value(rules.set_to) if rules.set_to else None
            for name, rules in self._rules.fields.items()
            if rules.set_to is not None
        }

    def is_fixed(self, name: str) -> bool:
        """True if the caller can never write the field of a stored record."""
        rules = self.field(name)
        return rules.write in (SERVER, CREATE) or rules.set_to is not None

    def is_for_servers(self, name: str) -> bool:
        return self.field(name).write == SERVER

    def visible(self, reading: Reading) -> dict[str, Any]:
        """The `data` of a record that the caller may read, without the fields that he may not."""
        return self.make_view()(reading)

    def make_view(self) -> Callable[[Reading], dict[str, Any]]:
        """As `visible`, for many records: the rule of each field is compiled once."""
        judges = {name: compile_tree(tree) for name, tree in self.readable.items()}

        def view(reading: Reading) -> dict[str, Any]:
            data: dict[str, Any] = reading.record["data"]
            hidden = {name for name, judge in judges.items() if name in data and not judge(reading)}
            return {name: value for name, value in data.items() if name not in hidden} if hidden else data

        return view

    def make_user_view(self) -> Callable[[Reading], dict[str, Any]]:
        """Shows users without the fields that the caller may not read, `email` among them."""
        listed = {*self._rules.fields, "email"}
        judges = {name: compile_tree(self.guard(name if name == "email" else f"data.{name}")) for name in listed}
        judge_own = compile_tree(self._own)

        def view(reading: Reading) -> dict[str, Any]:
            is_own = judge_own(reading)

            def shows(name: str) -> bool:
                return judges[name](reading) if name in judges else is_own

            shown = {name: value for name, value in reading.record.items() if name != "email" or shows(name)}
            # An anonymous user has no address.
            address = {"email": None} if shows("email") else {}
            return {**address, **shown, "data": {name: value for name, value in shown["data"].items() if shows(name)}}

        return view

    def update_condition(self, new: Mapping[str, Any], *, whole: bool = False) -> Steps[Tree]:
        """The condition on the stored record for writing `new`: fields of `data`, or all of it, if it is the `whole`."""
        pairs = yield from self.residues(new, whole=whole)
        allowed = any_of(all_of(pair) for pair in pairs)
        return all_of((self.read, allowed, *(self.write_condition(name, value) for name, value in new.items())))

    def residues(self, new: Mapping[str, Any], *, whole: bool) -> Steps[list[tuple[Tree, Tree]]]:
        """The transitions, with the conditions of `after` on sent fields decided; a step is one transition.

        Those on fields that stay are left for the stored record, so that one command judges both images.
        """
        image, found = Reading({"data": new}), list[tuple[Tree, Tree]]()
        for before, after in self.transitions:
            yield
            found.append((before, residue(after, image, new, whole=whole)))
        return found

    def judges_result_of(self, names: Container[str]) -> bool:
        """True if an update is judged by the new values of these fields."""
        looked_at = (leaf for _, after in self.transitions for leaf in leaves(after))
        return any(_field_of(leaf) in names for leaf in looked_at)

    def write_condition(self, name: str, value: Any) -> Tree:
        """The condition on the stored record for sending a field: its rule, or that it visibly has this `value`
        already.
        """
        rule = self.write_rule(name)
        if rule is True or value is None:
            return rule
        return any_of((rule, self.shows_value(name, value)))

    def shows_value(self, name: str, value: Any) -> Tree:
        """That the caller may read a field of a record that he may read, and that it is just `value`."""
        return all_of((self.readable.get(name, True), Leaf(f"data.{name}", "same", value)))

    @cached_property
    def keeps_fields(self) -> bool:
        """True if there may be fields that the caller cannot write or see: a new `data` without them must not remove
        them.
        """
        written = (name for name, rules in self._rules.fields.items() if rules.write is not None or rules.set_to)
        return bool(self.readable) or any(self.is_fixed(name) or self.write_rule(name) is not True for name in written)

    def shows(self, name: str, reading: Reading) -> bool:
        """True if the caller may read a field of a readable record."""
        return name not in self.readable or compile_tree(self.readable[name])(reading)

    def user_id(self) -> str | None:
        found: str | None = self._values.known.get(USER_ID)
        return found


EVERYTHING = Permissions(
    CollectionRules(read=True, create=True, delete=True, updates=(Transition(before=True, after=True),)),
    Values({}),
    is_everything=True,
)


def _field_of(leaf: Node) -> str | None:
    """The top-level field of `data` that a condition looks at, be it to follow a relation."""
    path = leaf.path if isinstance(leaf, Leaf) else leaf.local if isinstance(leaf, Related) else ""
    return top_level(path)


def residue(tree: Tree, image: Reading, names: Container[str], *, whole: bool = False) -> Tree:
    """`tree` with what it says of the fields `names`, top-level ones of `data`, decided by `image`. `whole`: of all fields."""

    def judge(leaf: Node) -> Tree:
        if isinstance(leaf, Leaf) and (name := top_level(leaf.path)) is not None and (whole or name in names):
            return compile_tree(leaf)(image)
        return leaf

    return decide(tree, judge)


def top_level(path: str) -> str | None:
    """`data.address.city` → `address`; None for a field that is not in `data`."""
    parts = path.split(".", 2)
    return parts[1] if parts[0] == "data" and len(parts) > 1 else None

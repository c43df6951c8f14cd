"""The values that `document` makes of the rules of a project."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from service.errors import Location
from service.query.tree import Tree, leaves
from service.rules.templates import NOW, Audience, Variable, variables_of
from service.schema.values import Kind

SERVER, CREATE = "server", "create"
USER_DATA = "user.data."
ROLE = re.compile(r"[a-z0-9_-]{1,64}")
ROLE_RULE = "A role has 1 to 64 of a-z, 0-9, _ and -"
USERS: Final = "users"


@dataclass(frozen=True, slots=True)
class FieldRules:
    """The readers and writers of a field: only the secret key (`server`), its creator once, or callers that pass a
    rule.

    None means that the rules of the whole record decide. `set_to` is the variable that the service writes at creation.
    """

    read: Tree | None = None
    write: Tree | str | None = None
    set_to: Variable | None = None
    protected: bool = False


@dataclass(frozen=True, slots=True)
class Transition:
    """The conditions of an update on the record as it is, and on the record as it becomes."""

    before: Tree
    after: Tree


@dataclass(frozen=True, slots=True)
class CollectionRules:
    """The rules of one collection, or of users. An action without a rule is false."""

    read: Tree = False
    create: Tree = False
    delete: Tree = False
    updates: tuple[Transition, ...] = ()
    fields: Mapping[str, FieldRules] = field(default_factory=dict)

    def templates(self) -> Iterator[tuple[Location, Tree]]:
        """Every rule, with its place."""
        yield from ((("read",), self.read), (("create",), self.create), (("delete",), self.delete))
        for transition in self.updates:
            yield from ((("update", "before"), transition.before), (("update", "after"), transition.after))
        for path, rules in self.fields.items():
            if rules.read is not None:
                yield ("fields", path, "read"), rules.read
            if rules.write is not None and not isinstance(rules.write, str):
                yield ("fields", path, "write"), rules.write

    def count_field_conditions(self) -> int:
        """The conditions of all rules of fields together; a word such as `users` is none."""
        templates = (template for loc, template in self.templates() if loc[0] == "fields")
        return sum(not isinstance(leaf, Audience) for template in templates for leaf in leaves(template))


@dataclass(frozen=True, slots=True)
class SetRule:
    """The values of `take` in the records of `collection` that satisfy `where`. Both are MongoDB's names.

    `digest` is the same for sets that say the same. `variables` are the names of those that `where` has, `$now` apart.
    """

    collection: str
    take: str
    where: Tree
    digest: str = field(init=False)
    variables: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        said = repr((self.collection, self.take, self.where))
        names = {variable.name for variable in variables_of(self.where)} - {NOW}
        object.__setattr__(self, "digest", hashlib.sha256(said.encode()).hexdigest()[:32])
        object.__setattr__(self, "variables", tuple(sorted(names)))


@dataclass(frozen=True, slots=True)
class StoredTest:
    """One expectation of a stored test. `as_` holds id, email, roles and data of a user, or is None for a guest."""

    name: str
    as_: Mapping[str, Any] | None
    action: str
    collection: str
    is_allowed: bool
    given: Mapping[str, Any] | None = None
    data: Mapping[str, Any] | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one project. `document` is what was saved, as it was sent; without any, the project has no rules.

    `protected` are the fields of users' data whose files only those read who may read the field. `user_fields` are those
    that are variables. `sources` are the MongoDB collections that sets take their values from.
    """

    document: Mapping[str, Any] = field(default_factory=dict)
    sets: Mapping[str, SetRule] = field(default_factory=dict)
    users: CollectionRules | None = None
    assign: Mapping[str, Tree] = field(default_factory=dict)
    collections: Mapping[str, CollectionRules] = field(default_factory=dict)
    tests: tuple[StoredTest, ...] = ()
    variables: Mapping[str, Kind] = field(default_factory=dict)
    protected: frozenset[str] = field(init=False)
    user_fields: tuple[str, ...] = field(init=False)
    sources: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        # Made once, not for each request that shows users.
        fields = self.users.fields if self.users else {}
        known = sorted(name.removeprefix(USER_DATA) for name in self.variables if name.startswith(USER_DATA))
        object.__setattr__(self, "protected", frozenset(name for name, each in fields.items() if each.protected))
        object.__setattr__(self, "user_fields", tuple(known))
        object.__setattr__(self, "sources", frozenset(each.collection for each in self.sets.values()))

    @property
    def exist(self) -> bool:
        """True if the project has rules: collections without any are then hidden, instead of asking for an API key."""
        return bool(self.collections) or self.users is not None

    def of(self, collection: str) -> CollectionRules | None:
        return self.users if collection == USERS else self.collections.get(collection)

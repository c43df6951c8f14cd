"""The records of a project as one view has them: which fields can be read and written, and by which operations. Pure."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from service.query.operators import OPERATORS
from service.schema.fields import ABSENT, Field, Fields, relation, target_of

# Words of a condition, and the name with which a path into the record itself begins: no relation is filtered by these.
WORDS = frozenset({"and", "or", "not", "data"})


class View(Enum):
    """The callers that a contract is for: the holder of the secret key, some signed-in user, or a guest."""

    SERVER = "server"
    USERS = "users"
    ANYONE = "anyone"


class RuleAction(Enum):
    """The operations that a rule opens."""

    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


EVERY_ACTION = frozenset(RuleAction)


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a record, with one use at least. `is_changed`: it may be sent for a record that is there already.

    `is_certain`: all callers that may read the record may read the field.
    """

    field: Field
    is_read: bool = True
    is_written: bool = True
    is_changed: bool = True
    is_certain: bool = True

    @property
    def is_present(self) -> bool:
        """True if the value is in every record that is read."""
        return self.is_certain and is_kept(self.field)

    @property
    def is_demanded(self) -> bool:
        """True if a new record must bring the value."""
        return is_demanded(self.field)


@dataclass(frozen=True, slots=True)
class Entity:
    """The records of one collection, or the users. `made` is the name of their type.

    `relations` has those that can be populated: name → the collection, or `users`. `additional`: fields that are not
    declared are taken as well.
    """

    name: str
    made: str
    members: Mapping[str, Member]
    relations: Mapping[str, str]
    actions: frozenset[RuleAction] = EVERY_ACTION
    additional: bool = False

    @property
    def readable(self) -> Fields:
        return {name: each.field for name, each in self.members.items() if each.is_read}

    @property
    def writable(self) -> Fields:
        return {name: each.field for name, each in self.members.items() if each.is_written}

    @property
    def unique(self) -> list[str]:
        """The fields by which an upsert finds a record: its data has a value of each."""
        return [name for name, each in self.members.items() if each.field.unique and each.is_written]

    @property
    def many(self) -> frozenset[str]:
        """The relations of arrays of references: each is populated as a list."""
        return frozenset(relation(name) for name, each in self.members.items() if is_many(each.field))

    @property
    def filtered(self) -> Mapping[str, str]:
        """The relations that a condition can follow by a name of its own: none that reads like another condition."""
        return {
            name: target
            for name, target in self.relations.items()
            if name not in WORDS and name.rpartition("_")[2] not in OPERATORS
        }


@dataclass(frozen=True, slots=True)
class Contract:
    """The users and the collections of a project that a view has, by name. `made` has the name of each one's type.

    `shows_users`: other users than one's own can be read. `gives_roles`: some caller can give roles to others.
    """

    users: Entity
    collections: tuple[Entity, ...] = ()
    shows_users: bool = True
    gives_roles: bool = True
    made: Mapping[str, str] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        every = (self.users, *self.collections)
        object.__setattr__(self, "made", {each.name: each.made for each in every})


def find_counted(collections: Iterable[Entity]) -> dict[str, list[str]]:
    """The records referred to → the names of a `with_counts` on them: {"users": ["books.author", "books.editor"]}.

    The collection alone is a name where one relation of it leads there.
    """
    counted: dict[str, list[str]] = {}
    for entity in collections:
        if RuleAction.READ not in entity.actions:
            continue
        leads: dict[str, list[str]] = {}
        for name, target in entity.relations.items():
            leads.setdefault(target, []).append(f"{entity.name}.{name}")
        for target, names in leads.items():
            counted.setdefault(target, []).extend([entity.name, *names] if len(names) == 1 else names)
    return counted


def is_kept(field: Field) -> bool:
    """True if a stored record has a value of the field, its own or the default."""
    return field.required or field.default is not ABSENT


def is_demanded(field: Field) -> bool:
    """True if a new record has to bring a value of the field."""
    return field.required and field.default is ABSENT


def is_many(field: Field) -> bool:
    """True for an array of references."""
    return field.items is not None and field.items.collection is not None


def find_relations(members: Mapping[str, Member], present: frozenset[str] | set[str]) -> dict[str, str]:
    """The relations of readable references to what is `present`: {"author": "users"}."""
    return {
        relation(name): target
        for name, each in members.items()
        if each.is_read and (target := target_of(each.field)) is not None and target in present
    }

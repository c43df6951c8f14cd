"""The demands of rules on a write before MongoDB is asked: the fields the caller may write, and both images. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from service.errors import Invalid, Unauthorized, Violation
from service.query.reading import Reading
from service.query.tree import Tree, all_of
from service.rules.permissions import Permissions
from service.schema.operations import Operations
from service.schema.steps import Steps

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GuardedChange:
    """Fields of `data` to set, and what the stored record must satisfy for that.

    `unchanged` are fields that were sent though the caller cannot write them: they must be what they are, and are not set.
    """

    fields: Mapping[str, Any]
    condition: Tree
    unchanged: Mapping[str, Any]


def creation_data(permissions: Permissions, data: Data) -> dict[str, Any]:
    """`data` with the fields that the service writes itself.

    Raises Invalid for a field that only servers write, and for another value than the service's own; Unauthorized where
    there is no such value, as of a guest's id.
    """
    violations = [_not_writable(name) for name in data if permissions.is_for_servers(name)]
    given = permissions.set_values()
    if None in given.values():
        raise Unauthorized
    violations += [_not_writable(name) for name, value in given.items() if name in data and data[name] != value]
    if violations:
        raise Invalid(violations)
    return {**data, **given}


def creation_condition(permissions: Permissions, sent: Iterable[str]) -> Tree:
    """The condition on the completed record for its creation."""
    return all_of((permissions.create, *(permissions.write_rule(name) for name in sent)))


def guard_change(permissions: Permissions, changes: Data) -> Steps[GuardedChange]:
    """A change of some fields, as the caller may make it."""
    unchanged = {name: value for name, value in changes.items() if permissions.is_fixed(name)}
    fields = {name: value for name, value in changes.items() if name not in unchanged}
    update = yield from permissions.update_condition(fields)
    condition = all_of((update, stays_as_it_is(permissions, unchanged)))
    return GuardedChange(fields, condition, unchanged)


def guard_operations(permissions: Permissions, operations: Operations) -> Tree:
    """The condition on the stored record for operators, which compute from it: the caller may read and write their
    fields.

    Raises Invalid for a field that the caller cannot write.
    """
    violations = [
        Violation(each.place, f"{each.field} cannot be changed here", "not_writable")
        for each in operations
        if permissions.is_fixed(each.field)
    ]
    if violations:
        raise Invalid(violations)
    names = dict.fromkeys(each.field for each in operations)
    demands = (all_of((permissions.readable.get(name, True), permissions.write_rule(name))) for name in names)
    return all_of(demands)


def stays_as_it_is(permissions: Permissions, unchanged: Data) -> Tree:
    """That fields which were sent without being written have, for the caller to see, the values that were sent."""
    return all_of(permissions.shows_value(name, value) for name, value in unchanged.items())


def check_unchanged(permissions: Permissions, unchanged: Data, reading: Reading) -> None:
    """Raises Invalid for the fields that the caller cannot write and sent with another value than the record has.

    A field that the caller cannot read is refused whatever was sent, else the answer would tell its value.
    """
    if not unchanged:
        return
    visible = permissions.visible(reading)
    violations = [
        _not_writable(name) for name, value in unchanged.items() if name not in visible or visible[name] != value
    ]
    if violations:
        raise Invalid(violations)


def _not_writable(name: str) -> Violation:
    msg = f"{name} cannot be set here; leave it out or send it as it is"
    return Violation(("body", "data", name), msg, "not_writable")

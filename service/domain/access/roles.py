"""The names that roles may have, and the number of a user's roles. Pure."""

from collections.abc import Sequence

from service.bounds import MAX_ROLES
from service.errors import Invalid, Location, Violation
from service.rules.ruleset import ROLE, ROLE_RULE

BODY: Location = ("body", "roles")


def find_role_faults(roles: Sequence[str], loc: Location = BODY) -> list[Violation]:
    """The names among `roles` that no role may have, and the excess where there are too many."""
    violations = [
        Violation((*loc, number), ROLE_RULE, "value_error")
        for number, role in enumerate(roles)
        if not ROLE.fullmatch(role)
    ]
    return [*violations, *_find_excess(roles, loc)]


def check_roles(roles: Sequence[str]) -> None:
    """Raises Invalid."""
    if violations := find_role_faults(roles):
        raise Invalid(violations)


def check_number(roles: Sequence[str]) -> None:
    """Raises Invalid."""
    if violations := _find_excess(roles, BODY):
        raise Invalid(violations)


def _find_excess(roles: Sequence[str], loc: Location) -> list[Violation]:
    if len(set(roles)) <= MAX_ROLES:
        return []
    return [Violation(loc, f"A user has at most {MAX_ROLES} roles", "too_long")]

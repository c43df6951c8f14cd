"""What roles may be called, and how many a user has. Pure."""

from collections.abc import Sequence

from service.bounds import MAX_ROLES
from service.domain.access.ruleset import ROLE, ROLE_RULE
from service.errors import Invalid, Violation


def check_roles(roles: Sequence[str]) -> None:
    """Raises Invalid."""
    violations = [
        Violation(("body", "roles", number), ROLE_RULE, "value_error")
        for number, role in enumerate(roles)
        if not ROLE.fullmatch(role)
    ]
    if violations:
        raise Invalid([*violations, *_find_excess(roles)])
    check_number(roles)


def check_number(roles: Sequence[str]) -> None:
    """Raises Invalid."""
    if violations := _find_excess(roles):
        raise Invalid(violations)


def _find_excess(roles: Sequence[str]) -> list[Violation]:
    if len(set(roles)) <= MAX_ROLES:
        return []
    return [Violation(("body", "roles"), f"A user has at most {MAX_ROLES} roles", "too_long")]

"""Roles of users: what they may be called, and who may give which."""

from collections.abc import Mapping, Sequence

from service.bounds import MAX_ROLES
from service.domain.access.caller import ProjectCaller, SecretKeyCaller, UserCaller
from service.domain.access.control import AccessControl
from service.domain.access.ruleset import ROLE, ROLE_RULE, USERS, CollectionRules
from service.domain.access.templates import bind
from service.domain.access.visible import VisibleUsers, all_filters
from service.errors import Forbidden, Invalid, Unauthorized, UserNotFound, Violation
from service.query.shapes import USERS as USER_SHAPE
from service.storage.client import Document


class Roles:
    """Gives and takes roles. They stand beside `data`, where no profile reaches; only rules and the secret key do."""

    def __init__(self, access: AccessControl) -> None:
        self._access = access

    async def replace(self, caller: ProjectCaller, user_id: str, roles: Sequence[str]) -> list[str]:
        """The roles of a user afterwards. Somebody to whom a project delegates roles replaces those alone, and sees no other.

        Raises Invalid, UserNotFound; Unauthorized for guests, Forbidden for who may not give such a role, or to himself.
        """
        if isinstance(caller, SecretKeyCaller):
            check_roles(roles)
            found = await caller.project.users.replace_roles(user_id, list(dict.fromkeys(roles)))
        else:
            found = await self._delegate(caller, user_id, roles)
        if found is None:
            raise UserNotFound
        self._access.forget_user(caller.project, user_id)
        return found

    async def _delegate(self, caller: ProjectCaller, user_id: str, roles: Sequence[str]) -> list[str] | None:
        own = await self._assignable(caller)
        if not own:
            raise Forbidden if isinstance(caller, UserCaller) else Unauthorized
        if isinstance(caller, UserCaller) and caller.user_id == user_id:
            raise Forbidden
        check_roles(roles)
        if not own.issuperset(roles):
            raise Forbidden
        match = await self._readable(caller)
        everything = await caller.project.users.replace_some_roles(user_id, list(roles), among=sorted(own), match=match)
        return None if everything is None else [role for role in everything if role in own]

    async def _assignable(self, caller: ProjectCaller) -> set[str]:
        compiled = await self._access.rules(caller.project)
        assign: Mapping[str, object] = compiled.rules.assign
        # Every rule of `assign` is about the caller alone, so it is bound to true or false.
        values = await self._access.values(caller.project, caller, compiled, CollectionRules())
        return {role for role in assign if bind(compiled.rules.assign[role], values) is True}

    async def _readable(self, caller: ProjectCaller) -> Document:
        """The condition under which the caller may read a user at all; whom he may not, is not there for him."""
        return all_filters(VisibleUsers(USER_SHAPE, await self._access.permissions(caller, USERS)).match)


def check_roles(roles: Sequence[str]) -> None:
    """Raises Invalid."""
    violations = [
        Violation(("body", "roles", number), ROLE_RULE, "value_error")
        for number, role in enumerate(roles)
        if not ROLE.fullmatch(role)
    ]
    if len(set(roles)) > MAX_ROLES:
        violations.append(Violation(("body", "roles"), f"A user has at most {MAX_ROLES} roles", "too_long"))
    if violations:
        raise Invalid(violations)

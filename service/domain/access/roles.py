"""Roles of users: what they may be called, and who may give which."""

from collections.abc import Mapping, Sequence

from service.bounds import MAX_ROLES
from service.domain.access.caller import ProjectCaller, SecretKeyCaller, UserCaller
from service.domain.access.compiled import CompiledRules
from service.domain.access.control import AccessControl, require
from service.domain.access.relations import settle
from service.domain.access.ruleset import ROLE, ROLE_RULE, USERS, CollectionRules
from service.domain.access.templates import bind
from service.errors import Forbidden, Invalid, InvalidApiKey, UserNotFound, Violation
from service.query.tree import Tree, has_relations, to_filter


class Roles:
    """Gives and takes roles. They stand beside `data`, where no profile reaches; only rules and the secret key do."""

    def __init__(self, access: AccessControl) -> None:
        self._access = access

    async def assignable(self, caller: ProjectCaller, user_id: str) -> frozenset[str] | None:
        """The roles that `caller` may give to a user and take; None for all.

        Raises InvalidApiKey in a project without rules, and Unauthorized for guests or Forbidden where there are none.
        """
        if isinstance(caller, SecretKeyCaller):
            return None
        compiled = await self._access.rules(caller.project)
        if not compiled.rules.exist:
            raise InvalidApiKey
        assignable = await self._delegated(caller, compiled)
        is_own = isinstance(caller, UserCaller) and caller.user_id == user_id
        require(bool(assignable) and not is_own, caller)
        return assignable

    async def replace(
        self, caller: ProjectCaller, user_id: str, roles: Sequence[str], among: frozenset[str] | None
    ) -> list[str]:
        """The roles of a user afterwards. Of those to whom a project delegates roles, just those: they see no other.

        Raises Invalid, UserNotFound, and Forbidden for a role that is not `among` the assignable ones.
        """
        check_roles(roles)
        if among is None:
            found = await caller.project.users.replace_roles(user_id, list(dict.fromkeys(roles)))
        else:
            found = await self._replace_some(caller, user_id, roles, among)
        if found is None:
            raise UserNotFound
        self._access.forget_user(caller.project, user_id)
        return found

    async def _replace_some(
        self, caller: ProjectCaller, user_id: str, roles: Sequence[str], among: frozenset[str]
    ) -> list[str] | None:
        if not among.issuperset(roles):
            raise Forbidden
        match, users = to_filter(await self._readable(caller, user_id)), caller.project.users
        everything = await users.replace_some_roles(user_id, list(roles), among=sorted(among), match=match)
        return None if everything is None else [role for role in everything if role in among]

    async def _delegated(self, caller: ProjectCaller, compiled: CompiledRules) -> frozenset[str]:
        assign: Mapping[str, object] = compiled.rules.assign
        # Every rule of `assign` is about the caller alone, so it is bound to true or false.
        values = await self._access.values(caller, compiled, CollectionRules())
        return frozenset(role for role in assign if bind(compiled.rules.assign[role], values) is True)

    async def _readable(self, caller: ProjectCaller, user_id: str) -> Tree:
        """The condition under which the caller may read the user; whom he may not, is not there for him."""
        tree = (await self._access.permissions(caller, USERS)).read
        if not has_relations(tree):
            return tree
        row = await caller.project.users.find_row(user_id)
        return row is not None and await settle(caller.project.database, tree, row)


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

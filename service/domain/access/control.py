"""What callers may do in a project: its rules, compiled once per version, with each caller's values put in.

Rules, users and sets are remembered by a worker for at most five seconds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from service.domain.access.caller import ProjectCaller, UserCaller
from service.domain.access.compiled import CompiledRules, compile_rules, make_values, read_needs
from service.domain.access.permissions import Permissions
from service.domain.access.ruleset import SERVER, CollectionRules, SetRule
from service.domain.access.templates import (
    NOW,
    SET_PREFIX,
    USER_EMAIL,
    USER_ID,
    USER_ROLES,
    Values,
    bind,
)
from service.domain.cache import Cache
from service.domain.projects.lookup import CACHE_SECONDS, CACHED_PROJECTS, Project
from service.errors import CollectionNotFound, Forbidden, InvalidApiKey, InvalidToken, Unauthorized
from service.query.tree import Tree, to_filter
from service.schema.values import now
from service.storage.rules import find_rules
from service.storage.sets import find_values
from service.storage.users import UserFacts, Users

USERS = "users"
CACHED_USERS = 10_000
CACHED_SETS = 10_000
# A version never changes, so what was compiled of one is of use as long as the version is in force.
COMPILED_SECONDS = 3_600
# What a set is remembered as that has too many values, or whose own condition lacks a variable.
UNKNOWN: None = None

# The values of sets by name; None where a set is unknown.
Sets = Mapping[str, tuple[Any, ...] | None]


@dataclass(frozen=True, slots=True)
class BoundRules:
    """Permissions, and what they were made of."""

    compiled: CompiledRules
    facts: UserFacts | None
    sets: Sets
    permissions: Permissions

    def is_made_of(self, compiled: CompiledRules, facts: UserFacts | None, sets: Sets) -> bool:
        """What is remembered is the same object for as long as it is."""
        same = self.compiled is compiled and self.facts is facts
        return same and all(self.sets.get(name) is values for name, values in sets.items())


class AccessControl:
    """The rules of all projects."""

    def __init__(self) -> None:
        self._rules: Cache[CompiledRules] = Cache(CACHED_PROJECTS, CACHE_SECONDS)
        self._compiled: Cache[CompiledRules] = Cache(CACHED_PROJECTS, COMPILED_SECONDS)
        self._users: Cache[UserFacts] = Cache(CACHED_USERS, CACHE_SECONDS)
        self._sets: Cache[tuple[Any, ...] | None] = Cache(CACHED_SETS, CACHE_SECONDS)
        self._bound: Cache[BoundRules] = Cache(CACHED_USERS, CACHE_SECONDS)

    async def rules(self, project: Project) -> CompiledRules:
        return await self._rules.get_or_load(project.id, lambda: self._load(project))

    async def require_rules(self, project: Project) -> None:
        """Raises InvalidApiKey in a project without rules, where everything is for the secret key alone."""
        if not (await self.rules(project)).rules.exist:
            raise InvalidApiKey

    async def refresh(self, project: Project) -> CompiledRules:
        """The rules as they are stored now, for the worker that changed them."""
        return await self._rules.reload(project.id, lambda: self._load(project))

    async def permissions(self, caller: ProjectCaller, name: str) -> Permissions:
        """What `caller` may do with the records of a declared collection, or of `users`.

        Raises InvalidApiKey in a project without rules, where the documents are for the secret key alone; CollectionNotFound
        for a collection that the rules do not name, be it there or not; InvalidToken for a user who is gone.
        """
        project = caller.project
        compiled = await self.rules(project)
        if not compiled.rules.exist:
            raise InvalidApiKey
        rules = compiled.rules.of(name)
        if rules is None or (name == USERS and rules.read is False):
            raise InvalidApiKey if name == USERS else CollectionNotFound
        needs = compiled.needs_of(name, rules)
        facts = await self._user(caller) if isinstance(caller, UserCaller) else None
        sets = await self._read_sets(caller, compiled, needs.sets, facts)
        return self._bind(caller, compiled, name, facts, sets)

    def _bind(
        self, caller: ProjectCaller, compiled: CompiledRules, name: str, facts: UserFacts | None, sets: Sets
    ) -> Permissions:
        """Remembered as long as all that they were made of is: so they are known no longer than that."""
        key = f"{caller.project.id}/{name}/{_principal(caller)}"
        bound = self._bound.get(key)
        if bound is not None and bound.is_made_of(compiled, facts, sets):
            return bound.permissions
        rules = compiled.rules.of(name) or CollectionRules()
        values = make_values(compiled, _known(caller, facts, sets), is_user=facts is not None)
        permissions = Permissions(rules, values, is_users=name == USERS)
        if not compiled.needs_of(name, rules).moment:
            self._bound.put(key, BoundRules(compiled, facts, sets, permissions))
        return permissions

    async def find_permissions(self, caller: ProjectCaller, name: str) -> Permissions | None:
        """As `permissions`; None where nobody but the secret key may read the records."""
        try:
            return await self.permissions(caller, name)
        except (CollectionNotFound, InvalidApiKey):
            return None

    async def server_fields(self, project: Project) -> frozenset[str]:
        """The fields of users' data that only servers write."""
        users = (await self.rules(project)).rules.users
        return frozenset(name for name, each in users.fields.items() if each.write == SERVER) if users else frozenset()

    async def protected_fields(self, project: Project) -> frozenset[str]:
        """The fields of users' data whose files are read by signed URLs only."""
        return (await self.rules(project)).rules.protected

    async def set_condition(self, caller: ProjectCaller, compiled: CompiledRules, name: str) -> Tree:
        """Which records the values of a set come from, for this caller; false where the set is unknown."""
        facts = await self._user(caller) if isinstance(caller, UserCaller) else None
        known = Values(_known(caller, facts, {}), is_user=facts is not None)
        return bind(compiled.rules.sets[name].where, known)

    async def require_user(self, caller: UserCaller) -> None:
        """Raises InvalidToken where the caller's token is not good any more."""
        await self._user(caller)

    def forget_caller(self, caller: ProjectCaller) -> None:
        """For a worker that is told of changes: the caller's sets are read anew, and what is known of a user."""
        if isinstance(caller, UserCaller):
            self.forget_user(caller.project, caller.user_id)
        if (compiled := self._rules.get(caller.project.id)) is not None:
            for name in compiled.rules.sets:
                self._sets.forget(_set_key(caller, compiled, name))

    def forget_user(self, project: Project, user_id: str) -> None:
        """For the worker that changed what rules know of a user."""
        self._users.forget(_user_key(project, user_id))

    async def _load(self, project: Project) -> CompiledRules:
        stored = await find_rules(project.database.outside)
        known = self._compiled.get(project.id)
        if known is not None and known.version == stored.revision:
            return known
        return self._compiled.put(project.id, await compile_rules(project, stored))

    async def values(
        self,
        caller: ProjectCaller,
        compiled: CompiledRules,
        rules: CollectionRules,
        *,
        roles: tuple[str, ...] | None = None,
    ) -> Values:
        """The caller's values, as far as `rules`, and what they need by `$can`, name them.

        `roles`, where they are given, stand in for the caller's own.
        """
        facts = await self._user(caller) if isinstance(caller, UserCaller) else None
        if facts is not None and roles is not None:
            facts = replace(facts, roles=roles)
        sets = await self._read_sets(caller, compiled, read_needs(rules, compiled.rules).sets, facts)
        return make_values(compiled, _known(caller, facts, sets), is_user=facts is not None)

    async def _read_sets(
        self, caller: ProjectCaller, compiled: CompiledRules, names: Iterable[str], facts: UserFacts | None
    ) -> Sets:
        return {name: await self._set(caller, compiled, name, facts) for name in names}

    async def _user(self, caller: UserCaller) -> UserFacts:
        """Raises InvalidToken where the caller's token is not good any more."""
        name, load = _user_key(caller.project, caller.user_id), partial(_load_user, caller)
        facts = await self._users.get_or_load(name, load)
        if not caller.is_in_force(facts):
            # What is remembered may be older than the token.
            facts = await self._users.reload(name, load)
        if not caller.is_in_force(facts):
            raise InvalidToken
        return facts

    async def _set(
        self, caller: ProjectCaller, compiled: CompiledRules, name: str, facts: UserFacts | None
    ) -> tuple[Any, ...] | None:
        key = _set_key(caller, compiled, name)
        return await self._sets.get_or_load(key, lambda: _load_set(caller, compiled.rules.sets[name], facts))


async def _load_user(caller: UserCaller) -> UserFacts:
    facts = await Users(caller.project.database.outside).find_facts(caller.user_id)
    if facts is None:
        raise InvalidToken
    return facts


def _set_key(caller: ProjectCaller, compiled: CompiledRules, name: str) -> str:
    return f"{caller.project.id}/{compiled.version}/{name}/{_principal(caller)}"


def _user_key(project: Project, user_id: str) -> str:
    return f"{project.id}/{user_id}"


async def _load_set(caller: ProjectCaller, rule: SetRule, facts: UserFacts | None) -> tuple[Any, ...] | None:
    where = bind(rule.where, Values(_known(caller, facts, {}), is_user=facts is not None))
    if where is False:
        return UNKNOWN
    return await find_values(caller.project.database.outside, rule.collection, rule.take, to_filter(where))


def _principal(caller: ProjectCaller) -> str:
    """Whose values they are; guests have the same."""
    return caller.user_id if isinstance(caller, UserCaller) else ""


def _known(caller: ProjectCaller, facts: UserFacts | None, sets: Sets) -> dict[str, Any]:
    """The values of the variables that are known."""
    known: dict[str, Any] = {NOW: now()}
    if facts is not None:
        known |= {f"user.data.{name}": value for name, value in facts.data.items()}
        known |= {USER_ID: _principal(caller), USER_EMAIL: facts.email, USER_ROLES: facts.roles}
    return known | {f"{SET_PREFIX}{name}": values for name, values in sets.items() if values is not UNKNOWN}


def require(tree: Tree, caller: ProjectCaller) -> None:
    """Refuses a caller to whom a rule is false whatever the record. Raises Unauthorized for guests, Forbidden for users."""
    if tree is False:
        raise Forbidden if isinstance(caller, UserCaller) else Unauthorized

"""What callers may do in a project: its rules, compiled once per version, with each caller's values put in.

Rules, users and sets are remembered by a worker for at most five seconds.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from service.domain.access.caller import ProjectCaller, UserCaller
from service.domain.access.declared import find_shapes
from service.domain.access.permissions import Permissions
from service.domain.access.ruleset import SERVER, CollectionRules, Rules, SetRule, read_rules, sets_in
from service.domain.access.templates import NOW, SET_PREFIX, USER_EMAIL, USER_ID, USER_ROLES, Values, bind, targets_of
from service.domain.cache import Cache
from service.domain.projects.lookup import CACHE_SECONDS, CACHED_PROJECTS, Project
from service.errors import CollectionNotFound, Forbidden, InvalidApiKey, InvalidToken, Unauthorized
from service.query.tree import Tree, to_filter
from service.schema.values import now
from service.storage.rules import StoredRules, find_rules
from service.storage.sets import find_values
from service.storage.users import UserFacts

USERS = "users"
CACHED_USERS = 10_000
CACHED_SETS = 10_000
# A version never changes, so what was compiled of one is of use as long as the version is in force.
COMPILED_SECONDS = 3_600
# What a set is remembered as that has too many values, or whose own condition lacks a variable.
UNKNOWN: None = None


@dataclass(frozen=True, slots=True)
class CompiledRules:
    """The rules of one revision, and the MongoDB collection behind each declared one."""

    version: str
    rules: Rules
    collections: Mapping[str, str] = field(default_factory=dict)


class AccessControl:
    """The rules of all projects."""

    def __init__(self) -> None:
        self._rules: Cache[CompiledRules] = Cache(CACHED_PROJECTS, CACHE_SECONDS)
        self._compiled: Cache[CompiledRules] = Cache(CACHED_PROJECTS, COMPILED_SECONDS)
        self._users: Cache[UserFacts] = Cache(CACHED_USERS, CACHE_SECONDS)
        self._sets: Cache[tuple[Any, ...] | None] = Cache(CACHED_SETS, CACHE_SECONDS)

    async def rules(self, project: Project) -> CompiledRules:
        return await self._rules.get_or_load(project.id, lambda: self._load(project))

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
        values = await self.values(project, caller, compiled, rules)
        return Permissions(rules, values, is_users=name == USERS)

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

    def forget_user(self, project: Project, user_id: str) -> None:
        """For the worker that changed what rules know of a user."""
        self._users.drop(_user_key(project, user_id))

    async def _load(self, project: Project) -> CompiledRules:
        stored = await find_rules(project.database)
        known = self._compiled.get(project.id)
        if known is not None and known.version == stored.revision:
            return known
        return self._compiled.put(project.id, await compile_rules(project, stored))

    async def values(
        self,
        project: Project,
        caller: ProjectCaller,
        compiled: CompiledRules,
        rules: CollectionRules,
        *,
        roles: tuple[str, ...] | None = None,
    ) -> Values:
        """The caller's values, as far as `rules`, and what they need by `$can`, name them.

        `roles`, where they are given, stand in for the caller's own.
        """
        known: dict[str, Any] = {NOW: now()}
        if isinstance(caller, UserCaller):
            known |= _user_values(caller.user_id, await self._user(caller))
        if roles is not None:
            known[USER_ROLES] = roles
        needed = list(_reachable(rules, compiled.rules))
        for name in sorted(sets_in(needed)):
            values = await self._set(project, caller, compiled, name, known)
            if values is not UNKNOWN:
                known[f"{SET_PREFIX}{name}"] = values
        return _bound_values(compiled, known, is_user=isinstance(caller, UserCaller))

    async def _user(self, caller: UserCaller) -> UserFacts:
        """Raises InvalidToken where the caller's token is not good any more."""
        name, load = _user_key(caller.project, caller.user_id), partial(_load_user, caller)
        facts = await self._users.get_or_load(name, load)
        if facts.version != caller.version:
            # What is remembered may be older than the token.
            facts = await self._users.reload(name, load)
        if facts.version != caller.version:
            raise InvalidToken
        return facts

    async def _set(
        self, project: Project, caller: ProjectCaller, compiled: CompiledRules, name: str, known: Mapping[str, Any]
    ) -> tuple[Any, ...] | None:
        who = caller.user_id if isinstance(caller, UserCaller) else ""
        key = f"{project.id}/{compiled.version}/{name}/{who}"
        rule, values = compiled.rules.sets[name], Values(known, is_user=bool(who))
        return await self._sets.get_or_load(key, lambda: _load_set(project, rule, bind(rule.where, values)))


async def compile_rules(project: Project, stored: StoredRules) -> CompiledRules:
    """The rules of a stored document, which was checked before it was stored."""
    document = json.loads(stored.text)
    if not document:
        return CompiledRules(stored.revision, Rules())
    shapes = await find_shapes(project.database)
    return CompiledRules(stored.revision, read_rules(document, shapes, shapes.targets), shapes.mongo_collections)


async def _load_user(caller: UserCaller) -> UserFacts:
    facts = await caller.project.users.find_facts(caller.user_id)
    if facts is None:
        raise InvalidToken
    return facts


def _user_key(project: Project, user_id: str) -> str:
    return f"{project.id}/{user_id}"


async def _load_set(project: Project, rule: SetRule, where: Tree) -> tuple[Any, ...] | None:
    if where is False:
        return UNKNOWN
    return await find_values(project.database, rule.collection, rule.take, to_filter(where))


def _user_values(user_id: str, facts: UserFacts) -> dict[str, Any]:
    data = {f"user.data.{name}": value for name, value in facts.data.items()}
    return {**data, USER_ID: user_id, USER_EMAIL: facts.email, USER_ROLES: facts.roles}


def _bound_values(compiled: CompiledRules, known: Mapping[str, Any], *, is_user: bool) -> Values:
    def readable(target: str) -> tuple[str, Tree]:
        rules = compiled.rules.of(target)
        return compiled.collections.get(target, target), bind(rules.read, values) if rules else False

    values = Values(known, readable, is_user)
    return values


def _reachable(rules: CollectionRules, every: Rules) -> Iterator[Tree]:
    """The templates of `rules`, and of the read rules that they need by `$can`, which are few in a row."""
    waiting = [template for _, template in rules.templates()]
    seen: set[str] = set()
    while waiting:
        template = waiting.pop()
        yield template
        for target in targets_of(template) - seen:
            seen.add(target)
            needed = every.of(target)
            waiting += [needed.read] if needed else []


def require(tree: Tree, caller: ProjectCaller) -> None:
    """Refuses a caller to whom a rule is false whatever the record. Raises Unauthorized for guests, Forbidden for users."""
    if tree is False:
        raise Forbidden if isinstance(caller, UserCaller) else Unauthorized

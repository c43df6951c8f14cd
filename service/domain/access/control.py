"""The permissions of callers in a project: its rules, compiled once per version, with each caller's values put in.

Rules, users and sets are cached by a worker for at most five seconds.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from service.bounds import MAX_KNOWN_PERMISSIONS, MAX_KNOWN_RULES
from service.domain.access.agreement import compile_rules
from service.domain.access.caller import (
    OperatorCaller,
    ProjectCaller,
    PublishableKeyCaller,
    SecretKeyCaller,
    UserCaller,
)
from service.domain.access.caller_values import (
    KnownSets,
    KnownUsers,
    Sets,
    name_principal,
    own_values,
    present_values,
    weigh_set,
)
from service.domain.cache import Cache, moment
from service.domain.projects.lookup import CACHE_SECONDS, Project
from service.domain.steps import run_in_steps
from service.errors import CollectionNotFound, Forbidden, InvalidApiKey, Unauthorized
from service.observe.requests import note_refusal
from service.query.shapes import Shape
from service.query.tree import Tree
from service.rules.compiled import CompiledRules, make_values, read_needs
from service.rules.permissions import EVERYTHING, Permissions
from service.rules.ruleset import SERVER, CollectionRules
from service.rules.templates import USER_ANONYMOUS, USER_ROLES, Values, bind
from service.rules.visible import Seen, make_seen
from service.schema.steps import finish
from service.storage.databases import ProjectDatabase
from service.storage.rules import find_rules
from service.storage.users import UserFacts

USERS = "users"
ACTIONS = ("read", "create", "update", "delete")
# Prepares `Seen` for the declared names that a query can reach.
See = Callable[[Sequence[str]], Awaitable[Seen]]
# A version never changes, so what was compiled of one is of use as long as the version is in force.
COMPILED_SECONDS = 3_600
# Bytes in memory, as measured: of compiled rules for each letter of their text, and of a condition with a caller's values.
BYTES_OF_LETTER = 20
BYTES_OF_CONDITION = 120
BYTES_OF_RULES = 2_000


@dataclass(frozen=True, slots=True)
class BoundRules:
    """Permissions, what they were made of, and how many conditions their rules have."""

    compiled: CompiledRules
    facts: UserFacts | None
    sets: Sets
    permissions: Permissions
    conditions: int

    def is_made_of(self, compiled: CompiledRules, facts: UserFacts | None, sets: Sets) -> bool:
        """True if it was made of these objects: a cached value is the same object as long as it is cached."""
        same = self.compiled is compiled and self.facts is facts
        return same and all(self.sets.get(name) is values for name, values in sets.items())


class AccessControl:
    """The rules of all projects."""

    def __init__(self) -> None:
        self._rules: Cache[CompiledRules] = Cache(MAX_KNOWN_RULES, CACHE_SECONDS, _weigh_rules)
        self._compiled: Cache[CompiledRules] = Cache(MAX_KNOWN_RULES, COMPILED_SECONDS, _weigh_rules)
        self._bound: Cache[BoundRules] = Cache(MAX_KNOWN_PERMISSIONS, CACHE_SECONDS, _weigh_bound)
        self._users = KnownUsers()
        self._sets = KnownSets()

    async def rules(self, project: Project) -> CompiledRules:
        return await self._rules.get_or_load(project.id, lambda: self._load(project))

    async def require_rules(self, project: Project) -> None:
        """Raises InvalidApiKey in a project without rules, where everything is for the secret key alone."""
        if not (await self.rules(project)).rules.exist:
            raise InvalidApiKey

    async def refresh(self, project: Project) -> CompiledRules:
        """The rules as they are stored now, for the worker that changed them."""
        return await self._rules.reload(project.id, lambda: self._load(project))

    async def permissions(self, caller: ProjectCaller, name: str, *, since: float = -inf) -> Permissions:
        """The permissions of `caller` on the records of a declared collection, or of `users`.

        Sets that were read before `since` are read again, as far as `KnownSets.find` does. Raises InvalidApiKey in a
        project without rules, where the documents are for the secret key alone; CollectionNotFound for a collection
        that the rules do not name, existing or not; InvalidToken for a deleted user.

        A secret key has the same permissions in every project.
        """
        if isinstance(caller, SecretKeyCaller):
            return EVERYTHING
        compiled = await self.rules(caller.project)
        if not compiled.rules.exist:
            raise InvalidApiKey
        rules = compiled.rules.of(name)
        if rules is None or (name == USERS and rules.read is False):
            raise InvalidApiKey if name == USERS else CollectionNotFound
        needs = compiled.known_needs(name)
        if needs is None:
            needs = await run_in_steps(caller.project.database, compiled.find_needs(name, rules))
        facts = await self._users.find(caller, compiled.rules.user_fields)
        sets: Sets = {}
        if needs.sets:
            sets = await self._read_sets(caller, compiled, needs.sets, own_values(caller, facts), since=since)
        return self._bind(caller, compiled, name, facts, sets)

    async def permit(
        self, caller: ProjectCaller, name: str, action: str = "read", *, since: float | None = None
    ) -> Permissions:
        """The permissions of a caller to whom they allow an action, on some record at least.

        Raises as `permissions`; Unauthorized for guests and Forbidden for users where they refuse the action.
        """
        started = moment() if since is None else since
        permissions = await self.permissions(caller, name)
        if permissions.allows(action) is False:
            permissions = await self.renew(caller, name, permissions, since=started) or permissions
            if permissions.allows(action) is False:
                note_refusal(name_rule(name, action))
            require(permissions.allows(action), caller)
        return permissions

    async def require_any(self, caller: ProjectCaller) -> None:
        """Refuses a guest to whom the rules give nothing, whatever will be asked. Raises InvalidApiKey, Unauthorized."""
        if not isinstance(caller, PublishableKeyCaller):
            return
        rules = (await self.rules(caller.project)).rules
        if not rules.exist:
            raise InvalidApiKey
        for name in (*rules.collections, USERS):
            permissions = await self.find_permissions(caller, name)
            if permissions and any(permissions.allows(each) is not False for each in ACTIONS):
                return
        raise Unauthorized

    async def renew(
        self, caller: ProjectCaller, name: str, permissions: Permissions, *, since: float
    ) -> Permissions | None:
        """The permissions by sets that were read after `since`, for a caller who is about to be refused.

        None where the sets are the same, so that the refusal stands.
        """
        if not permissions.sets:
            return None
        newer = await self.permissions(caller, name, since=since)
        return newer if newer.sets != permissions.sets else None

    def _bind(
        self, caller: ProjectCaller, compiled: CompiledRules, name: str, facts: UserFacts | None, sets: Sets
    ) -> Permissions:
        """Remembered as long as all that they were made of is: so they are known no longer than that."""
        key = f"{name}/{name_principal(caller)}"
        bound = self._bound.get(key)
        if bound is not None and bound.is_made_of(compiled, facts, sets):
            return bound.permissions
        rules = compiled.rules.of(name) or CollectionRules()
        known = present_values(own_values(caller, facts), sets)
        values = make_values(compiled, known)
        permissions = Permissions(rules, values, is_users=name == USERS, sets=sets)
        needs = compiled.needs_of(name, rules)
        if not needs.moment:
            self._bound.put(key, BoundRules(compiled, facts, sets, permissions, needs.conditions))
        return permissions

    async def find_permissions(self, caller: ProjectCaller, name: str, *, since: float = -inf) -> Permissions | None:
        """As `permissions`; None if only the secret key may read the records."""
        try:
            return await self.permissions(caller, name, since=since)
        except (CollectionNotFound, InvalidApiKey):
            return None

    def make_see(self, caller: ProjectCaller, name: str, permissions: Permissions, *, since: float = -inf) -> See:
        """Shows the shapes of collections to a caller who has these permissions of the collection `name`."""
        if isinstance(caller, OperatorCaller):
            return _make_see_of_operator(caller)

        async def see(names: Sequence[str]) -> Seen:
            known: dict[str, Permissions | None] = {name: permissions}
            for other in names:
                if other not in known:
                    known[other] = await self.find_permissions(caller, other, since=since)
            return make_seen(known)

        return see

    async def server_fields(self, project: Project) -> frozenset[str]:
        """The fields of users' data that only servers write."""
        users = (await self.rules(project)).rules.users
        return frozenset(name for name, each in users.fields.items() if each.write == SERVER) if users else frozenset()

    async def protected_fields(self, project: Project) -> frozenset[str]:
        """The fields of users' data whose files are read by signed URLs only."""
        return (await self.rules(project)).rules.protected

    async def set_condition(self, caller: ProjectCaller, compiled: CompiledRules, name: str) -> Tree:
        """Which records the values of a set come from, for this caller; false where the set is unknown."""
        facts = await self._users.find(caller, compiled.rules.user_fields)
        values = Values(present_values(own_values(caller, facts)))
        return bind(compiled.rules.sets[name].where, values)

    async def require_user(self, caller: UserCaller) -> None:
        """Raises InvalidToken where the caller's token is not good any more."""
        await self._users.find(caller, (await self.rules(caller.project)).rules.user_fields)

    def forget_caller(self, caller: ProjectCaller) -> None:
        """Drops cached values of a caller after a change that the feed delivered: the caller's sets, and the facts of a
        user.
        """
        if isinstance(caller, UserCaller):
            self.forget_user(caller.project, caller.user_id)
        self.renew_sets(caller)

    def renew_sets(self, caller: ProjectCaller) -> None:
        """From now on the caller's sets are those that are read after this call."""
        self._sets.renew(name_principal(caller))

    def forget_user(self, project: Project, user_id: str) -> None:
        """For the worker that changed what rules know of a user."""
        self._users.forget(project, user_id)

    async def note_write(self, caller: ProjectCaller, database: ProjectDatabase, name: str) -> None:
        """Call it after a write. If a set takes its values from this collection, the caller's sets are read again.

        In a transaction they are read again at once, elsewhere after its commit. It does nothing for a secret key.
        """
        if isinstance(caller, SecretKeyCaller):
            return
        compiled = await self.rules(caller.project)
        source = compiled.collections.get(name)
        if source is None or source not in compiled.rules.sources:
            return
        if database.session is None:
            self._sets.renew(name_principal(caller))
            return

        async def renew() -> None:
            self._sets.renew(name_principal(caller))

        database.note_write(source)
        database.after_commit.append(renew)

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

        `roles`, where they are given, stand in for the caller's own; with them a guest is a user of no known id.
        """
        facts = await self._users.find(caller, compiled.rules.user_fields)
        own = own_values(caller, facts)
        if roles is not None:
            own = {USER_ANONYMOUS: False, **own, USER_ROLES: roles}
        sets = await self._read_sets(caller, compiled, finish(read_needs(rules, compiled.rules)).sets, own)
        return make_values(compiled, present_values(own, sets))

    async def _read_sets(
        self,
        caller: ProjectCaller,
        compiled: CompiledRules,
        names: Iterable[str],
        own: Mapping[str, Any],
        *,
        since: float = -inf,
    ) -> Sets:
        project, principal, rules = caller.project, name_principal(caller), compiled.rules.sets
        return {name: await self._sets.find(project, principal, rules[name], own, since=since) for name in names}


def require_users_read(caller: ProjectCaller, name: str) -> None:
    """Raises PermissionRequired for an operator who may not read `users`, where `name` is that.

    The scope of a token may hold the data of a project without its users; no role does.
    """
    if name == USERS and isinstance(caller, OperatorCaller):
        caller.require("users", "read")


def _make_see_of_operator(caller: OperatorCaller) -> See:
    """Shows all shapes. That of users is refused where a query names it, not where it could be reached."""

    def seen(name: str, shape: Shape) -> Shape:
        require_users_read(caller, name)
        return shape

    async def see(_names: Sequence[str]) -> Seen:
        return seen

    return see


def _weigh_rules(compiled: CompiledRules) -> int:
    return BYTES_OF_RULES + BYTES_OF_LETTER * compiled.length


def _weigh_bound(bound: BoundRules) -> int:
    return BYTES_OF_RULES + BYTES_OF_CONDITION * bound.conditions + sum(map(weigh_set, bound.sets.values()))


def name_rule(name: str, action: str) -> str:
    """The path of a rule in the project's document."""
    return f"{name}.{action}" if name == USERS else f"collections.{name}.{action}"


def require(tree: Tree, caller: ProjectCaller) -> None:
    """Refuses a caller to whom a rule is false whatever the record. Raises Unauthorized for guests, Forbidden for users."""
    if tree is False:
        raise Forbidden if isinstance(caller, UserCaller) else Unauthorized

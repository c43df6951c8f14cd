"""The values of variables for a caller: facts of the user, and sets. Each is remembered for some seconds."""

import hashlib
from collections.abc import Mapping
from functools import partial
from math import inf
from sys import getsizeof
from typing import Any

from service.bounds import (
    MAX_KNOWN_CALLERS,
    MAX_KNOWN_SETS,
    MAX_KNOWN_USERS,
    MAX_LISTS,
    MAX_SET_READS,
    MAX_SOCKETS,
)
from service.domain.access.caller import ProjectCaller, UserCaller
from service.domain.cache import Cache, moment
from service.domain.lists import LIST_SECONDS, SAVED_SECONDS, SLOW_SECONDS, SLOW_SHARE
from service.domain.paces import PRESENCE, Fewer
from service.domain.projects.lookup import CACHE_SECONDS, Project
from service.domain.shares import Shares
from service.errors import InvalidToken
from service.query.tree import to_filter
from service.rules.ruleset import USER_DATA, SetRule
from service.rules.templates import NOW, SET_PREFIX, USER_ANONYMOUS, USER_EMAIL, USER_ID, USER_ROLES, Values, bind
from service.schema.values import now
from service.storage.databases import ProjectDatabase
from service.storage.sets import find_values
from service.storage.users import UserFacts, Users

# Bytes in memory for each letter of the text of facts: at most four for the letter itself, and the heads of the objects.
BYTES_OF_LETTER = 6
NO_SETS: Mapping[str, Any] = {}
# A project has as much of MongoDB for slow sets as for slow lists; alone it reads as many sets at once as lists.
SLOW_SETS = Fewer(MAX_LISTS, SLOW_SECONDS, PRESENCE, share=SLOW_SHARE, saved=SAVED_SECONDS)
# A longer text of a variable's value stands in a key by its hash.
MAX_KEY = 200

# None where a set has too many values or bytes, or where its own condition lacks a variable.
SetValues = tuple[Any, ...] | None
# The values of sets by name.
Sets = Mapping[str, SetValues]


class KnownUsers:
    """The facts of the users of all projects."""

    def __init__(self) -> None:
        self._facts: Cache[UserFacts] = Cache(MAX_KNOWN_USERS, CACHE_SECONDS, _weigh)

    async def find(self, caller: ProjectCaller, fields: tuple[str, ...]) -> UserFacts | None:
        """Those of a caller who is a user, with these `fields` of its data; None of another one.

        Raises InvalidToken where the user's token is not good any more.
        """
        if not isinstance(caller, UserCaller):
            return None
        name, load = _key(caller.project, caller.user_id), partial(_load, caller, fields)
        facts = await self._facts.get_or_load(name, load)
        if not caller.is_in_force(facts) or facts.fields != fields:
            # The cached facts may be older than the token, or than the rules.
            facts = await self._facts.reload(name, load)
        if not caller.is_in_force(facts):
            raise InvalidToken
        return facts

    def forget(self, project: Project, user_id: str) -> None:
        self._facts.forget(_key(project, user_id))


async def _load(caller: UserCaller, fields: tuple[str, ...]) -> UserFacts:
    facts = await Users(caller.project.database.outside).find_facts(caller.user_id, fields)
    if facts is None:
        raise InvalidToken
    return facts


def _key(project: Project, user_id: str) -> str:
    return f"{project.id}/{user_id}"


def _weigh(facts: UserFacts) -> int:
    return BYTES_OF_LETTER * len(repr(facts))


def name_principal(caller: ProjectCaller) -> str:
    """The key of a caller's values in their project; guests share one."""
    return _key(caller.project, caller.user_id if isinstance(caller, UserCaller) else "")


def own_values(caller: ProjectCaller, facts: UserFacts | None) -> dict[str, Any]:
    """The values of the variables about the caller, none of a guest. An address that is not proven is not known."""
    if facts is None or not isinstance(caller, UserCaller):
        return {}
    own: dict[str, Any] = {USER_ID: caller.user_id, USER_ROLES: facts.roles, USER_ANONYMOUS: facts.is_anonymous}
    if facts.email is not None:
        own[USER_EMAIL] = facts.email
    for name, value in facts.data.items():
        own[f"{USER_DATA}{name}"] = value
    return own


def present_values(own: Mapping[str, Any], sets: Mapping[str, Any] = NO_SETS) -> dict[str, Any]:
    """The values of all variables that are known at this moment; sets that are unknown have None."""
    known = {f"{SET_PREFIX}{name}": values for name, values in sets.items() if values is not None}
    return {NOW: now(), **own, **known}


class KnownSets:
    """The sets of all projects. Callers whose variables have the same values share them.

    `principal` names a caller, or all guests, in a project.
    """

    def __init__(self) -> None:
        self._known: Cache[SetValues] = Cache(MAX_KNOWN_SETS, CACHE_SECONDS, weigh_set)
        self._since: Cache[float] = Cache(MAX_KNOWN_CALLERS, CACHE_SECONDS)
        self._reads: Cache[list[int]] = Cache(MAX_KNOWN_CALLERS, 1.0)
        # Every request and socket may need a set of its own, so as many wait as there may be sockets.
        self._places = Shares(MAX_LISTS, waiting=MAX_SOCKETS, seconds=LIST_SECONDS, slow=SLOW_SETS)

    def renew(self, principal: str) -> None:
        """From now on the principal's sets are those that are read after this call."""
        self._since.put(principal, moment())

    async def find(
        self, project: Project, principal: str, rule: SetRule, own: Mapping[str, Any], *, since: float = -inf
    ) -> SetValues:
        """The values of a set for a caller of these `own` values, where those that were read before `since` are read again.

        A principal has so many sets read again in a second. An unknown set, which has too many values or bytes, stays
        unknown until it expires. In a transaction that wrote to the source of the set, they are those that the transaction
        sees. Raises Busy.
        """
        key = _name_set(project, rule, own)
        database = project.database
        if rule.collection in database.written:
            if key not in database.remembered:
                database.remembered[key] = await self._read(database, rule, own)
            return database.remembered[key]  # type: ignore[no-any-return]
        if self._is_outdated(principal, key, since):
            return await self._known.reload(key, partial(self._read, database.outside, rule, own))
        # Most are remembered and known: of these nothing is prepared to load them.
        known = self._known.get(key)
        return known or await self._known.get_or_load(key, partial(self._read, database.outside, rule, own))

    def _is_outdated(self, principal: str, key: str, since: float) -> bool:
        wanted = self._since.get(principal)
        if wanted is None and since == -inf:
            return False
        read_at = self._known.read_at(key) or -inf
        if wanted is not None and read_at <= wanted:
            return True
        is_unknown = self._known.get(key) is None and read_at + CACHE_SECONDS > moment()
        return read_at < since and not is_unknown and self._may_read_again(principal)

    def _may_read_again(self, principal: str) -> bool:
        count = self._reads.get(principal) or self._reads.put(principal, [0])
        count[0] += 1
        return count[0] <= MAX_SET_READS

    async def _read(self, database: ProjectDatabase, rule: SetRule, own: Mapping[str, Any]) -> SetValues:
        where = bind(rule.where, Values(present_values(own)))
        if where is False:
            return None
        async with self._places.take(database.database.name):
            return await find_values(database, rule.collection, rule.take, to_filter(where))


def _name_set(project: Project, rule: SetRule, own: Mapping[str, Any]) -> str:
    said = repr([own.get(name) for name in rule.variables])
    said = said if len(said) <= MAX_KEY else hashlib.sha256(said.encode()).hexdigest()
    return f"{project.id}/{rule.digest}/{said}"


def weigh_set(values: SetValues) -> int:
    """Bytes in memory."""
    return 0 if values is None else getsizeof(values) + sum(map(getsizeof, values))

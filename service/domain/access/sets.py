"""The values of sets, each remembered for some seconds. Callers for whom its variables have the same values share them."""

import hashlib
from collections.abc import Mapping
from functools import partial
from math import inf
from sys import getsizeof
from typing import Any

from service.bounds import MAX_KNOWN_CALLERS, MAX_KNOWN_SETS, MAX_SET_READS
from service.domain.access.known_users import present_values
from service.domain.cache import Cache, moment
from service.domain.projects.lookup import CACHE_SECONDS, Project
from service.query.tree import to_filter
from service.rules.ruleset import SetRule
from service.rules.templates import USER_ROLES, Values, bind
from service.storage.databases import ProjectDatabase
from service.storage.sets import find_values

# A longer text of a variable's value stands in a key by its hash.
MAX_KEY = 200

# None where a set has too many values or bytes, or where its own condition lacks a variable.
SetValues = tuple[Any, ...] | None
# The values of sets by name.
Sets = Mapping[str, SetValues]


class KnownSets:
    """The sets of all projects. `principal` names a caller, or all guests, in a project."""

    def __init__(self) -> None:
        self._known: Cache[SetValues] = Cache(MAX_KNOWN_SETS, CACHE_SECONDS, weigh_set)
        self._since: Cache[float] = Cache(MAX_KNOWN_CALLERS, CACHE_SECONDS)
        self._reads: Cache[list[int]] = Cache(MAX_KNOWN_CALLERS, 1.0)

    def renew(self, principal: str) -> None:
        """From now on the principal's sets are those that are read after this call."""
        self._since.put(principal, moment())

    async def find(
        self, project: Project, principal: str, rule: SetRule, own: Mapping[str, Any], *, since: float = -inf
    ) -> SetValues:
        """The values of a set for a caller of these `own` values, where those that were read before `since` are read again.

        A principal has so many sets read again in a second. In a transaction that wrote to the source of the set, they are
        those that the transaction sees.
        """
        key = _key(project, rule, own)
        database = project.database
        if rule.collection in database.written:
            if key not in database.remembered:
                database.remembered[key] = await _load(database, rule, own)
            return database.remembered[key]  # type: ignore[no-any-return]
        if self._is_outdated(principal, key, since):
            return await self._known.reload(key, partial(_load, database.outside, rule, own))
        # Most are remembered and known: of these nothing is prepared to load them.
        known = self._known.get(key)
        return known or await self._known.get_or_load(key, partial(_load, database.outside, rule, own))

    def _is_outdated(self, principal: str, key: str, since: float) -> bool:
        wanted = self._since.get(principal)
        if wanted is None and since == -inf:
            return False
        read_at = self._known.read_at(key) or -inf
        return (wanted is not None and read_at <= wanted) or (read_at < since and self._may_read_again(principal))

    def _may_read_again(self, principal: str) -> bool:
        count = self._reads.get(principal) or self._reads.put(principal, [0])
        count[0] += 1
        return count[0] <= MAX_SET_READS


def _key(project: Project, rule: SetRule, own: Mapping[str, Any]) -> str:
    said = repr([own.get(name) for name in rule.variables])
    said = said if len(said) <= MAX_KEY else hashlib.sha256(said.encode()).hexdigest()
    return f"{project.id}/{rule.digest}/{said}"


async def _load(database: ProjectDatabase, rule: SetRule, own: Mapping[str, Any]) -> SetValues:
    where = bind(rule.where, Values(present_values(own), is_user=USER_ROLES in own))
    return None if where is False else await find_values(database, rule.collection, rule.take, to_filter(where))


def weigh_set(values: SetValues) -> int:
    """Bytes in memory."""
    return 0 if values is None else getsizeof(values) + sum(map(getsizeof, values))

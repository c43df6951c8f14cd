"""The values of sets, each remembered for some seconds. Callers for whom its variables have the same values share them."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from sys import getsizeof
from typing import Any

from service.bounds import MAX_KNOWN_CALLERS, MAX_KNOWN_SETS, MAX_SET_READS
from service.domain.access.ruleset import SetRule
from service.domain.access.templates import Values, bind
from service.domain.cache import Cache, moment
from service.domain.projects.lookup import CACHE_SECONDS, Project
from service.query.tree import to_filter
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
        self, project: Project, principal: str, rule: SetRule, values: Values, *, since: float = -inf
    ) -> SetValues:
        """The values of a set for a caller, where those that were read before `since` are read again.

        A principal has so many sets read again in a second. In a transaction that wrote to the source of the set, they are
        those that the transaction sees.
        """
        key = _key(project, rule, [values.known.get(name) for name in rule.variables])
        database = project.database
        if rule.collection in database.written:
            if key not in database.remembered:
                database.remembered[key] = await _load(database, rule, values)
            return database.remembered[key]  # type: ignore[no-any-return]
        load = partial(_load, database.outside, rule, values)
        if self._is_outdated(principal, self._known.read_at(key) or -inf, since):
            return await self._known.reload(key, load)
        return await self._known.get_or_load(key, load)

    def _is_outdated(self, principal: str, read_at: float, since: float) -> bool:
        written_at = self._since.get(principal)
        if written_at is not None and read_at <= written_at:
            return True
        return read_at < since and self._may_read_again(principal)

    def _may_read_again(self, principal: str) -> bool:
        count = self._reads.get(principal) or self._reads.put(principal, [0])
        count[0] += 1
        return count[0] <= MAX_SET_READS


def _key(project: Project, rule: SetRule, values: Sequence[Any]) -> str:
    said = repr(values)
    said = said if len(said) <= MAX_KEY else hashlib.sha256(said.encode()).hexdigest()
    return f"{project.id}/{rule.digest}/{said}"


async def _load(database: ProjectDatabase, rule: SetRule, values: Values) -> SetValues:
    where = bind(rule.where, values)
    return None if where is False else await find_values(database, rule.collection, rule.take, to_filter(where))


def weigh_set(values: SetValues) -> int:
    """Bytes in memory."""
    return 0 if values is None else getsizeof(values) + sum(map(getsizeof, values))

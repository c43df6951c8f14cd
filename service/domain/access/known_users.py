"""What rules know of the user who asks, remembered for some seconds, and the values that this gives to variables."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from service.bounds import MAX_KNOWN_USERS
from service.domain.access.caller import ProjectCaller, UserCaller
from service.domain.cache import Cache
from service.domain.projects.lookup import CACHE_SECONDS, Project
from service.errors import InvalidToken
from service.rules.ruleset import USER_DATA
from service.rules.templates import NOW, SET_PREFIX, USER_EMAIL, USER_ID, USER_ROLES
from service.schema.values import now
from service.storage.users import UserFacts, Users

# Bytes in memory for each letter of the text of facts: at most four for the letter itself, and the heads of the objects.
BYTES_OF_LETTER = 6
NO_SETS: Mapping[str, Any] = {}


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
            # What is remembered may be older than the token, or than the rules.
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
    """Whose values they are, in which project; guests have the same."""
    return _key(caller.project, caller.user_id if isinstance(caller, UserCaller) else "")


def own_values(caller: ProjectCaller, facts: UserFacts | None) -> dict[str, Any]:
    """The values of the variables about the caller, none of a guest. An address that is not proven is not known."""
    if facts is None or not isinstance(caller, UserCaller):
        return {}
    own: dict[str, Any] = {USER_ID: caller.user_id, USER_ROLES: facts.roles}
    if facts.email is not None:
        own[USER_EMAIL] = facts.email
    for name, value in facts.data.items():
        own[f"{USER_DATA}{name}"] = value
    return own


def present_values(own: Mapping[str, Any], sets: Mapping[str, Any] = NO_SETS) -> dict[str, Any]:
    """The values of all variables that are known at this moment; sets that are unknown have None."""
    known = {f"{SET_PREFIX}{name}": values for name, values in sets.items() if values is not None}
    return {NOW: now(), **own, **known}

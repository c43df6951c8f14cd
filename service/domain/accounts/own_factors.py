"""The second factors that users have: seeing them, naming them, and being rid of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.domain.access.caller import UserCaller
from service.domain.factors.changes import Change, note_change
from service.domain.factors.recovery_codes import hash_codes, new_codes
from service.domain.flows.flows import Flows
from service.domain.sessions.sessions import Client
from service.errors import FactorNotFound, InvalidToken, LastSignInMethod, NoFactor, StepUpRequired
from service.storage.databases import ProjectDatabase
from service.storage.events import EventType
from service.storage.factors import (
    Factor,
    Owner,
    find_owner,
    list_factors,
    remove_factor,
    rename_factor,
    replace_recovery,
)

# The class has a method `list`.
Codes = list[str]


@dataclass(frozen=True, slots=True)
class OwnFactorList:
    """A user's factors, and how many recovery codes are left."""

    factors: Sequence[Factor]
    recovery_codes: int


class OwnFactors:
    """For the holders of user tokens."""

    def __init__(self, flows: Flows) -> None:
        self._flows = flows

    async def list(self, caller: UserCaller) -> OwnFactorList:
        """Raises InvalidToken."""
        database = caller.project.database
        owner = await _find_owner(database, caller)
        return OwnFactorList(await list_factors(database, owner.user.id), owner.state.recovery_codes)

    async def rename(self, caller: UserCaller, factor_id: str, name: str) -> Factor:
        """The factor with its new name. Raises InvalidToken, FactorNotFound."""
        database = caller.project.database
        await _find_owner(database, caller)
        if not await rename_factor(database, caller.user_id, factor_id, name):
            raise FactorNotFound
        return _pick(await list_factors(database, caller.user_id), factor_id)

    async def remove(self, caller: UserCaller, factor_id: str, client: Client, locale: str | None) -> None:
        """Recovery codes go with the last factor. Raises InvalidToken, FactorNotFound, StepUpRequired, LastSignInMethod."""
        project = caller.project

        async def write(database: ProjectDatabase) -> None:
            owner = await _find_owner(database, caller)
            factor = _pick(await list_factors(database, caller.user_id), factor_id)
            _check_level(caller, owner)
            if not await remove_factor(database, caller.user_id, factor):
                raise LastSignInMethod
            change = Change(EventType.FACTOR_REMOVED, client, caller.sid, locale, {"type": factor.type})
            await note_change(self._flows, database, project, owner.user, change)

        await project.database.in_transaction(write)
        self._flows.wake()

    async def replace_recovery_codes(self, caller: UserCaller, client: Client, locale: str | None) -> Codes:
        """New ones; the old ones are dead. Raises InvalidToken, NoFactor, StepUpRequired."""
        project, codes = caller.project, new_codes()

        async def write(database: ProjectDatabase) -> None:
            owner = await _find_owner(database, caller)
            if not owner.state.factors:
                raise NoFactor
            _check_level(caller, owner)
            await replace_recovery(database, caller.user_id, hash_codes(codes))
            change = Change(EventType.RECOVERY_CODES_MADE, client, caller.sid, locale)
            await note_change(self._flows, database, project, owner.user, change)

        await project.database.in_transaction(write)
        self._flows.wake()
        return codes


async def _find_owner(database: ProjectDatabase, caller: UserCaller) -> Owner:
    """Raises InvalidToken."""
    owner = await find_owner(database, caller.user_id)
    if owner is None or not caller.is_in_force(owner.user):
        raise InvalidToken
    return owner


def _check_level(caller: UserCaller, owner: Owner) -> None:
    """By the record as the transaction sees it: somebody may have added a factor since the request came."""
    if caller.aal < 2 and owner.state.factors:
        raise StepUpRequired


def _pick(factors: Sequence[Factor], factor_id: str) -> Factor:
    """Raises FactorNotFound."""
    found = next((factor for factor in factors if factor.id == factor_id), None)
    if found is None:
        raise FactorNotFound
    return found

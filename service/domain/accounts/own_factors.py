"""The second factors that users have: seeing them, naming them, and being rid of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.domain.access.caller import UserCaller
from service.domain.accounts import Accounts
from service.domain.accounts.changes import Author
from service.domain.accounts.factor_codes import hash_codes, new_codes
from service.domain.sessions.sessions import Client
from service.errors import FactorNotFound, InvalidToken, LastSignInMethod, NoFactor, StepUpRequired
from service.storage.accounts import Account, AccountChange
from service.storage.databases import ProjectDatabase
from service.storage.factors import Factor, find_owner, list_factors, rename_factor
from service.storage.users import Owner

# The mail that tells of another factor.
NOTICE = "factor_changed"


@dataclass(frozen=True, slots=True)
class OwnFactorList:
    """A user's factors, and how many recovery codes are left."""

    factors: Sequence[Factor]
    recovery_codes: int


async def list_own_factors(caller: UserCaller) -> OwnFactorList:
    """Raises InvalidToken."""
    database = caller.project.database
    owner = await _find_owner(database, caller)
    return OwnFactorList(await list_factors(database, owner.user.id), owner.state.recovery_codes)


async def rename_own_factor(caller: UserCaller, factor_id: str, name: str) -> Factor:
    """The factor with its new name. Raises InvalidToken, FactorNotFound."""
    database = caller.project.database
    await _find_owner(database, caller)
    if not await rename_factor(database, caller.user_id, factor_id, name):
        raise FactorNotFound
    return _pick(await list_factors(database, caller.user_id), factor_id)


async def remove_own_factor(
    accounts: Accounts, caller: UserCaller, factor_id: str, client: Client, locale: str | None
) -> None:
    """Recovery codes go with the last factor. Raises InvalidToken, FactorNotFound, StepUpRequired, LastSignInMethod."""

    def decide(account: Account) -> AccountChange:
        factor = _pick(account.factors, factor_id)
        _check_level(caller, account)
        if not account.has_way_without(factor):
            raise LastSignInMethod
        return AccountChange(removed_factors=(factor,))

    author = Author.of(caller, client, locale)
    await accounts.changes.apply(caller.project, caller.user_id, decide, author, notice=NOTICE)


async def replace_recovery_codes(
    accounts: Accounts, caller: UserCaller, client: Client, locale: str | None
) -> list[str]:
    """New ones; the old ones are dead. Raises InvalidToken, NoFactor, StepUpRequired."""
    codes = new_codes()

    def decide(account: Account) -> AccountChange:
        if not account.factors:
            raise NoFactor
        _check_level(caller, account)
        return AccountChange(recovery=hash_codes(codes))

    author = Author.of(caller, client, locale)
    await accounts.changes.apply(caller.project, caller.user_id, decide, author, notice=NOTICE)
    return codes


async def _find_owner(database: ProjectDatabase, caller: UserCaller) -> Owner:
    """Raises InvalidToken."""
    owner = await find_owner(database, caller.user_id)
    if owner is None or not caller.is_in_force(owner.user):
        raise InvalidToken
    return owner


def _check_level(caller: UserCaller, account: Account) -> None:
    """By the record as the transaction sees it: another request may have added a factor since. Raises StepUpRequired."""
    if caller.aal < 2 and account.factors:
        raise StepUpRequired


def _pick(factors: Sequence[Factor], factor_id: str) -> Factor:
    """Raises FactorNotFound."""
    found = next((factor for factor in factors if factor.id == factor_id), None)
    if found is None:
        raise FactorNotFound
    return found

"""A user's identities at providers, which the user links and removes by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from service.bounds import MAX_IDENTITIES
from service.domain.access.caller import UserCaller
from service.domain.accounts.changes import Author, Decide, First
from service.domain.projects.providers import DEFAULT
from service.domain.sessions.sessions import Client
from service.domain.sessions.step_up import require_level, require_recent
from service.domain.sign_in.flow import AuthorizationStart, SignIn, SignInWish
from service.errors import (
    DuplicateValue,
    EmailInUse,
    IdentityInUse,
    IdentityLimit,
    IdentityNotFound,
    InvalidToken,
    LastSignInMethod,
)
from service.storage.accounts import Account, AccountChange
from service.storage.databases import ProjectDatabase
from service.storage.identities import Identities, OwnIdentity
from service.storage.users import StoredUser

NOTICE = "identity_changed"


@dataclass(frozen=True, slots=True)
class Asker:
    """The caller, the client that asks, and the language of the notice."""

    caller: UserCaller
    client: Client
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class LinkProof:
    """The code that the browser brought back to the page that began to link, and the verifier that the page kept."""

    code: str = field(repr=False)
    verifier: str = field(repr=False)


async def list_identities(caller: UserCaller) -> Sequence[OwnIdentity]:
    """Raises InvalidToken."""
    await _check_in_force(caller)
    return await caller.project.identities.list_of(caller.user_id)


async def begin_link(sign_in: SignIn, caller: UserCaller, wish: SignInWish) -> AuthorizationStart:
    """Begins a sign-in by which the user proves to have the identity.

    Raises InvalidToken, StepUpRequired unless the sign-in is recent or the user still anonymous, and as `SignIn.begin`.
    """
    user = await _check_in_force(caller)
    if not user.is_anonymous:
        await require_recent(caller)
    return await sign_in.begin(caller.project, replace(wish, user_id=caller.user_id))


async def confirm_link(sign_in: SignIn, asker: Asker, proof: LinkProof) -> OwnIdentity:
    """Links the identity that the same user asked for. One that the user has already stays as it is.

    An anonymous user gets the identity's address, and with it an account.

    The code is spent by this, with any outcome. Raises InvalidCode, InvalidToken, IdentityInUse, EmailInUse, IdentityLimit, and
    StepUpRequired where the user has a second factor by now, which the caller has not shown.
    """
    caller = asker.caller
    identity = await sign_in.accounts.sessions.exchange_codes.redeem_link(
        caller.project, proof.code, proof.verifier, caller.user_id
    )

    async def check(database: ProjectDatabase) -> None:
        await require_level(database, caller)
        found = await Identities(database).find(identity, "", with_older=identity.provider == DEFAULT)
        if (owner := found.by_subject) is not None and owner.id != caller.user_id:
            raise IdentityInUse

    def decide(account: Account) -> AccountChange | None:
        if any(each.identity.is_same(identity) for each in account.identities):
            return None
        if len(account.identities) >= MAX_IDENTITIES:
            raise IdentityLimit
        return AccountChange(added_identity=identity, email=identity.email if account.user.is_anonymous else None)

    try:
        await _apply(sign_in, asker, decide, check)
    except DuplicateValue as error:
        raise EmailInUse if "email" in error.fields else IdentityInUse from None
    mine = await caller.project.identities.list_of(caller.user_id)
    linked = next((each for each in mine if each.identity.is_same(identity)), None)
    if linked is None:
        # Removed by another request before this one was answered.
        raise IdentityNotFound
    return linked


async def remove_identity(sign_in: SignIn, asker: Asker, identity_id: str) -> None:
    """Raises InvalidToken, IdentityNotFound, LastSignInMethod."""

    def decide(account: Account) -> AccountChange:
        known = next((each.identity for each in account.identities if each.id == identity_id), None)
        if known is None:
            raise IdentityNotFound
        if not account.has_way_without(known):
            raise LastSignInMethod
        return AccountChange(removed_identities=(known,))

    await _apply(sign_in, asker, decide)


async def _apply(sign_in: SignIn, asker: Asker, decide: Decide, first: First | None = None) -> None:
    caller = asker.caller
    author = Author.of(caller, asker.client, asker.locale)
    await sign_in.accounts.changes.apply(caller.project, caller.user_id, decide, author, notice=NOTICE, first=first)


async def _check_in_force(caller: UserCaller) -> StoredUser:
    """Raises InvalidToken."""
    user = await caller.project.users.find_profile(caller.user_id)
    if user is None or not caller.is_in_force(user):
        raise InvalidToken
    return user

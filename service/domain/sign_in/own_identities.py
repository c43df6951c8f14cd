"""A user's identities at providers, which the user links and removes by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from service.domain.access.caller import UserCaller
from service.domain.accounts.removal import check_in_force
from service.domain.flows.flows import Flows
from service.domain.flows.purposes import Purpose
from service.domain.projects.providers import DEFAULT
from service.domain.sessions.exchange_codes import ExchangeCodes
from service.domain.sessions.sessions import Client
from service.domain.sessions.step_up import require_level
from service.domain.sign_in.flow import AuthorizationStart, SignIn, SignInWish
from service.errors import (
    DuplicateValue,
    IdentityInUse,
    IdentityLimit,
    IdentityNotFound,
    LastSignInMethod,
)
from service.storage.databases import ProjectDatabase
from service.storage.events import Actor, Event, EventType, record_event
from service.storage.identities import Identities, OwnIdentity
from service.storage.users import Identity, User

NOTICE = "identity_changed"


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, from where, and in which language the notice is to be."""

    caller: UserCaller
    client: Client
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class LinkProof:
    """What the browser brought back to the page that began to link, and what that page kept."""

    code: str = field(repr=False)
    verifier: str = field(repr=False)


class OwnIdentities:
    """Every change is one transaction with its event and its notice. Raises the errors of the database."""

    def __init__(self, sign_in: SignIn, codes: ExchangeCodes, flows: Flows) -> None:
        self._sign_in = sign_in
        self._codes = codes
        self._flows = flows

    async def list(self, caller: UserCaller) -> Sequence[OwnIdentity]:
        """Raises InvalidToken."""
        await check_in_force(caller.project.database, caller)
        return await caller.project.identities.list_of(caller.user_id)

    async def begin(self, caller: UserCaller, wish: SignInWish) -> AuthorizationStart:
        """Where the user shows to have the identity. Raises InvalidToken, and as `SignIn.begin`."""
        await check_in_force(caller.project.database, caller)
        return await self._sign_in.begin(caller.project, replace(wish, user_id=caller.user_id))

    async def confirm(self, asker: Asker, proof: LinkProof) -> OwnIdentity:
        """Links the identity that the same user asked for. One that the user has already stays as it is.

        The code is spent by this, whatever happens. Raises InvalidCode, InvalidToken, IdentityInUse, IdentityLimit, and
        StepUpRequired where the user has a second factor by now, which the caller has not shown.
        """
        caller = asker.caller
        identity = await self._codes.redeem_link(caller.project, proof.code, proof.verifier, caller.user_id)

        async def write(database: ProjectDatabase) -> None:
            user = await check_in_force(database, caller)
            await require_level(database, caller)
            identities = Identities(database)
            found = await identities.find(identity, "", with_older=identity.provider == DEFAULT)
            if (owner := found.by_subject) is not None and owner.id != user.id:
                raise IdentityInUse
            if owner is not None and owner.has_identity:
                return
            if not await identities.add(user.id, identity):
                raise IdentityLimit
            await self._tell(database, asker, user, EventType.IDENTITY_LINKED, identity)

        try:
            await caller.project.database.in_transaction(write)
        except DuplicateValue:
            raise IdentityInUse from None
        self._flows.wake()
        mine = await caller.project.identities.list_of(caller.user_id)
        linked = next((each for each in mine if each.identity.is_same(identity)), None)
        if linked is None:
            # Removed by another request before this one was answered.
            raise IdentityNotFound
        return linked

    async def remove(self, asker: Asker, identity_id: str) -> None:
        """Raises InvalidToken, IdentityNotFound, LastSignInMethod."""
        caller = asker.caller

        async def write(database: ProjectDatabase) -> None:
            user = await check_in_force(database, caller)
            identities = Identities(database)
            mine = await identities.list_of(user.id)
            known = next((each.identity for each in mine if each.id == identity_id), None)
            if known is None:
                raise IdentityNotFound
            if not await identities.remove(user.id, known):
                raise LastSignInMethod
            await self._tell(database, asker, user, EventType.IDENTITY_REMOVED, known)

        await caller.project.database.in_transaction(write)
        self._flows.wake()

    async def _tell(
        self, database: ProjectDatabase, asker: Asker, user: User, type_: EventType, identity: Identity
    ) -> None:
        """The user by mail, and the project by an event."""
        caller, client = asker.caller, asker.client
        detail = {"issuer": identity.issuer, "provider": identity.provider}
        event = Event(type_, user.id, Actor.USER, caller.sid, client.ip, client.user_agent, detail)
        await self._flows.insert(caller.project, Purpose(NOTICE, user.email, user.id, locale=asker.locale), database)
        await record_event(database, event, caller.project.settings.event_days)

"""Sessions: each sign-in, of any kind, opens one, and every token belongs to one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from service.domain.access.caller import UserCaller
from service.domain.access.control import AccessControl
from service.domain.events import Journal
from service.domain.projects.lookup import Project, Projects
from service.domain.sessions.access_tokens import Tokens, unix_seconds
from service.domain.sessions.admission import EMAIL, PASSWORD, PROVIDER, Admitted, NeedsFactor, decide
from service.domain.sessions.exchange_codes import ExchangeCodes
from service.domain.sessions.pending import ENROLMENT, LIFE, SECOND_FACTOR, PendingSignIns, Recognized
from service.domain.sessions.refresh_tokens import RefreshToken, RefreshTokens
from service.domain.sessions.sightings import Sightings
from service.errors import (
    EnrolmentRequired,
    FactorRequired,
    Forbidden,
    InvalidToken,
    ServiceError,
    SessionNotFound,
)
from service.schema.values import now
from service.storage.account_states import AccountState
from service.storage.endings import end_others, end_session
from service.storage.events import Actor, Event, EventType
from service.storage.ids import new_id
from service.storage.sessions import ANONYMOUS, Session, SessionRecords
from service.storage.users import StoredUser

__all__ = ["ANONYMOUS", "EMAIL", "PASSWORD", "PROVIDER", "Client", "Grant", "Sessions"]

NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Client:
    """The origin of a sign-in: the address as limits count it, and the client's own description."""

    ip: str
    user_agent: str


@dataclass(frozen=True, slots=True)
class Grant:
    """The tokens of a sign-in; the last two if the project has refresh tokens. `expires_in` is in seconds."""

    sid: str
    access_token: str = field(repr=False)
    expires_in: int | None = None
    refresh_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Sessions:
    """Opens sessions, lists and ends them. Raises the errors of the database."""

    projects: Projects
    access: AccessControl
    journal: Journal
    tokens: Tokens
    refresh_tokens: RefreshTokens
    exchange_codes: ExchangeCodes
    pending: PendingSignIns
    sightings: Sightings

    async def admit(self, project: Project, recognized: Recognized, client: Client, state: AccountState) -> Admitted:
        """Raises as `decide`, and FactorRequired, EnrolmentRequired with a flow by which the sign-in goes on."""
        try:
            decision = decide(project.settings, state, recognized.amr)
        except Forbidden as error:
            self.note_refusal(project, recognized.user_id, client, error)
            raise
        if isinstance(decision, Admitted):
            return decision
        if isinstance(decision, NeedsFactor):
            flow_id = await self.pending.begin(project, SECOND_FACTOR, recognized)
            raise FactorRequired(flow_id, decision.methods, int(LIFE.total_seconds()))
        raise EnrolmentRequired(await self.pending.begin(project, ENROLMENT, recognized))

    async def open(
        self,
        project: Project,
        user_id: str,
        version: int,
        client: Client,
        *,
        state: AccountState,
        amr: tuple[str, ...],
        auth_time: datetime | None = None,
    ) -> Grant:
        """Stores the session of a user who was recognized just now, and makes its tokens. Raises as `admit`.

        The tokens are good while `version` is the user's. Read it before the credential is judged: then an end of all
        sessions meanwhile ends this one, too. With an earlier `auth_time` the session is in the place of one whose
        second factor was not asked for again.
        """
        admitted = await self.admit(project, Recognized(user_id, version, amr), client, state)
        moment = now()
        end = moment + timedelta(seconds=project.settings.session_lifetime)
        session = Session(
            id=new_id(),
            user_id=user_id,
            version=version,
            created_at=moment,
            auth_time=auth_time or moment,
            expires_at=end,
            tokens_until=_end_of_token(project, moment, end),
            last_used_at=moment,
            ip=client.ip,
            user_agent=client.user_agent,
            amr=amr,
            aal=admitted.aal,
        )
        await SessionRecords(project.database).insert(session)
        self.sightings.note_sign_in(project, user_id, moment)
        self._note(project, EventType.SIGNED_IN, user_id, client, session.id, detail={"amr": list(amr)})
        return self.grant(project, session, state, issued=moment)

    def grant(self, project: Project, session: Session, state: AccountState, *, issued: datetime) -> Grant:
        """The tokens of a session at its present count, with the present claims of its account."""
        until = _end_of_token(project, issued, session.expires_at)
        access_token = self.tokens.issue(project, session, issued=issued, until=until, custom=state.claims)
        if not project.settings.has_refresh_tokens:
            return Grant(session.id, access_token)
        refresh_token = self.refresh_tokens.write(RefreshToken(project.id, session.id, session.count))
        return Grant(session.id, access_token, unix_seconds(until) - unix_seconds(issued), refresh_token)

    async def list(self, caller: UserCaller) -> Sequence[Session]:
        """The sessions of the caller that can still be used, the newest first. Raises InvalidToken."""
        return await self.list_of(caller.project, await _find_user(caller))

    async def list_of(self, project: Project, user: StoredUser) -> Sequence[Session]:
        """The sessions of a user that was read just now."""
        found = await SessionRecords(project.database).list_of(user.id, now())
        return [each for each in found if each.version == user.version and each.id not in user.ended]

    def note_refusal(self, project: Project, user_id: str, client: Client, error: ServiceError) -> None:
        """Notes a refused attempt to sign in as that user."""
        self._note(project, EventType.SIGN_IN_FAILED, user_id, client, None, detail={"reason": error.code})

    def _note(
        self,
        project: Project,
        type_: EventType,
        user_id: str,
        client: Client,
        sid: str | None,
        detail: Mapping[str, Any] = NOTHING,
    ) -> None:
        event = Event(type_, user_id, Actor.USER, sid, client.ip, client.user_agent, detail)
        self.journal.note(project, event)

    async def end_one(self, caller: UserCaller, session_id: str, client: Client) -> None:
        """Ends a session of the caller's, who may name the present one. Raises InvalidToken, SessionNotFound."""
        await _find_user(caller)
        session = await SessionRecords(caller.project.database).find(session_id)
        if session is None or session.user_id != caller.user_id:
            raise SessionNotFound
        await self._end(caller.project, session, client)

    async def end_others(self, caller: UserCaller, client: Client) -> None:
        """Raises InvalidToken."""
        await _find_user(caller)
        await end_others(caller.project.database, caller.user_id, caller.sid or "")
        self.access.forget_user(caller.project, caller.user_id)
        self._note(caller.project, EventType.SESSIONS_ENDED, caller.user_id, client, caller.sid)

    async def end_named(self, project: Project, session_id: str, client: Client) -> None:
        """Ends a session, where it is there."""
        session = await SessionRecords(project.database).find(session_id)
        if session is not None:
            await self._end(project, session, client)

    async def end_own(self, caller: UserCaller) -> int:
        """Ends the session of the caller's token. The user's version afterwards. Raises InvalidToken."""
        if caller.sid is None:
            return caller.version
        version = await self.end_replaced(caller.project, caller.user_id, caller.sid, caller.version)
        if version is None:
            raise InvalidToken
        return version

    async def end_replaced(self, project: Project, user_id: str, sid: str, version: int) -> int | None:
        """Ends a session for another one. The user's new version; None if it was no longer `version`."""
        session = await SessionRecords(project.database).find(sid)
        until = now() if session is None else session.tokens_until
        after = await end_session(project.database, user_id, sid, until, version=version)
        self.access.forget_user(project, user_id)
        return after

    async def find_own(self, caller: UserCaller) -> Session | None:
        """The session of the caller's token; None for a token from before there were sessions."""
        return None if caller.sid is None else await SessionRecords(caller.project.database).find(caller.sid)

    async def _end(self, project: Project, session: Session, client: Client) -> None:
        await end_session(project.database, session.user_id, session.id, session.tokens_until)
        self.access.forget_user(project, session.user_id)
        self._note(project, EventType.SESSION_ENDED, session.user_id, client, session.id)


async def _find_user(caller: UserCaller) -> StoredUser:
    """Raises InvalidToken."""
    user = await caller.project.users.find_profile(caller.user_id)
    if user is None or not caller.is_in_force(user):
        raise InvalidToken
    return user


def _end_of_token(project: Project, issued: datetime, session_end: datetime) -> datetime:
    return min(issued + timedelta(seconds=project.settings.access_token_lifetime), session_end)

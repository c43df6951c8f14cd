"""Operators who act as users: a token of 15 minutes that reads and writes as the user, by the rules.

It stands on the operator's session, and ends with it, with the operator's roles, and by itself. The user sees it among the
sessions and the events; the reason is in the audit log alone.
"""

from dataclasses import dataclass, field
from datetime import timedelta

from service.domain.access.caller import OperatorCaller
from service.domain.audit.actions import Action
from service.domain.audit.audit import Act, Audit, Target
from service.domain.operators.operator import SessionCaller
from service.domain.sessions.sessions import Sessions
from service.errors import (
    AccountDisabled,
    ActingOff,
    OperatorRequired,
    PermissionRequired,
    SessionNotFound,
    UserNotFound,
)
from service.schema.values import now
from service.storage.account_states import AccountState
from service.storage.acting import end_acting, insert_acting
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.events import Actor, Event, EventType, record_event
from service.storage.factors import find_state
from service.storage.ids import new_id
from service.storage.operator_records import OperatorDatabase
from service.storage.sessions import Session, SessionRecords
from service.storage.users import StoredUser, Users

LIFE = timedelta(minutes=15)
AT_CONSOLE = "This is for operators at the console, whose session it stands on"


@dataclass(frozen=True, slots=True)
class ActingGrant:
    """The token of an operator who acts as a user, and the id of its session."""

    sid: str
    access_token: str = field(repr=False)


class Acting:
    """Begins and ends the sessions of operators who act as users."""

    def __init__(self, database: OperatorDatabase, sessions: Sessions, audit: Audit) -> None:
        self._database = database
        self._sessions = sessions
        self._audit = audit

    async def begin(self, caller: OperatorCaller, user_id: str, reason: str) -> ActingGrant:
        """Raises PermissionRequired, ActingOff, UserNotFound, AccountDisabled, OperatorRequired."""
        admin, project = caller.admin, caller.project
        if not isinstance(admin, SessionCaller):
            raise PermissionRequired(None, AT_CONSOLE)
        if not project.settings.act_as:
            raise ActingOff
        act = Act(Action.USER_ACTED_AS, Target("user", user_id), project.id, reason=reason, is_new=True)

        async def write(database: OperatorDatabase) -> tuple[AccountState, Session]:
            # Two transactions that write one record conflict: a session that ends meanwhile is seen.
            match: Document = {"_id": admin.session.hash, "version": admin.operator.version}
            if not await database.sessions.update_one(match, {"$set": {"acted_at": now()}}):
                raise OperatorRequired(has_operators=True)
            bound = database.project(project.id)
            user, state = await _find_user(bound, user_id)
            session = _make_session(user, admin.operator_id)
            await SessionRecords(bound).insert(session)
            event = Event(EventType.ACTED_AS, user_id, Actor.OPERATOR, session.id)
            await record_event(bound, event, project.settings.event_days)
            await insert_acting(database, _describe(session, admin, project.id))
            await self._audit.record(database.session, act)
            return state, session

        state, session = await self._database.in_transaction(write)
        token = self._sessions.tokens.issue(
            project, session, issued=session.created_at, until=session.tokens_until, custom=state.claims
        )
        return ActingGrant(session.id, token)

    async def end(self, project_id: str, user_id: str, sid: str) -> None:
        """Raises SessionNotFound."""

        async def write(database: OperatorDatabase) -> None:
            if not await end_acting(database, {"_id": sid, "project_id": project_id, "user_id": user_id}):
                raise SessionNotFound

        await self._database.in_transaction(write)


async def _find_user(database: ProjectDatabase, user_id: str) -> tuple[StoredUser, AccountState]:
    """Raises UserNotFound, AccountDisabled."""
    user, state = await Users(database).find_profile(user_id), await find_state(database, user_id)
    if user is None or state is None:
        raise UserNotFound
    if state.disabled:
        raise AccountDisabled
    return user, state


def _make_session(user: StoredUser, operator_id: str) -> Session:
    """The user is not shown where the operator sits."""
    moment = now()
    return Session(
        id=new_id(),
        user_id=user.id,
        version=user.version,
        created_at=moment,
        auth_time=moment,
        expires_at=moment + LIFE,
        tokens_until=moment + LIFE,
        last_used_at=moment,
        ip="",
        user_agent="",
        amr=(),
        aal=1,
        operator_id=operator_id,
    )


def _describe(session: Session, admin: SessionCaller, project_id: str) -> Document:
    return {
        "_id": session.id,
        "operator_id": admin.operator_id,
        "session": admin.session.hash,
        "project_id": project_id,
        "user_id": session.user_id,
        "until": session.tokens_until,
        "expires_at": session.expires_at,
    }

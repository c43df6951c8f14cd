"""Sessions: each sign-in, in whatever way, opens one, and every token belongs to one."""

from dataclasses import dataclass, field
from datetime import timedelta

from service.domain.projects.lookup import Project
from service.domain.sessions.access_tokens import LIFETIME_SECONDS, Tokens
from service.domain.sessions.admission import decide_sign_in
from service.schema.values import now
from service.storage.account_states import AccountState
from service.storage.ids import new_id
from service.storage.sessions import Session, SessionRecords

# Ways in which a user is recognized (RFC 8176 where it has a name for them).
PASSWORD = ("pwd",)
PROVIDER = ("idp",)
SESSION_SECONDS = LIFETIME_SECONDS


@dataclass(frozen=True, slots=True)
class Client:
    """Where a sign-in comes from: the address as limits count it, and what the client says that it is."""

    ip: str
    user_agent: str


@dataclass(frozen=True, slots=True)
class Grant:
    """What whoever signs in is given."""

    sid: str
    access_token: str = field(repr=False)


class Sessions:
    """Opens sessions. Raises the errors of the database."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def open(
        self,
        project: Project,
        user_id: str,
        version: int,
        client: Client,
        *,
        state: AccountState,
        amr: tuple[str, ...],
        aal: int = 1,
    ) -> Grant:
        """Stores the session of a user who was recognized just now, and makes its tokens. Raises AccountDisabled.

        The tokens are good while `version` is the user's: read it before what the user is recognized by is judged, and
        whatever ends all sessions meanwhile ends this one, too.
        """
        decide_sign_in(state)
        session = _new_session(user_id, version, client, amr, aal)
        await SessionRecords(project.database).insert(session)
        return Grant(session.id, self._tokens.issue(project, session, issued=session.created_at, custom=state.claims))


def _new_session(user_id: str, version: int, client: Client, amr: tuple[str, ...], aal: int) -> Session:
    moment = now()
    end = moment + timedelta(seconds=SESSION_SECONDS)
    return Session(
        id=new_id(),
        user_id=user_id,
        version=version,
        created_at=moment,
        auth_time=moment,
        expires_at=end,
        tokens_until=end,
        last_used_at=moment,
        ip=client.ip,
        user_agent=client.user_agent,
        amr=amr,
        aal=aal,
    )

"""Refreshing: a refresh token for a new access token and the next refresh token."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from service.domain.limits.limiter import Quota, seconds_until, window_end
from service.domain.limits.policies import HOUR, by_setting, exceeded
from service.domain.mail_flows.flows import Flows
from service.domain.mail_flows.purposes import Purpose
from service.domain.projects.lookup import Project
from service.domain.sessions.access_tokens import unix_seconds
from service.domain.sessions.refresh_tokens import RefreshToken
from service.domain.sessions.sessions import Client, Grant, Sessions
from service.errors import InvalidRefreshToken, ProjectNotFound
from service.schema.values import now
from service.storage.databases import ProjectDatabase
from service.storage.endings import end_session
from service.storage.events import Actor, Event, EventType, record_event
from service.storage.rotations import Rotation, Standing, Terms, Verdict, find_standing, rotate
from service.storage.sessions import Session, SessionRecords
from service.storage.users import Users

log = structlog.get_logger()

REFRESH = by_setting("refresh", "refreshes an hour of one session", "refresh_limit", spends_day=False)
# If the user's version changed between the two reads, one more look sees both after it.
LOOKS = 2
NOTICE = "session_reuse"


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A grant, and the state of the session's limit."""

    grant: Grant
    quotas: list[Quota]


async def find_token_project(sessions: Sessions, token: RefreshToken) -> Project:
    """Raises InvalidRefreshToken if the project is gone."""
    try:
        return await sessions.projects.by_id(token.project_id)
    except ProjectNotFound:
        raise InvalidRefreshToken from None


async def refresh(sessions: Sessions, flows: Flows, project: Project, token: RefreshToken, client: Client) -> Refreshed:
    """The same grant for all concurrent requests with `token`. Raises InvalidRefreshToken, LimitExceeded.

    A spent token ends its session: either its sender or the user of its successor is a thief (RFC 9700 section
    4.14.2).
    """
    for _ in range(LOOKS):
        terms = _terms(project, now())
        rotation, standing = await _rotate(sessions, project, token, terms)
        session = rotation.session
        if session is None or rotation.verdict is Verdict.REFUSED:
            raise InvalidRefreshToken
        if rotation.verdict is Verdict.REUSED:
            await _end_reused(sessions, flows, project, session, client)
            raise InvalidRefreshToken
        if rotation.verdict is Verdict.LIMITED:
            raise exceeded(REFRESH, terms.limit, seconds_until(terms.hour_end, unix_seconds(terms.moment)))
        if standing is not None and standing.state.disabled:
            raise InvalidRefreshToken
        if standing is not None and standing.version == session.version:
            grant = sessions.grant(project, session, standing.state, issued=terms.moment)
            return Refreshed(grant, _quotas(terms, rotation))
    raise InvalidRefreshToken


async def _rotate(
    sessions: Sessions, project: Project, token: RefreshToken, terms: Terms
) -> tuple[Rotation, Standing | None]:
    """The user is read at the same time where the worker knows whose the session is, else after it."""
    database, owner = project.database, sessions.tokens.owners.get(token.sid)
    rotating = rotate(database, token.sid, token.count, terms)
    if owner is not None:
        return await asyncio.gather(rotating, find_standing(database, owner))
    rotation = await rotating
    session = rotation.session
    return rotation, None if session is None else await find_standing(database, session.user_id)


async def _end_reused(sessions: Sessions, flows: Flows, project: Project, session: Session, client: Client) -> None:
    """Ends the session and tells the user, in one transaction: of many who come with such a token one does."""
    log.warning("refresh_token_reused", project=project.id, session=session.id)
    user_id, type_ = session.user_id, EventType.REFRESH_TOKEN_REUSED
    event = Event(type_, user_id, Actor.USER, session.id, client.ip, client.user_agent)

    async def write(database: ProjectDatabase) -> None:
        if not await SessionRecords(database).remove(session.id):
            return
        await end_session(database, user_id, session.id, session.tokens_until)
        user = await Users(database).find_profile(user_id)
        if user is not None:
            await record_event(database, event, project.settings.event_days)
            if user.email is not None:
                await flows.insert(project, Purpose(NOTICE, user.email, user_id), database)

    await project.database.in_transaction(write)
    sessions.access.forget_user(project, user_id)
    flows.wake()


def _terms(project: Project, moment: datetime) -> Terms:
    settings = project.settings
    idle = settings.session_idle
    return Terms(
        moment=moment,
        grace_seconds=settings.refresh_grace,
        tokens_until=moment + timedelta(seconds=settings.access_token_lifetime),
        limit=settings.refresh_limit,
        hour_end=window_end(unix_seconds(moment), HOUR),
        idle_since=moment - timedelta(seconds=idle) if idle else None,
    )


def _quotas(terms: Terms, rotation: Rotation) -> list[Quota]:
    if not terms.limit:
        return []
    left = seconds_until(terms.hour_end, unix_seconds(terms.moment))
    return [Quota(REFRESH, terms.limit, max(0, terms.limit - rotation.asked), left)]

"""The sessions of a user as the project's servers see and end them."""

from collections.abc import Sequence

from service.domain.access.control import AccessControl
from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import Sessions
from service.errors import UserNotFound
from service.storage.databases import ProjectDatabase
from service.storage.endings import end_all
from service.storage.events import Actor, Event, EventType, record_event
from service.storage.sessions import Session


class SessionAdministration:
    """For the secret key."""

    def __init__(self, sessions: Sessions, access: AccessControl) -> None:
        self._sessions = sessions
        self._access = access

    async def list(self, project: Project, user_id: str) -> Sequence[Session]:
        """Those that can still be used, the newest first. Raises UserNotFound."""
        user = await project.users.find_profile(user_id)
        if user is None:
            raise UserNotFound
        return await self._sessions.list_of(project, user)

    async def end_all(self, project: Project, user_id: str) -> None:
        """Every token of the user dies, also those that belong to no session. Raises UserNotFound."""
        event = Event(EventType.SESSIONS_ENDED, user_id, Actor.SERVER)

        async def write(database: ProjectDatabase) -> None:
            if await end_all(database, user_id) is None:
                raise UserNotFound
            await record_event(database, event, project.settings.event_days)

        await project.database.in_transaction(write)
        self._access.forget_user(project, user_id)

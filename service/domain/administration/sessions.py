"""The sessions of a user as the project's servers see and end them."""

from collections.abc import Sequence

from service.domain.accounts.changes import SERVER, Changes
from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import Sessions
from service.errors import UserNotFound
from service.storage.accounts import AccountChange
from service.storage.sessions import Session


class SessionAdministration:
    """For the secret key."""

    def __init__(self, sessions: Sessions, changes: Changes) -> None:
        self._sessions = sessions
        self._changes = changes

    async def list(self, project: Project, user_id: str) -> Sequence[Session]:
        """The user's sessions that can still be used, the newest first. Raises UserNotFound."""
        user = await project.users.find_profile(user_id)
        if user is None:
            raise UserNotFound
        return await self._sessions.list_of(project, user)

    async def end_all(self, project: Project, user_id: str) -> None:
        """Every token of the user dies, also those that belong to no session. Raises UserNotFound."""
        await self._changes.apply(project, user_id, AccountChange(ends_sessions=True), SERVER)

"""The end of an account, for whoever may end it."""

from contextlib import suppress

from service.domain.access.caller import UserCaller
from service.domain.access.control import AccessControl
from service.domain.projects.lookup import Project
from service.errors import InvalidToken, ServiceError
from service.storage.databases import ProjectDatabase
from service.storage.events import Event, record_event
from service.storage.files.deletions import remove
from service.storage.flows import FlowStore
from service.storage.user_changes import Condemned, delete_user
from service.storage.users import User, Users


class Removal:
    """Users go with all that is their own: sessions, files, and the flows with their mails. Events stay."""

    def __init__(self, access: AccessControl, flows: FlowStore) -> None:
        self._access = access
        self._flows = flows

    async def remove(self, project: Project, event: Event, caller: UserCaller | None = None) -> None:
        """Removes the user of the `event`, which is stored with that, in one transaction. Records that name the user stay.

        Raises UserNotFound, and InvalidToken where the token of `caller`, the user, is dead by then.
        """
        user_id = event.user_id

        async def write(database: ProjectDatabase) -> Condemned:
            if caller is not None:
                await check_in_force(database, caller)
            condemned = await delete_user(database, user_id)
            await self._flows.void(database, {"user_id": user_id, "project_id": project.id})
            await record_event(database, event, project.settings.event_days)
            return condemned

        await self.finish(project, user_id, await project.database.in_transaction(write))

    async def finish(self, project: Project, user_id: str, condemned: Condemned) -> None:
        """After the commit of what changed or removed a user."""
        self._access.forget_user(project, user_id)
        if condemned is not None:
            # The record is written: whatever fails now is finished by the next sweep.
            with suppress(ServiceError):
                await remove(project.database, condemned)


async def check_in_force(database: ProjectDatabase, caller: UserCaller) -> User:
    """The user as it is now. Within a transaction it conflicts with whatever ends the token meanwhile. Raises InvalidToken."""
    user = await Users(database).find_profile(caller.user_id)
    if user is None or not caller.is_in_force(user):
        raise InvalidToken
    return user

"""The second factors of a user as the project's servers remove them: of whoever has lost them all."""

from service.domain.factors.changes import Change, note_change
from service.domain.flows.flows import Flows
from service.domain.projects.lookup import Project
from service.errors import UserNotFound
from service.storage.databases import ProjectDatabase
from service.storage.events import EventType
from service.storage.factors import find_owner, remove_factors


class FactorAdministration:
    """For the secret key."""

    def __init__(self, flows: Flows) -> None:
        self._flows = flows

    async def remove_all(self, project: Project, user_id: str) -> None:
        """With the recovery codes; the user is told by mail where there was anything. Raises UserNotFound."""

        async def write(database: ProjectDatabase) -> None:
            owner = await find_owner(database, user_id)
            if owner is None:
                raise UserNotFound
            await remove_factors(database, user_id)
            if owner.state.factors:
                await note_change(self._flows, database, project, owner.user, Change(EventType.FACTOR_REMOVED))

        await project.database.in_transaction(write)
        self._flows.wake()

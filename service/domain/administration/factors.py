"""The second factors of a user as the project's servers remove them, for a user who has lost them all."""

from service.domain.accounts.changes import SERVER, Changes
from service.domain.accounts.own_factors import NOTICE
from service.domain.projects.lookup import Project
from service.storage.accounts import Account, AccountChange


class FactorAdministration:
    """For the secret key."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def remove_all(self, project: Project, user_id: str) -> None:
        """With the recovery codes; a mail tells the user where there was any factor. Raises UserNotFound."""
        await self._changes.apply(project, user_id, _without_factors, SERVER, notice=NOTICE)


def _without_factors(account: Account) -> AccountChange | None:
    return AccountChange(removed_factors=account.factors) if account.factors else None

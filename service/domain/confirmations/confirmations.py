"""What a code or a link is for, and what it brings about."""

from dataclasses import dataclass

from service.domain.accounts.users import Accounts, SignedIn
from service.domain.confirmations.signups import must_prove
from service.domain.confirmations.verification import VERIFY, Verification
from service.domain.flows.flows import Flows
from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import EMAIL, Client
from service.errors import InvalidCode


@dataclass(frozen=True, slots=True)
class EmailProven:
    """The address is the user's."""


Outcome = EmailProven | SignedIn


class Confirmations:
    """Takes codes and tokens of every purpose that one endpoint confirms."""

    def __init__(self, flows: Flows, verification: Verification, accounts: Accounts) -> None:
        self._flows = flows
        self._verification = verification
        self._accounts = accounts

    async def by_code(self, project: Project, flow_id: str, code: str, client: Client) -> Outcome:
        """Signs in whose signup waited for it. Raises InvalidCode, LimitExceeded, and as `decide_sign_in`."""
        flow = await self._flows.find_by_code(project, flow_id, code, (VERIFY,))
        await self._verification.finish(project, flow)
        if must_prove(project) and flow.user_id is not None:
            return await self._sign_in(project, flow.user_id, client)
        return EmailProven()

    async def by_token(self, project: Project, token: str) -> Outcome:
        """Raises InvalidCode."""
        flow = await self._flows.find_by_token(token, (VERIFY,), project)
        await self._verification.finish(project, flow)
        return EmailProven()

    async def _sign_in(self, project: Project, user_id: str, client: Client) -> SignedIn:
        found = await project.users.find_own_credentials(user_id)
        if found is None:
            raise InvalidCode
        return await self._accounts.sign_in(project, found.user, client, found.state, amr=EMAIL)

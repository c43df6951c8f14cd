"""What a code or a link is for, and what it brings about."""

from dataclasses import dataclass

from service.domain.confirmations.verification import VERIFY, Verification
from service.domain.flows.flows import Flows
from service.domain.projects.lookup import Project


@dataclass(frozen=True, slots=True)
class EmailProven:
    """The address is the user's."""


Outcome = EmailProven


class Confirmations:
    """Takes codes and tokens of every purpose that one endpoint confirms."""

    def __init__(self, flows: Flows, verification: Verification) -> None:
        self._flows = flows
        self._verification = verification

    async def by_code(self, project: Project, flow_id: str, code: str) -> Outcome:
        """Raises InvalidCode, LimitExceeded."""
        flow = await self._flows.find_by_code(project, flow_id, code, (VERIFY,))
        await self._verification.finish(project, flow)
        return EmailProven()

    async def by_token(self, project: Project, token: str) -> Outcome:
        """Raises InvalidCode."""
        flow = await self._flows.find_by_token(token, (VERIFY,), project)
        await self._verification.finish(project, flow)
        return EmailProven()

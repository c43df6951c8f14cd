"""Finds the purpose of a code or a link, and carries it out."""

from dataclasses import dataclass

from service.domain.accounts.users import SignedIn
from service.domain.confirmations.email_changes import CHANGE, EmailChange, EmailChanges
from service.domain.confirmations.sign_ins import SIGN_IN, SignIns
from service.domain.confirmations.signups import must_prove
from service.domain.confirmations.verification import VERIFY, Ownership, Verification
from service.domain.mail_flows.flows import Flows
from service.domain.projects.lookup import Project


@dataclass(frozen=True, slots=True)
class EmailProven:
    """The address is the user's."""


Outcome = EmailProven | SignedIn | EmailChange


class Confirmations:
    """Takes codes and tokens of every purpose that one endpoint confirms."""

    def __init__(
        self, flows: Flows, verification: Verification, sign_ins: SignIns, email_changes: EmailChanges
    ) -> None:
        self._flows = flows
        self._verification = verification
        self._sign_ins = sign_ins
        self._email_changes = email_changes

    async def by_code(self, project: Project, flow_id: str, code: str, ownership: Ownership) -> Outcome:
        """Signs in, if it is for that, or the signup waited for it.

        Raises InvalidCode, LimitExceeded, AccountDisabled, EmailInUse, WrongPassword, Busy.
        """
        client = ownership.client
        flow = await self._flows.find_by_code(project, flow_id, code, (VERIFY, SIGN_IN, CHANGE))
        if flow.purpose == CHANGE:
            return await self._email_changes.finish(project, flow)
        if flow.purpose == SIGN_IN:
            return await self._sign_ins.finish(project, flow, client)
        if flow.user_id is None or not must_prove(project):
            await self._verification.finish(project, flow, ownership)
            return EmailProven()
        account = await self._verification.finish(project, flow, ownership)
        return await self._sign_ins.sign_in(project, account, client)

    async def by_token(self, project: Project, token: str, ownership: Ownership) -> Outcome:
        """The token of a link that signs in is not for here: a program may have followed it.

        Raises InvalidCode, EmailInUse, WrongPassword, LimitExceeded, Busy.
        """
        flow = await self._flows.find_by_token(token, (VERIFY, CHANGE), project)
        if flow.purpose == CHANGE:
            return await self._email_changes.finish(project, flow)
        await self._verification.finish(project, flow, ownership)
        return EmailProven()

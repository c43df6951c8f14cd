"""Whether an address is the user's: asked by mail, answered by the mail's code or link."""

from dataclasses import dataclass

from service.domain.flows.flows import Flows
from service.domain.flows.purposes import Flow, Purpose, Ticket, choose_redirect
from service.domain.projects.lookup import Project
from service.errors import InvalidCode
from service.storage.databases import ProjectDatabase
from service.storage.proven_emails import find_account, mark_verified

VERIFY = "verify_email"


@dataclass(frozen=True, slots=True)
class MailRequest:
    """What whoever asks for a mail says."""

    email: str
    locale: str | None = None
    redirect_to: str | None = None


class Verification:
    """Of the addresses of a project's users."""

    def __init__(self, flows: Flows) -> None:
        self._flows = flows

    async def request(self, project: Project, request: MailRequest) -> Ticket:
        """Mails whoever has the address and has not proven it yet. The same for everybody else, but no mail."""
        redirect_to = choose_redirect(project, request.redirect_to)
        account = await find_account(project.database, request.email)
        user_id = account.id if account is not None and not account.email_verified else None
        purpose = Purpose(VERIFY, request.email, user_id, locale=request.locale, redirect_to=redirect_to)
        return await self._flows.open(project, purpose)

    async def finish(self, project: Project, flow: Flow) -> None:
        """The address is the user's. Raises InvalidCode where the flow was spent, or the user has another one now."""

        async def write(database: ProjectDatabase) -> None:
            await self._flows.spend(flow, database)
            if flow.user_id is None or not await mark_verified(database, flow.user_id, flow.address):
                raise InvalidCode

        await project.database.in_transaction(write)

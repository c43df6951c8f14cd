"""The links of mails: their users and their purposes. Looking at one changes nothing."""

from dataclasses import dataclass

from service.domain.confirmations.email_changes import CHANGE, EmailChanges
from service.domain.confirmations.resets import INVITE, RESET, NewSecret, Resets
from service.domain.confirmations.sign_ins import SIGN_IN, SignIns
from service.domain.confirmations.verification import VERIFY, Ownership, Verification
from service.domain.mail_flows.flows import Flows
from service.domain.mail_flows.purposes import Flow
from service.domain.projects.lookup import Project, Projects
from service.errors import InvalidCode, ProjectNotFound

# The purposes for which a click on the page's button is enough, and those that need a password.
CLICKED = (VERIFY, SIGN_IN, CHANGE)
# The owner of the old address is asked another question than the owner of the new one.
APPROVAL = "approve_change"
# The page of a new address whose account has no password.
BY_CODE = "change_by_code"
WITH_PASSWORD = (RESET, INVITE)


@dataclass(frozen=True, slots=True)
class Link:
    """A link that is still good."""

    project: Project
    flow: Flow

    @property
    def takes_password(self) -> bool:
        return self.flow.purpose in WITH_PASSWORD

    @property
    def is_new_address(self) -> bool:
        """True for the mail to the address that an account is to have."""
        return self.flow.purpose == CHANGE and "of" not in self.flow.state


class Links:
    """The links in mails of all projects."""

    def __init__(
        self,
        flows: Flows,
        projects: Projects,
        *,
        verification: Verification,
        resets: Resets,
        sign_ins: SignIns,
        email_changes: EmailChanges,
    ) -> None:
        self._flows = flows
        self._projects = projects
        self._verification = verification
        self._resets = resets
        self._sign_ins = sign_ins
        self._email_changes = email_changes

    async def find(self, token: str) -> Link:
        """Raises InvalidCode."""
        flow = await self._flows.find_by_token(token, (*CLICKED, *WITH_PASSWORD))
        try:
            return Link(await self._projects.by_id(flow.project_id), flow)
        except ProjectNotFound:
            raise InvalidCode from None

    async def asks_factor(self, link: Link) -> bool:
        """True if a password is not enough."""
        return link.takes_password and await self._resets.asks_factor(link.project, link.flow)

    async def asks_own_password(self, link: Link) -> bool:
        """True if the click alone does not show that the account is the reader's own.

        An account that waits for its first proof loses its password without it. One that asks for another address keeps
        its address: a stranger can give an account the address of a person who clicks on any link.
        """
        if link.is_new_address:
            return await self._verification.has_password(link.project, link.flow)
        return link.flow.purpose == VERIFY and await self._verification.asks_password(link.project, link.flow)

    async def choose_page(self, link: Link) -> str:
        """Returns the page that the link leads to. Without a password only the code shows that the reader asked."""
        if link.is_new_address and not await self._verification.has_password(link.project, link.flow):
            return BY_CODE
        return APPROVAL if "of" in link.flow.state else link.flow.purpose

    async def follow(self, link: Link, new: NewSecret | None, ownership: Ownership) -> str | None:
        """Does what the link is for. Returns the code that the app is to exchange, of a link that signs in.

        Raises InvalidCode, Invalid for a password that the project does not take, FactorRequired, InvalidFactor, WrongPassword,
        LimitExceeded, Busy, EmailInUse.
        """
        project, flow = link.project, link.flow
        if flow.purpose == SIGN_IN:
            return await self._sign_ins.follow(project, flow)
        if flow.purpose == CHANGE:
            if link.is_new_address:
                await self._verification.require_password(project, flow, ownership)
            await self._email_changes.finish(project, flow)
        elif flow.purpose == VERIFY:
            await self._verification.finish(project, flow, ownership)
        elif new is not None:
            self._resets.check(project, new.password)
            await self._resets.finish(project, flow, new)
        return None

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
    def page(self) -> str:
        """The page that it leads to."""
        return APPROVAL if "of" in self.flow.state else self.flow.purpose


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
        """True if the account loses its password unless the click comes with it."""
        return link.flow.purpose == VERIFY and await self._verification.asks_password(link.project, link.flow)

    async def follow(self, link: Link, new: NewSecret | None, ownership: Ownership) -> str | None:
        """Does what the link is for. Returns the code that the app is to exchange, of a link that signs in.

        Raises InvalidCode, Invalid for a password that the project does not take, FactorRequired, InvalidFactor, WrongPassword,
        LimitExceeded, Busy, EmailInUse.
        """
        project, flow = link.project, link.flow
        if flow.purpose == SIGN_IN:
            return await self._sign_ins.follow(project, flow)
        if flow.purpose == CHANGE:
            await self._email_changes.finish(project, flow)
        elif flow.purpose == VERIFY:
            await self._verification.finish(project, flow, ownership)
        elif new is not None:
            self._resets.check(project, new.password)
            await self._resets.finish(project, flow, new)
        return None

"""The links of mails: their users and their purposes. Looking at one changes nothing."""

from dataclasses import dataclass

from service.domain.accounts import Accounts
from service.domain.confirmations.email_changes import CHANGE, finish_email_change
from service.domain.confirmations.resets import INVITE, RESET, NewSecret, check_new, finish_reset, reset_asks_factor
from service.domain.confirmations.sign_ins import SIGN_IN, issue_code
from service.domain.confirmations.verification import (
    VERIFY,
    Ownership,
    asks_password,
    finish_verification,
    has_password,
    require_password,
)
from service.domain.mail_flows.purposes import Flow
from service.domain.projects.lookup import Project
from service.errors import InvalidCode, ProjectNotFound

# The purposes for which a click on the page's button is enough, and those that need a password.
CLICKED = (VERIFY, SIGN_IN, CHANGE)
# The owner of the old address is asked another question than the owner of the new one.
APPROVAL = "approve_change"
# The page of a new address whose account has no password.
BY_CODE = "change_by_code"
WITH_PASSWORD = (RESET, INVITE)


@dataclass(frozen=True, slots=True)
class MailLink:
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


async def find_link(accounts: Accounts, token: str) -> MailLink:
    """Raises InvalidCode."""
    flow = await accounts.flows.find_by_token(token, (*CLICKED, *WITH_PASSWORD))
    try:
        return MailLink(await accounts.sessions.projects.by_id(flow.project_id), flow)
    except ProjectNotFound:
        raise InvalidCode from None


async def asks_factor(link: MailLink) -> bool:
    """True if a password is not enough."""
    return link.takes_password and await reset_asks_factor(link.project, link.flow)


async def asks_own_password(link: MailLink) -> bool:
    """True if the click alone does not show that the account is the reader's own.

    An account that waits for its first proof loses its password without it. One that asks for another address keeps
    its address: a stranger can give an account the address of a person who clicks on any link.
    """
    if link.is_new_address:
        return await has_password(link.project, link.flow)
    return link.flow.purpose == VERIFY and await asks_password(link.project, link.flow)


async def choose_page(link: MailLink) -> str:
    """Returns the page that the link leads to. Without a password only the code shows that the reader asked."""
    if link.is_new_address and not await has_password(link.project, link.flow):
        return BY_CODE
    return APPROVAL if "of" in link.flow.state else link.flow.purpose


async def follow_link(accounts: Accounts, link: MailLink, new: NewSecret | None, ownership: Ownership) -> str | None:
    """Does what the link is for. Returns the code that the app is to exchange, of a link that signs in.

    Raises InvalidCode, Invalid for a password that the project does not take, FactorRequired, InvalidFactor, WrongPassword,
    LimitExceeded, Busy, EmailInUse.
    """
    project, flow = link.project, link.flow
    if flow.purpose == SIGN_IN:
        return await issue_code(accounts, project, flow)
    if flow.purpose == CHANGE:
        if link.is_new_address:
            await require_password(accounts, project, flow, ownership)
        await finish_email_change(accounts, project, flow)
    elif flow.purpose == VERIFY:
        await finish_verification(accounts, project, flow, ownership)
    elif new is not None:
        check_new(project, new.password)
        await finish_reset(accounts, project, flow, new)
    return None

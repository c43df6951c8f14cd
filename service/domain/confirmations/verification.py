"""Whether an address is the user's: asked by mail, answered by the mail's code or link."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from service.domain.accounts.changes import Author, Changes
from service.domain.flows.flows import Flows
from service.domain.flows.purposes import Flow, Purpose, Ticket, choose_redirect
from service.domain.projects.lookup import Project
from service.errors import InvalidCode, UserNotFound
from service.storage.accounts import Account, AccountChange
from service.storage.address_owners import find_address_owner

VERIFY = "verify_email"
BY_MAIL = Author(by="mail")


@contextmanager
def dead_code() -> Iterator[None]:
    """Raises InvalidCode where a flow's user is not there any more, or never was."""
    try:
        yield
    except UserNotFound:
        raise InvalidCode from None


def require_address(account: Account, flow: Flow) -> None:
    """Raises InvalidCode where the account has another address than the one that was mailed."""
    if account.user.email != flow.address:
        raise InvalidCode


@dataclass(frozen=True, slots=True)
class MailRequest:
    """A request for a mail."""

    email: str
    locale: str | None = None
    redirect_to: str | None = None


class Verification:
    """Of the addresses of a project's users."""

    def __init__(self, flows: Flows, changes: Changes) -> None:
        self._flows = flows
        self._changes = changes

    async def request(self, project: Project, request: MailRequest) -> Ticket:
        """Mails whoever has the address and has not proven it yet. The same for everybody else, but no mail."""
        redirect_to = choose_redirect(project, request.redirect_to)
        account = await find_address_owner(project.database, request.email)
        user_id = account.id if account is not None and not account.email_verified else None
        purpose = Purpose(VERIFY, request.email, user_id, locale=request.locale, redirect_to=redirect_to)
        return await self._flows.open(project, purpose)

    async def finish(self, project: Project, flow: Flow) -> Account:
        """Notes that the address is the user's, and returns the account.

        Raises InvalidCode where the flow was spent, or the user has another address now.
        """

        def decide(account: Account) -> AccountChange | None:
            require_address(account, flow)
            return None if account.state.email_verified else AccountChange(email_verified=True)

        with dead_code():
            first = partial(self._flows.spend, flow)
            changed = await self._changes.apply(project, flow.user_id or "", decide, BY_MAIL, first=first)
        return changed.after

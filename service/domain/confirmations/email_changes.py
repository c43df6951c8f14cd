"""Another address: it is proven by a mail to it, and approved by one to the address in force, if that was proven.

The flow of the new address is the change: `state.waits` names the pending answers, "new", "old" or both. The other
flow, of the old address, names it in `state.of`. The old address is notified in any case.
"""

from dataclasses import dataclass
from typing import Literal

from service.domain.access.caller import UserCaller
from service.domain.accounts import Accounts
from service.domain.accounts.changes import Author
from service.domain.confirmations.first_proofs import dead_code
from service.domain.confirmations.verification import MailRequest
from service.domain.limits.policies import HOUR, Policy
from service.domain.mail_flows.flows import Draft
from service.domain.mail_flows.purposes import Flow, Purpose, Ticket, choose_redirect
from service.domain.projects.lookup import Project
from service.errors import DuplicateValue, EmailInUse, Invalid, InvalidToken, StepUpRequired
from service.storage.accounts import AccountChange
from service.storage.databases import ProjectDatabase
from service.storage.users import Credentials

CHANGE = "change_email"
NOTICE = "email_changed"
NEW: Literal["new"] = "new"
OLD: Literal["old"] = "old"
# Each notifies the old address, which the finder of a token could otherwise flood.
CHANGES = Policy("email_changes", HOUR, "changes of the address an hour of one user", lambda _: 5)


@dataclass(frozen=True, slots=True)
class EmailChange:
    """The address in force, and whose mail must be answered yet before it is another one."""

    email: str
    waiting_for: Literal["new", "old"] | None


async def request_email_change(accounts: Accounts, caller: UserCaller, request: MailRequest) -> Ticket:
    """Mails the new address, taken or not, and the old one; an earlier change is void. Raises Invalid, LimitExceeded."""
    project = caller.project
    redirect_to = choose_redirect(project, request.redirect_to)
    credentials = await _recognize(caller)
    if credentials.user.email == request.email:
        raise Invalid.one(("body", "email"), "This is the account's address already")
    await accounts.flows.limits.take_one(project, CHANGES, caller.user_id)
    waits = [NEW, OLD] if credentials.state.email_verified else [NEW]
    purpose = Purpose(
        CHANGE,
        request.email,
        caller.user_id,
        apart=f"/{caller.user_id}",
        locale=request.locale,
        redirect_to=redirect_to,
        state={"waits": waits},
    )
    draft = await accounts.flows.draft(project, purpose)
    ticket = await _store(accounts, project, draft, purpose, credentials)
    await accounts.flows.settle(draft, ticket)
    return ticket


async def _store(
    accounts: Accounts, project: Project, draft: Draft, purpose: Purpose, credentials: Credentials
) -> Ticket:
    user, locale = credentials.user, purpose.locale
    approval = Purpose(
        CHANGE,
        user.name,
        user.id,
        has_code=False,
        locale=locale,
        redirect_to=purpose.redirect_to,
        state={"of": draft.ticket.flow_id},
    )

    async def write(database: ProjectDatabase) -> Ticket:
        ticket = await accounts.flows.keep(draft, database)
        # A repeated request sends no second notice, nor does one without a mail.
        if ticket.flow_id != draft.ticket.flow_id or draft.taken is None:
            return ticket
        await accounts.flows.void(user.id, database, project, purposes=(CHANGE,), keep=ticket.flow_id)
        if credentials.state.email_verified:
            await accounts.flows.insert(project, approval, database)
        await accounts.flows.insert(project, Purpose(NOTICE, user.name, user.id, locale=locale), database)
        return ticket

    return await project.database.in_transaction(write)


async def finish_email_change(accounts: Accounts, project: Project, flow: Flow) -> EmailChange:
    """Notes what the mail of `flow` confirms; the last one changes the address, and voids the user's other mails.

    Raises InvalidCode, and EmailInUse where the address was taken meanwhile, which changes nothing.
    """
    change_id, part = (flow.state["of"], OLD) if "of" in flow.state else (flow.id, NEW)

    async def write(database: ProjectDatabase) -> EmailChange:
        if part == OLD:
            await accounts.flows.spend(flow, database)
        change = await accounts.flows.confirm_part(project, change_id, part, database)
        waits = change.state["waits"]
        wanted = None if waits else AccountChange(email=change.address, email_verified=True)
        changed = await accounts.changes.apply(
            project, change.user_id or "", lambda _: wanted, Author(), database=database
        )
        return EmailChange(changed.after.user.name, waits[0] if waits else None)

    try:
        with dead_code():
            return await project.database.in_transaction(write)
    except DuplicateValue:
        raise EmailInUse from None


async def _recognize(caller: UserCaller) -> Credentials:
    """Raises InvalidToken, StepUpRequired for an anonymous user."""
    credentials = await caller.project.users.find_own_credentials(caller.user_id)
    if credentials is None or not caller.is_in_force(credentials.user):
        raise InvalidToken
    if credentials.user.is_anonymous:
        raise StepUpRequired
    return credentials

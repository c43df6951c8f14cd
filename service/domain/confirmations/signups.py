"""Signups of projects whose users prove their addresses: the user and the mail are stored in one transaction."""

from dataclasses import dataclass

from service.domain.access.caller import KeyCaller
from service.domain.accounts import Accounts
from service.domain.accounts.users import NewAccount, prepare_signup, require_account, store_signup
from service.domain.confirmations.verification import SIGNUP, VERIFY
from service.domain.files.files import Submission
from service.domain.idempotency import Keep
from service.domain.mail_flows.purposes import Purpose, Ticket, choose_redirect
from service.domain.projects.lookup import Project
from service.errors import EmailTaken, ServiceError
from service.storage.databases import ProjectDatabase
from service.storage.users import StoredUser

# A signup that follows a request for the same mail has a mail of its own.
APART = "/signup"
# The notice to a user that signs up a second time.
EXISTS = "account_exists"
# EMAIL_VERIFICATION of a project whose signups send no mail.
UNASKED = "off"


@dataclass(frozen=True, slots=True)
class Registered:
    """A new user, None where there was one already, and what the code of the mail is good with."""

    user: StoredUser | None
    ticket: Ticket


def must_prove(project: Project) -> bool:
    """True if a signup is no sign-in."""
    return project.settings.email_verification == "required"


async def register(
    accounts: Accounts,
    caller: KeyCaller,
    submission: Submission[NewAccount],
    locale: str | None,
    keep: Keep[Registered] | None = None,
) -> Registered:
    """Stores a new user with the submission's files, and the mail. Raises EmailTaken, Invalid, Busy.

    `keep` is called in the transaction of the write. In a project that hides its accounts, the owner of an existing
    one is mailed just that, by as many commands, and all callers get the same answer.
    """
    project, email = caller.project, require_account(submission).email
    is_hidden = project.settings.hides_accounts
    if is_hidden and await project.users.has_email(email):
        return await _tell(accounts, caller, submission, locale, keep)
    redirect_to = choose_redirect(project, None)
    purpose = Purpose(
        VERIFY, email, submission.owner, apart=APART, locale=locale, redirect_to=redirect_to, state={SIGNUP: True}
    )
    draft = await accounts.flows.draft(project, purpose)

    async def mail(database: ProjectDatabase, user: StoredUser) -> None:
        await accounts.flows.keep(draft, database, is_first=True)
        if keep is not None:
            await keep(database, Registered(user, draft.ticket))

    try:
        user = await store_signup(accounts, caller, submission, mail)
    except ServiceError as error:
        await accounts.flows.discard(draft)
        if is_hidden and isinstance(error, EmailTaken):
            return await _tell(accounts, caller, submission, locale, keep)
        raise
    await accounts.flows.settle(draft, draft.ticket)
    return Registered(user, draft.ticket)


async def _tell(
    accounts: Accounts,
    caller: KeyCaller,
    submission: Submission[NewAccount],
    locale: str | None,
    keep: Keep[Registered] | None,
) -> Registered:
    """Notifies the owner of the address that there is an account.

    The hash and the flow are made for equal timing, and unused.
    """
    project = caller.project
    purpose = Purpose(
        VERIFY,
        require_account(submission).email,
        is_open=True,
        kind=EXISTS,
        apart=APART,
        locale=locale,
        redirect_to=choose_redirect(project, None),
    )
    draft = await accounts.flows.draft(project, purpose)

    async def write(database: ProjectDatabase) -> Ticket:
        await accounts.flows.stand_in(project, database)
        ticket = await accounts.flows.keep(draft, database)
        if keep is not None:
            await keep(database, Registered(None, ticket))
        return ticket

    try:
        await prepare_signup(accounts, caller, submission)
        ticket = await project.database.in_transaction(write)
    except ServiceError:
        await accounts.flows.discard(draft)
        raise
    await accounts.flows.settle(draft, ticket)
    return Registered(None, ticket)

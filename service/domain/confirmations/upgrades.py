"""Gives an anonymous user an account: an address and a password. The id, the data and the documents stay.

If addresses must be proven, the address waits in the flow of its mail. The password is the user's at once, for no caller
can sign in with it before there is an address.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from service.domain.access.caller import UserCaller
from service.domain.accounts import Accounts
from service.domain.accounts.changes import Author
from service.domain.accounts.password_rules import check_password
from service.domain.accounts.profile import read_profile
from service.domain.accounts.users import OpenedSession, sign_in
from service.domain.confirmations.signups import APART, EXISTS, UNASKED, must_prove
from service.domain.confirmations.verification import SIGNUP, UPGRADE, VERIFY
from service.domain.mail_flows.flows import Draft
from service.domain.mail_flows.purposes import Purpose, Ticket, choose_redirect
from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import Client
from service.errors import DuplicateValue, EmailTaken, Invalid, NotAnonymous, ServiceError
from service.storage.accounts import Account, AccountChange
from service.storage.databases import ProjectDatabase


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The account that an anonymous user asks for; `email` is normalized, `locale` the language of its mail."""

    email: str
    password: str | None = field(default=None, repr=False)
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A session of the account, and the flow of the mail that proves the address, if one was sent."""

    signed_in: OpenedSession
    flow_id: str | None


async def upgrade(accounts: Accounts, caller: UserCaller, wanted: Upgrade, client: Client) -> Upgraded | Ticket:
    """The ticket stands alone where the address must be proven first.

    Raises InvalidToken, NotAnonymous, EmailTaken, Invalid, EnrolmentRequired, Busy. In a project that hides its accounts,
    the owner of a taken address is mailed just that, and all callers get the same answer.
    """
    project = caller.project
    change, is_taken = await _plan(accounts, caller, wanted)
    author = Author.of(caller, client, wanted.locale)
    has_mail = project.settings.email_verification != UNASKED
    draft = await accounts.flows.draft(project, _describe_mail(caller, wanted, is_taken=is_taken)) if has_mail else None

    def decide(account: Account) -> AccountChange | None:
        if not account.user.is_anonymous:
            raise NotAnonymous
        return None if change == AccountChange() else change

    async def write(database: ProjectDatabase) -> Account:
        changed = await accounts.changes.apply(project, caller.user_id, decide, author, database=database)
        if draft is not None:
            await accounts.flows.keep(draft, database, is_first=True)
        return changed.after

    account = await _store(accounts, project, draft, write)
    if draft is not None and account.user.is_anonymous:
        return draft.ticket
    signed_in = await sign_in(accounts, project, account.user, client, account.state)
    return Upgraded(signed_in, draft.ticket.flow_id if draft is not None else None)


async def _store(
    accounts: Accounts, project: Project, draft: Draft | None, write: Callable[[ProjectDatabase], Awaitable[Account]]
) -> Account:
    """Raises EmailTaken, and as `write`."""
    try:
        account = await project.database.in_transaction(write)
    except ServiceError as error:
        if draft is not None:
            await accounts.flows.discard(draft)
        raise EmailTaken if isinstance(error, DuplicateValue) else error from None
    if draft is not None:
        await accounts.flows.settle(draft, draft.ticket)
    return account


async def _plan(accounts: Accounts, caller: UserCaller, wanted: Upgrade) -> tuple[AccountChange, bool]:
    """The change, and True if the address is taken, which is hidden. Raises as `_check`, and EmailTaken, Busy."""
    project = caller.project
    await _check(accounts, caller, wanted)
    is_taken = await project.users.has_email(wanted.email)
    if is_taken and not project.settings.hides_accounts:
        raise EmailTaken
    hashed = None if wanted.password is None else await accounts.passwords.hash(wanted.password, project.id)
    return AccountChange(password=hashed, email=None if must_prove(project) else wanted.email), is_taken


async def _check(accounts: Accounts, caller: UserCaller, wanted: Upgrade) -> None:
    """Raises InvalidToken, NotAnonymous, Invalid."""
    project, password = caller.project, wanted.password
    user = await read_profile(accounts, caller)
    if not user.is_anonymous:
        raise NotAnonymous
    if password is None:
        if not must_prove(project):
            raise Invalid.one(("body", "password"), "Field required, unless addresses must be proven", type_="missing")
        return
    if violations := check_password(password, project.settings, project.name, wanted.email):
        raise Invalid(violations)
    await accounts.leaks.refuse(password, project.settings)


def _describe_mail(caller: UserCaller, wanted: Upgrade, *, is_taken: bool) -> Purpose:
    return Purpose(
        VERIFY,
        wanted.email,
        None if is_taken else caller.user_id,
        is_open=is_taken,
        kind=EXISTS if is_taken else None,
        apart=f"{APART}/{caller.user_id}",
        locale=wanted.locale,
        redirect_to=choose_redirect(caller.project, None),
        state={SIGNUP: True, UPGRADE: must_prove(caller.project)},
    )

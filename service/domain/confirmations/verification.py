"""Proves that an address is the user's: by a mail, answered by its code or link."""

from dataclasses import dataclass, field, replace
from functools import partial

from service.domain.access.caller import UserCaller
from service.domain.accounts import Accounts
from service.domain.accounts.users import check_present
from service.domain.confirmations.first_proofs import BY_MAIL, dead_code, require_address, take_over
from service.domain.mail_flows.purposes import Flow, Purpose, Ticket, choose_redirect
from service.domain.projects.lookup import Project
from service.domain.sessions.sessions import Client
from service.errors import DuplicateValue, EmailInUse, InvalidCode
from service.storage.accounts import Account, AccountChange, find_account, find_address_owner

VERIFY = "verify_email"
# In the state of a flow whose id was given to the one who signed up, with the password that was chosen there.
SIGNUP = "signup"
# In the state of a flow whose address becomes that of an anonymous user.
UPGRADE = "upgrade"


@dataclass(frozen=True, slots=True)
class MailRequest:
    """A request for a mail."""

    email: str
    locale: str | None = None
    redirect_to: str | None = None


@dataclass(frozen=True, slots=True)
class Ownership:
    """The ways in which the reader of a mail shows that the account is the reader's own: a session of it, or its password.

    `has_flow_id` says that the code was brought with the `flow_id` of the flow, which a link does not show.
    """

    client: Client
    caller: UserCaller | None = None
    password: str | None = field(default=None, repr=False)
    has_flow_id: bool = False


async def request_verification(accounts: Accounts, project: Project, request: MailRequest) -> Ticket:
    """Mails the user of an unproven address. The same for every other address, but no mail."""
    redirect_to = choose_redirect(project, request.redirect_to)
    account = await find_address_owner(project.database, request.email)
    user_id = account.id if account is not None and not account.is_confirmed else None
    purpose = Purpose(VERIFY, request.email, user_id, locale=request.locale, redirect_to=redirect_to)
    return await accounts.flows.open(project, purpose)


async def has_password(project: Project, flow: Flow) -> bool:
    account = await find_account(project.database, flow.user_id or "")
    return account is not None and account.has_password


async def asks_password(project: Project, flow: Flow) -> bool:
    """True if a confirmation without the account's password takes that password away."""
    account = await find_account(project.database, flow.user_id or "")
    return account is not None and account.has_password and not account.state.email_verified


async def finish_verification(accounts: Accounts, project: Project, flow: Flow, ownership: Ownership) -> Account:
    """Notes that the address is the user's, and returns the account, which a stranger may have made: see `take_over`.

    An anonymous user who asked for an account gets the address. Raises InvalidCode where the flow was spent, or the user
    has another address now; WrongPassword, LimitExceeded and Busy, which spend nothing; EmailInUse where the address was
    taken meanwhile.
    """
    known = await _check_password(accounts, project, flow, ownership)

    def decide(account: Account) -> AccountChange | None:
        is_own = account.password == known or _is_own(account, flow, ownership)
        if flow.state.get(UPGRADE) is True and account.user.is_anonymous:
            # The address matches no password.
            proven = AccountChange(email_verified=True) if is_own else take_over(account, flow.address)
            return replace(proven, email=flow.address, ends_sessions=True)
        require_address(account, flow)
        if account.state.is_confirmed:
            return None
        return AccountChange(email_verified=True) if is_own else take_over(account)

    try:
        with dead_code():
            first = partial(accounts.flows.spend, flow)
            changed = await accounts.changes.apply(project, flow.user_id or "", decide, BY_MAIL, first=first)
    except DuplicateValue:
        raise EmailInUse from None
    return changed.after


async def _check_password(accounts: Accounts, project: Project, flow: Flow, ownership: Ownership) -> str | None:
    """The stored hash that the password matches, if one was brought. Raises WrongPassword, InvalidCode."""
    return None if ownership.password is None else await require_password(accounts, project, flow, ownership)


async def require_password(accounts: Accounts, project: Project, flow: Flow, ownership: Ownership) -> str:
    """The stored hash that the password matches. Raises WrongPassword, InvalidCode, LimitExceeded, Busy."""
    credentials = await project.users.find_own_credentials(flow.user_id or "")
    if credentials is None:
        raise InvalidCode
    await check_present(accounts, project, credentials, ownership.password, ownership.client)
    return credentials.password


def _is_own(account: Account, flow: Flow, ownership: Ownership) -> bool:
    caller = ownership.caller
    if caller is not None and (caller.project.id, caller.user_id) == (flow.project_id, account.user.id):
        return caller.is_in_force(account.user)
    return ownership.has_flow_id and flow.state.get(SIGNUP) is True

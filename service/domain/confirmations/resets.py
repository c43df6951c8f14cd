"""A new password for a user who proves the address of the account by the code or the link of a mail."""

from dataclasses import dataclass, field, replace
from functools import partial

from service.domain.accounts import Accounts
from service.domain.accounts.factor_proofs import Attempt, Proof, use_proof
from service.domain.accounts.password_rules import check_password
from service.domain.confirmations.first_proofs import BY_MAIL, asks_factor, dead_code, require_address, take_over
from service.domain.confirmations.verification import MailRequest
from service.domain.mail_flows.purposes import Flow, Purpose, Ticket, choose_redirect
from service.domain.projects.lookup import Project
from service.domain.sessions.admission import methods_of
from service.domain.sessions.sessions import Client
from service.errors import FactorRequired, Invalid, InvalidCode
from service.schema.values import now
from service.storage.account_states import PASSKEY
from service.storage.accounts import Account, AccountChange, find_account, find_address_owner
from service.storage.databases import ProjectDatabase

RESET, INVITE = "reset_password", "invite"
PASSWORD_CHANGED = "password_changed"  # noqa: S105 - a kind of mail


@dataclass(frozen=True, slots=True)
class NewSecret:
    """The new password, the second `factor` of a user who has one, and the client that sends them."""

    password: str = field(repr=False)
    client: Client
    factor: Proof | None = None


async def request_reset(accounts: Accounts, project: Project, request: MailRequest) -> Ticket:
    """Mails the user with the address. For every other address the same is done, without a mail."""
    redirect_to = choose_redirect(project, request.redirect_to)
    account = await find_address_owner(project.database, request.email)
    user_id = account.id if account is not None else None
    purpose = Purpose(RESET, request.email, user_id, locale=request.locale, redirect_to=redirect_to)
    return await accounts.flows.open(project, purpose)


async def reset_by_code(accounts: Accounts, project: Project, flow_id: str, code: str, new: NewSecret) -> None:
    """Raises Invalid, FactorRequired and InvalidFactor, which spend nothing, InvalidCode, LimitExceeded, Busy."""
    check_new(project, new.password)
    flow = await accounts.flows.find_by_code(project, flow_id, code, (RESET, INVITE))
    await finish_reset(accounts, project, flow, new)


async def reset_by_token(accounts: Accounts, project: Project, token: str, new: NewSecret) -> None:
    """Raises as `reset_by_code`."""
    check_new(project, new.password)
    await finish_reset(accounts, project, await accounts.flows.find_by_token(token, (RESET, INVITE), project), new)


async def reset_asks_factor(project: Project, flow: Flow) -> bool:
    """True if the flow's user has a second factor, without which the password cannot be reset."""
    account = await find_account(project.database, flow.user_id or "")
    return account is not None and asks_factor(project.settings, account)


def check_new(project: Project, password: str, email: str | None = None) -> None:
    """Raises Invalid for a password that the project does not take."""
    if violations := check_password(password, project.settings, project.name, email):
        raise Invalid(violations)


async def finish_reset(accounts: Accounts, project: Project, flow: Flow, new: NewSecret) -> None:
    """Stores the password; ends all sessions, voids the user's other flows, and tells the user.

    All of it in one transaction, in which the factor is spent as well. Raises InvalidCode where the flow was spent, or the
    user has another address now; and, which spends nothing, Invalid where the password is the address, FactorRequired,
    InvalidFactor, LimitExceeded.
    """
    owner = await find_account(project.database, flow.user_id or "")
    if owner is None:
        raise InvalidCode
    check_new(project, new.password, flow.address)
    factor = new.factor if asks_factor(project.settings, owner) else None
    if factor is None:
        _check_none(project, flow, owner)
    await accounts.leaks.refuse(new.password, project.settings)
    hashed = await accounts.passwords.hash(new.password, project.id)

    def decide(account: Account) -> AccountChange:
        require_address(account, flow)
        if factor is None:
            # One may have been added since.
            _check_none(project, flow, account)
        return take_over(account, hashed)

    author = replace(BY_MAIL, client=new.client, locale=flow.locale)

    async def write(database: ProjectDatabase) -> None:
        first = partial(accounts.flows.spend, flow)
        await accounts.changes.apply(
            project, owner.user.id, decide, author, notice=PASSWORD_CHANGED, first=first, database=database
        )

    with dead_code():
        if factor is None:
            await write(project.database)
        else:
            await use_proof(accounts, Attempt(project, owner.user, new.client, flow.locale), factor, write)


def _check_none(project: Project, flow: Flow, account: Account) -> None:
    """Raises FactorRequired for an account whose factor is asked for.

    A passkey is bound to a page of the project's, to which a reset by mail may not lead.
    """
    if asks_factor(project.settings, account):
        methods = [method for method in methods_of(account.state) if method != PASSKEY]
        raise FactorRequired(flow.id, methods, int((flow.expires_at - now()).total_seconds()))

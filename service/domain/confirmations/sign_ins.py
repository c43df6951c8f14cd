"""Sign-in by mail: by its code, or by its link in the app that asked for it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from service.domain.accounts import Accounts
from service.domain.accounts.users import OpenedSession, sign_in
from service.domain.confirmations.first_proofs import BY_MAIL, asks_factor, dead_code, require_address, take_over
from service.domain.confirmations.verification import MailRequest
from service.domain.mail_flows.purposes import Flow, Purpose, Ticket, choose_redirect
from service.domain.profiles.profiles import ProfileDraft
from service.domain.projects.lookup import Project
from service.domain.sessions.admission import is_current
from service.domain.sessions.sessions import EMAIL, Client
from service.errors import DuplicateValue, InvalidCode
from service.storage.account_states import AccountState
from service.storage.accounts import Account, AccountChange, find_address_owner
from service.storage.databases import ProjectDatabase
from service.storage.ids import new_id
from service.storage.users import Credentials, NewUser, Users

SIGN_IN = "sign_in"
# The second look finds who signed up with the address meanwhile.
ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class SignInRequest:
    """A request for a mail that signs in. A `challenge` adds a link; `create` mails an address without an account too."""

    mail: MailRequest
    challenge: str | None = None
    create: bool = False


async def request_sign_in(accounts: Accounts, project: Project, request: SignInRequest) -> Ticket:
    """Mails the user with the address. For every other address the same is done, with a mail only where `create` is set."""
    mail = request.mail
    redirect_to = choose_redirect(project, mail.redirect_to)
    account = await find_address_owner(project.database, mail.email)
    purpose = Purpose(
        SIGN_IN,
        mail.email,
        account.id if account is not None else None,
        is_open=request.create,
        locale=mail.locale,
        redirect_to=redirect_to,
        challenge=request.challenge,
        # Its link leads back into the app, which alone can make something of it.
        has_link=request.challenge is not None and redirect_to is not None,
    )
    return await accounts.flows.open(project, purpose)


async def finish_sign_in(accounts: Accounts, project: Project, flow: Flow, client: Client) -> OpenedSession:
    """Raises InvalidCode where the flow was spent, or the user has another address now, AccountDisabled."""
    for _ in range(ATTEMPTS):
        try:
            return await _finish(accounts, project, flow, client)
        except DuplicateValue:
            continue
    raise InvalidCode


async def _finish(accounts: Accounts, project: Project, flow: Flow, client: Client) -> OpenedSession:
    made_id, author = new_id(), replace(BY_MAIL, client=client)
    profile = await accounts.profiles.accept(project, ProfileDraft({}, drops=True))

    def decide(account: Account) -> AccountChange | None:
        require_address(account, flow)
        # Nothing changes before the second factor is shown.
        is_done = account.state.is_confirmed or asks_factor(project.settings, account)
        return None if is_done else take_over(account)

    async def write(data: Mapping[str, Any], database: ProjectDatabase) -> Account:
        await accounts.flows.spend(flow, database)
        user_id = flow.user_id or await _find_or_make(database, flow.address, made_id, data)
        # Read here, for what ends all sessions from now on ends this one, too.
        return (await accounts.changes.apply(project, user_id, decide, author, database=database)).after

    with dead_code():
        account = await accounts.profiles.store(
            project, profile, lambda data: project.database.in_transaction(partial(write, data))
        )
    return await sign_in_by_mail(accounts, project, account, client)


async def sign_in_by_mail(accounts: Accounts, project: Project, account: Account, client: Client) -> OpenedSession:
    """A session for the user who proved the address just now. Raises AccountDisabled, FactorRequired."""
    state = replace(account.state, email_verified=True)
    return await sign_in(accounts, project, account.user, client, state, amr=EMAIL)


async def issue_code(accounts: Accounts, project: Project, flow: Flow) -> str:
    """A code for the app that asked. It spends nothing: a program that looks at links may have clicked.

    Raises InvalidCode where the project had no page to lead to when a server made the link.
    """
    if flow.redirect_to is None:
        raise InvalidCode
    return await accounts.sessions.exchange_codes.issue_for_mail(project, flow.id, challenge=flow.challenge or "")


async def exchange_code(
    accounts: Accounts, project: Project, code: str, verifier: str | None, client: Client
) -> OpenedSession:
    """Opens the session of a code that a browser brought to the page that began the sign-in, by mail or by a provider.

    Raises as `finish_sign_in`, and InvalidCode where the user's sessions were ended meanwhile.
    """
    found = await accounts.sessions.exchange_codes.redeem(project, code, verifier)
    if found.flow_id is not None:
        flow = await accounts.flows.find(project, found.flow_id, (SIGN_IN,))
        return await finish_sign_in(accounts, project, flow, client)
    credentials = await _read(project.database, found.user_id)
    if not is_current(credentials.state, credentials.user.version, since=found.version):
        raise InvalidCode
    return await sign_in(accounts, project, credentials.user, client, credentials.state, amr=found.amr)


async def _find_or_make(database: ProjectDatabase, email: str, made_id: str, data: Mapping[str, Any]) -> str:
    """The user with this address, made with this `data` if there is none.

    Raises InvalidCode where the flow is a stranger's, and so has no address.
    """
    if not email:
        raise InvalidCode
    found = await find_address_owner(database, email)
    if found is not None:
        return found.id
    # As for a provider's user: the address is no hash, so no password matches.
    new = NewUser(email, email, data, made_id, state=AccountState(email_verified=True))
    return (await Users(database).insert(new)).id


async def _read(database: ProjectDatabase, user_id: str) -> Credentials:
    """Raises InvalidCode."""
    found = await Users(database).find_own_credentials(user_id)
    if found is None:
        raise InvalidCode
    return found

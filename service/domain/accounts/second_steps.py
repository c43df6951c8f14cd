"""The second step of a sign-in, and the steps up of those who are signed in."""

from dataclasses import replace

from service.domain.access.caller import UserCaller
from service.domain.accounts import Accounts
from service.domain.accounts.factor_proofs import Also, Attempt, PasskeyAnswer, Proof, use_proof
from service.domain.accounts.passkeys import Asked, find_party
from service.domain.accounts.users import OpenedSession, check_present, sign_in
from service.domain.projects.lookup import Project
from service.domain.sessions.admission import is_current
from service.domain.sessions.pending import SECOND_FACTOR, STEP_UP, Recognized
from service.domain.sessions.sessions import PASSWORD, Client
from service.errors import InvalidFactor, InvalidToken, StepUpRequired
from service.storage.databases import ProjectDatabase
from service.storage.users import Credentials


async def finish_second_step(
    accounts: Accounts, project: Project, flow_id: str, proof: Proof, client: Client, locale: str | None
) -> OpenedSession:
    """Opens the session of a sign-in that waits for a factor.

    Raises InvalidFactor, also for a spent or expired flow, LimitExceeded, AccountDisabled, EmailNotVerified.
    """
    pending = await accounts.sessions.pending.take_try(project, SECOND_FACTOR, flow_id)
    if pending is None:
        raise InvalidFactor
    recognized = pending.recognized
    credentials = await project.users.find_own_credentials(recognized.user_id)
    if credentials is None:
        raise InvalidFactor
    if not is_current(credentials.state, credentials.user.version, since=recognized.version):
        raise InvalidFactor

    async def spend(database: ProjectDatabase) -> None:
        if not await accounts.sessions.pending.spend(pending, database):
            raise InvalidFactor

    attempt = Attempt(project, credentials.user, client, locale)
    way = await use_proof(accounts, attempt, proof, spend)
    amr, version = (*recognized.amr, way), recognized.version
    await accounts.sessions.admit(project, replace(recognized, amr=amr), client, credentials.state)
    if recognized.replaces is not None:
        ended = await accounts.sessions.end_replaced(project, recognized.user_id, recognized.replaces, version)
        if ended is None:
            raise InvalidFactor
        version = ended
    user = replace(credentials.user, version=version)
    return await sign_in(accounts, project, user, client, credentials.state, amr=amr)


async def step_up(
    accounts: Accounts, caller: UserCaller, proof: Proof, client: Client, locale: str | None
) -> OpenedSession:
    """A new session of the caller's, with the second factor, in the place of the present one.

    Raises InvalidToken, InvalidFactor, LimitExceeded, AccountDisabled, EmailNotVerified.
    """
    credentials = await _find_own(caller)
    session = await accounts.sessions.find_own(caller)
    also = await _take_asked(accounts, caller, proof) if isinstance(proof, PasskeyAnswer) else None
    way = await use_proof(accounts, Attempt(caller.project, credentials.user, client, locale), proof, also)
    amr = tuple(dict.fromkeys((*(session.amr if session else ()), way)))
    return await _replace(accounts, caller, credentials, client, amr)


async def step_up_by_password(accounts: Accounts, caller: UserCaller, password: str, client: Client) -> OpenedSession:
    """As `step_up`, for a user without a second factor. Raises WrongPassword, FactorRequired, Busy, too."""
    credentials = await _find_own(caller)
    await check_present(accounts, caller.project, credentials, password, client)
    return await _replace(accounts, caller, credentials, client, PASSWORD)


async def ask_caller(accounts: Accounts, caller: UserCaller) -> Asked:
    """For a step up by a passkey. Raises InvalidToken, ConfigurationMissing."""
    await _find_own(caller)
    recognized = Recognized(caller.user_id, caller.version, (), caller.sid)
    find_party(caller.project)
    flow_id = await accounts.sessions.pending.begin(caller.project, STEP_UP, recognized)
    return Asked(flow_id, await accounts.passkeys.ask_to_use(caller.project, caller.user_id, flow_id))


async def ask_pending(accounts: Accounts, project: Project, flow_id: str) -> Asked:
    """For a sign-in that waits for a factor. Raises InvalidFactor, ConfigurationMissing."""
    pending = await accounts.sessions.pending.find(project, SECOND_FACTOR, flow_id)
    if pending is None:
        raise InvalidFactor
    return Asked(flow_id, await accounts.passkeys.ask_to_use(project, pending.recognized.user_id, flow_id))


async def _take_asked(accounts: Accounts, caller: UserCaller, proof: PasskeyAnswer) -> Also:
    """Spends the flow in which the caller was asked. Raises InvalidFactor."""
    pending = await accounts.sessions.pending.take_try(caller.project, STEP_UP, proof.flow_id)
    if pending is None or pending.recognized.user_id != caller.user_id:
        raise InvalidFactor

    async def spend(database: ProjectDatabase) -> None:
        if not await accounts.sessions.pending.spend(pending, database):
            raise InvalidFactor

    return spend


async def _find_own(caller: UserCaller) -> Credentials:
    credentials = await caller.project.users.find_own_credentials(caller.user_id)
    if credentials is None or not caller.is_in_force(credentials.user):
        raise InvalidToken
    if credentials.user.is_anonymous:
        raise StepUpRequired
    return credentials


async def _replace(
    accounts: Accounts, caller: UserCaller, credentials: Credentials, client: Client, amr: tuple[str, ...]
) -> OpenedSession:
    """Replaces the session. A user whose new session is refused, or not yet allowed, keeps the present one."""
    project, state = caller.project, credentials.state
    recognized = Recognized(caller.user_id, caller.version, amr, caller.sid)
    await accounts.sessions.admit(project, recognized, client, state)
    user = replace(credentials.user, version=await accounts.sessions.end_own(caller))
    return await sign_in(accounts, project, user, client, state, amr=amr)

"""Signing in by a passkey alone: it identifies its user, and its device has asked for a PIN or a finger."""

from service.domain.accounts import Accounts
from service.domain.accounts.passkeys import Asked, find_party
from service.domain.accounts.users import OpenedSession, sign_in
from service.domain.projects.lookup import Project
from service.domain.sessions.admission import SECOND
from service.domain.sessions.pending import NOBODY, PASSKEY_SIGN_IN
from service.domain.sessions.sessions import Client
from service.errors import InvalidPasskey
from service.passkeys.answers import AnswerRefused, Assertion, Use
from service.schema.values import now
from service.storage.account_states import PASSKEY
from service.storage.databases import ProjectDatabase
from service.storage.passkeys import PasskeyHolder, find_holder, use_passkey


async def begin_passkey_sign_in(accounts: Accounts, project: Project) -> Asked:
    """Raises ConfigurationMissing."""
    find_party(project)
    flow_id = await accounts.sessions.pending.begin(project, PASSKEY_SIGN_IN, NOBODY)
    return Asked(flow_id, await accounts.passkeys.ask_to_use(project, None, flow_id))


async def finish_passkey_sign_in(
    accounts: Accounts, project: Project, flow_id: str, answer: Assertion, client: Client
) -> OpenedSession:
    """Raises InvalidPasskey, ConfigurationMissing, AccountDisabled, EmailNotVerified."""
    find_party(project)
    pending = await accounts.sessions.pending.take_try(project, PASSKEY_SIGN_IN, flow_id)
    holder = None if pending is None else await find_holder(project.database, answer.credential_id)
    if pending is None or holder is None:
        raise InvalidPasskey
    use = await _judge(accounts, project, flow_id, holder, answer, client)
    user = holder.user

    async def write(database: ProjectDatabase) -> None:
        spent = await accounts.sessions.pending.spend(pending, database)
        if not spent or not await use_passkey(database, user.id, holder.passkey, use, now()):
            raise InvalidPasskey

    await project.database.in_transaction(write)
    return await sign_in(accounts, project, user, client, holder.state, amr=(SECOND[PASSKEY],))


async def _judge(
    accounts: Accounts, project: Project, flow_id: str, holder: PasskeyHolder, answer: Assertion, client: Client
) -> Use:
    try:
        # Without it nothing but the passkey's own name would say whose it is.
        if answer.user_handle is None:
            raise AnswerRefused("no user")
        return await accounts.passkeys.judge(project, flow_id, holder, answer)
    except AnswerRefused:
        refusal = InvalidPasskey()
        accounts.sessions.note_refusal(project, holder.user.id, client, refusal)
        raise refusal from None

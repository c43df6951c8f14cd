"""Signing in by a passkey alone: it identifies its user, and its device has asked for a PIN or a finger."""

from service.domain.accounts.passkeys import Asked, Passkeys, find_party
from service.domain.accounts.users import Accounts, SignedIn
from service.domain.projects.lookup import Project
from service.domain.sessions.admission import SECOND
from service.domain.sessions.pending import NOBODY, PASSKEY_SIGN_IN, PendingSignIns
from service.domain.sessions.sessions import Client, Sessions
from service.errors import InvalidPasskey
from service.passkeys.answers import Assertion, Refused, Use
from service.schema.values import now
from service.storage.account_states import PASSKEY
from service.storage.databases import ProjectDatabase
from service.storage.passkeys import PasskeyHolder, find_holder, use_passkey


class PasskeySignIns:
    """Sign-ins by passkey of users that have given no name."""

    def __init__(self, accounts: Accounts, sessions: Sessions, pending: PendingSignIns, passkeys: Passkeys) -> None:
        self._accounts = accounts
        self._sessions = sessions
        self._pending = pending
        self._passkeys = passkeys

    async def begin(self, project: Project) -> Asked:
        """Raises ConfigurationMissing."""
        find_party(project)
        flow_id = await self._pending.begin(project, PASSKEY_SIGN_IN, NOBODY)
        return Asked(flow_id, await self._passkeys.ask_to_use(project, None, flow_id))

    async def finish(self, project: Project, flow_id: str, answer: Assertion, client: Client) -> SignedIn:
        """Raises InvalidPasskey, ConfigurationMissing, AccountDisabled, EmailNotVerified."""
        find_party(project)
        pending = await self._pending.take_try(project, PASSKEY_SIGN_IN, flow_id)
        holder = None if pending is None else await find_holder(project.database, answer.credential_id)
        if pending is None or holder is None:
            raise InvalidPasskey
        use = await self._judge(project, flow_id, holder, answer, client)
        user = holder.user

        async def write(database: ProjectDatabase) -> None:
            spent = await self._pending.spend(pending, database)
            if not spent or not await use_passkey(database, user.id, holder.passkey, use, now()):
                raise InvalidPasskey

        await project.database.in_transaction(write)
        return await self._accounts.sign_in(project, user, client, holder.state, amr=(SECOND[PASSKEY],))

    async def _judge(
        self, project: Project, flow_id: str, holder: PasskeyHolder, answer: Assertion, client: Client
    ) -> Use:
        try:
            # Without it nothing but the passkey's own name would say whose it is.
            if answer.user_handle is None:
                raise Refused("no user")
            return await self._passkeys.judge(project, flow_id, holder, answer)
        except Refused:
            refusal = InvalidPasskey()
            self._sessions.note_refusal(project, holder.user.id, client, refusal)
            raise refusal from None

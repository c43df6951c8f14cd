"""Judges the proofs of a second factor: one function for each kind, one way for all of them."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from service.domain.accounts import Accounts
from service.domain.accounts.factor_codes import find_step, hash_code
from service.domain.mail_flows.codes import count_mistake, name_account, uncount
from service.domain.mail_flows.purposes import Purpose
from service.domain.projects.lookup import Project
from service.domain.projects.secrets import place_of_totp
from service.domain.sessions.admission import SECOND
from service.domain.sessions.sessions import Client
from service.errors import ConfigurationError, InvalidFactor
from service.passkeys.answers import AnswerRefused, Assertion
from service.schema.values import now
from service.storage.account_states import PASSKEY, RECOVERY_CODE, TOTP
from service.storage.databases import ProjectDatabase
from service.storage.events import Actor, Event, EventType, record_event
from service.storage.factors import StoredTotp, find_totp, use_recovery_code, use_totp
from service.storage.passkeys import find_holder, use_passkey
from service.storage.users import StoredUser

CODE_USED = "recovery_code_used"


@dataclass(frozen=True, slots=True)
class TotpCode:
    """The six digits that an app shows."""

    code: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RecoveryCode:
    """One of the codes that the user was asked to keep."""

    code: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class PasskeyAnswer:
    """A device's signature, within the flow in which it was requested."""

    flow_id: str
    assertion: Assertion


Proof = TotpCode | RecoveryCode | PasskeyAnswer
# Further writes in the transaction that spends a proof.
Also = Callable[[ProjectDatabase], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Judged:
    """A proof of this `kind` that may be right.

    `spend`, a part of a transaction, returns True for exactly one concurrent caller.
    """

    kind: str
    spend: Callable[[ProjectDatabase], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Attempt:
    """The user that brings a proof, and its client; `locale` is that of a notice."""

    project: Project
    user: StoredUser
    client: Client
    locale: str | None = None


async def use_proof(accounts: Accounts, attempt: Attempt, proof: Proof, also: Also | None = None) -> str:
    """Spends a proof and makes the writes of `also`, in one transaction. Returns its values for `amr`.

    Raises InvalidFactor for a wrong or a used one, and LimitExceeded after too many mistakes of the account, those with
    codes of mails among them. Each is counted before it is judged, so that no number of them at once are too many.
    """
    project = attempt.project
    taken = await count_mistake(
        accounts.flows.limits, project, name_account(accounts.flows.key, project.id, attempt.user.name)
    )
    try:
        judged = await _judge(accounts, attempt, proof)

        async def write(database: ProjectDatabase) -> None:
            if not await judged.spend(database):
                raise InvalidFactor
            if also is not None:
                await also(database)

        await project.database.in_transaction(write)
    except InvalidFactor as error:
        accounts.sessions.note_refusal(project, attempt.user.id, attempt.client, error)
        raise
    except BaseException:
        await uncount(accounts.flows.limits, taken)
        raise
    await uncount(accounts.flows.limits, taken)
    accounts.flows.wake()
    return SECOND[judged.kind]


async def _judge(accounts: Accounts, attempt: Attempt, proof: Proof) -> Judged:
    """Raises InvalidFactor."""
    match proof:
        case TotpCode():
            return await _judge_totp(accounts, attempt, proof)
        case RecoveryCode():
            return _judge_recovery_code(accounts, attempt, proof)
        case PasskeyAnswer():
            return await _judge_passkey(accounts, attempt, proof)


async def _judge_totp(accounts: Accounts, attempt: Attempt, proof: TotpCode) -> Judged:
    project, user_id = attempt.project, attempt.user.id
    totp = await find_totp(project.database, user_id)
    if totp is None:
        raise InvalidFactor
    step = find_step(_open_totp(accounts, project, totp), proof.code, time.time())
    if step is None:
        raise InvalidFactor

    async def spend(database: ProjectDatabase) -> bool:
        return await use_totp(database, user_id, totp, step, now())

    return Judged(TOTP, spend)


async def _judge_passkey(accounts: Accounts, attempt: Attempt, proof: PasskeyAnswer) -> Judged:
    project, user_id, answer = attempt.project, attempt.user.id, proof.assertion
    holder = await find_holder(project.database, answer.credential_id)
    if holder is None or holder.user.id != user_id:
        raise InvalidFactor
    try:
        use = await accounts.passkeys.judge(project, proof.flow_id, holder, answer)
    except AnswerRefused:
        raise InvalidFactor from None

    async def spend(database: ProjectDatabase) -> bool:
        return await use_passkey(database, user_id, holder.passkey, use, now())

    return Judged(PASSKEY, spend)


def _judge_recovery_code(accounts: Accounts, attempt: Attempt, proof: RecoveryCode) -> Judged:
    project, user, client = attempt.project, attempt.user, attempt.client
    digest = hash_code(proof.code)
    event = Event(EventType.RECOVERY_CODE_USED, user.id, Actor.USER, None, client.ip, client.user_agent)
    notice = Purpose(CODE_USED, user.name, user.id, locale=attempt.locale)

    async def spend(database: ProjectDatabase) -> bool:
        if not await use_recovery_code(database, user.id, digest):
            return False
        await accounts.flows.insert(project, notice, database)
        await record_event(database, event, project.settings.event_days)
        return True

    return Judged(RECOVERY_CODE, spend)


def _open_totp(accounts: Accounts, project: Project, totp: StoredTotp) -> str:
    """Raises InvalidFactor for a secret of another SECRET_KEY, which a restored user may have."""
    try:
        return accounts.flows.secret_box.open(totp.sealed, place_of_totp(project.id, totp.id))
    except ConfigurationError:
        raise InvalidFactor from None

"""Adds second factors: for a signed-in user, or on the way to a session where the project asks for one."""

import time
from dataclasses import dataclass, field, replace

from service.bounds import MAX_PASSKEYS
from service.domain.access.caller import UserCaller
from service.domain.accounts import Accounts, factor_codes
from service.domain.accounts.changes import Author, First
from service.domain.accounts.factor_codes import hash_codes, new_codes
from service.domain.accounts.own_factors import NOTICE
from service.domain.accounts.passkeys import Asked, find_party
from service.domain.accounts.users import OpenedSession, sign_in
from service.domain.mail_flows.flows import TRIES
from service.domain.projects.lookup import Project
from service.domain.projects.secrets import place_of_totp
from service.domain.sessions.admission import SECOND, is_current
from service.domain.sessions.pending import ENROLMENT, LIFE, NEW_PASSKEY, Pending, Recognized
from service.domain.sessions.sessions import Client
from service.errors import (
    AccountDisabled,
    DuplicateValue,
    FactorExists,
    FactorLimit,
    FactorsOff,
    InvalidCode,
    InvalidToken,
    StepUpRequired,
)
from service.passkeys.answers import AnswerRefused, PasskeyRegistration
from service.schema.values import now
from service.storage.account_states import PASSKEY, TOTP, AccountState
from service.storage.accounts import Account, AccountChange, AddedPasskey, AddedTotp
from service.storage.databases import ProjectDatabase
from service.storage.factors import Factor, find_owner
from service.storage.flows import new_record
from service.storage.ids import new_id
from service.storage.users import Owner

ENROL_TOTP = "enrol_totp"
TOTP_NAME, PASSKEY_NAME = "Authenticator app", "Passkey"


@dataclass(frozen=True, slots=True)
class Enrollee:
    """A user who may add a factor: a `caller` who was recognized a short while ago, or one whose sign-in is `pending`.

    `amr` are the ways in which the user was recognized, `version` is the user's, as it was then.
    """

    project: Project
    owner: Owner
    version: int
    amr: tuple[str, ...]
    caller: UserCaller | None = None
    pending: Pending | None = None

    @property
    def replaces(self) -> str | None:
        """The session that ends when there is one with the factor."""
        if self.caller is not None:
            return self.caller.sid
        return self.pending.recognized.replaces if self.pending is not None else None


@dataclass(frozen=True, slots=True)
class NewTotp:
    """A secret for the user's app. It counts as a factor once the user has sent one of its codes."""

    id: str
    secret: str = field(repr=False)
    uri: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """The answer of the user's browser, and the user's name for the device."""

    registration: PasskeyRegistration
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A session with the new factor, which is shown; and the recovery codes, with the first factor."""

    signed_in: OpenedSession
    factor: Factor
    recovery_codes: list[str] | None = field(repr=False)


async def find_by_caller(accounts: Accounts, caller: UserCaller) -> Enrollee:
    """Raises InvalidToken, FactorsOff."""
    _check_on(caller.project)
    owner = await find_owner(caller.project.database, caller.user_id)
    if owner is None or not caller.is_in_force(owner.user):
        raise InvalidToken
    session = await accounts.sessions.find_own(caller)
    amr = session.amr if session is not None else ()
    return Enrollee(caller.project, owner, caller.version, amr, caller=caller)


async def find_by_flow(accounts: Accounts, project: Project, flow_id: str) -> Enrollee:
    """Raises InvalidCode, also where the user has a factor by now, FactorsOff."""
    _check_on(project)
    pending = await accounts.sessions.pending.find(project, ENROLMENT, flow_id)
    if pending is None:
        raise InvalidCode
    recognized = pending.recognized
    owner = await find_owner(project.database, recognized.user_id)
    if owner is None or owner.state.factors:
        raise InvalidCode
    if not is_current(owner.state, owner.user.version, since=recognized.version):
        raise InvalidCode
    return Enrollee(project, owner, recognized.version, recognized.amr, pending=pending)


async def begin_totp(accounts: Accounts, enrollee: Enrollee, name: str | None) -> NewTotp:
    """A secret, good for LIFE. Raises FactorExists."""
    _check_new(enrollee.owner.state, TOTP)
    project, owner, factor_id = enrollee.project, enrollee.owner, new_id()
    secret, moment = factor_codes.new_secret(), now()
    record = new_record(
        _name(factor_id),
        project_id=project.id,
        purpose=ENROL_TOTP,
        account="",
        created_at=moment,
        expires_at=moment + LIFE,
    )
    sealed = accounts.flows.secret_box.seal(secret, place_of_totp(project.id, factor_id))
    state = {"sealed": sealed, "name": name or TOTP_NAME}
    await accounts.flows.store.insert(record | {"user_id": owner.user.id, "left": TRIES, "state": state})
    return NewTotp(factor_id, secret, factor_codes.describe(secret, project.name, owner.user.name))


async def confirm_totp(
    accounts: Accounts, enrollee: Enrollee, factor_id: str, code: str, client: Client, locale: str | None
) -> Enrolled:
    """Raises InvalidCode, InvalidToken, FactorExists, StepUpRequired, AccountDisabled, EmailNotVerified."""
    project, user = enrollee.project, enrollee.owner.user
    match = {"_id": _name(factor_id), "project_id": project.id, "purpose": ENROL_TOTP, "user_id": user.id}
    record = await accounts.flows.store.take_try(match, now())
    if record is None:
        raise InvalidCode
    sealed = record["state"]["sealed"]
    step = factor_codes.find_step(
        accounts.flows.secret_box.open(sealed, place_of_totp(project.id, factor_id)), code, time.time()
    )
    if step is None:
        raise InvalidCode
    moment = now()
    factor = Factor(factor_id, TOTP, record["state"]["name"], moment, moment)

    async def spend(database: ProjectDatabase) -> None:
        if not await accounts.flows.store.spend(record["_id"], moment, database.session):
            raise InvalidCode

    # The code that confirms the secret is used by that.
    added = AddedTotp(factor, sealed, step)
    return await _finish(accounts, enrollee, added, spend, client, locale)


async def begin_passkey(accounts: Accounts, enrollee: Enrollee) -> Asked:
    """In the flow of the sign-in that waits, or in one of its own. Raises InvalidCode, ConfigurationMissing."""
    project, user, pending = enrollee.project, enrollee.owner.user, enrollee.pending
    find_party(project)
    if pending is not None:
        flow_id = pending.flow_id
    else:
        recognized = Recognized(user.id, enrollee.version, (), enrollee.replaces)
        flow_id = await accounts.sessions.pending.begin(project, NEW_PASSKEY, recognized)
    return Asked(flow_id, await accounts.passkeys.ask_to_create(project, user, flow_id))


async def add_passkey(
    accounts: Accounts, enrollee: Enrollee, flow_id: str, answer: NewPasskey, client: Client, locale: str | None
) -> Enrolled:
    """Raises as `confirm_totp`, but FactorExists; FactorLimit, ConfigurationMissing."""
    project, user = enrollee.project, enrollee.owner.user
    asked = enrollee.pending or await accounts.sessions.pending.take_try(project, NEW_PASSKEY, flow_id)
    if asked is None or (asked.recognized.user_id, asked.recognized.version) != (user.id, enrollee.version):
        raise InvalidCode
    try:
        passkey = await accounts.passkeys.register(project, flow_id, answer.registration)
    except AnswerRefused:
        raise InvalidCode from None
    factor = Factor(new_id(), PASSKEY, answer.name or PASSKEY_NAME, now())

    async def spend(database: ProjectDatabase) -> None:
        if enrollee.pending is None and not await accounts.sessions.pending.spend(asked, database):
            raise InvalidCode

    try:
        return await _finish(accounts, enrollee, AddedPasskey(factor, passkey), spend, client, locale)
    except DuplicateValue:
        # The device is in use already; browsers leave out those that are the user's own.
        raise InvalidCode from None


async def _finish(
    accounts: Accounts,
    enrollee: Enrollee,
    added: AddedTotp | AddedPasskey,
    spend: First,
    client: Client,
    locale: str | None,
) -> Enrolled:
    """Adds a factor, and opens a session in the place of that by which it was added.

    Recovery codes come with the first factor. Raises as `confirm_totp` and `spend`, a part of the transaction.
    """
    project, owner, sid, codes = enrollee.project, enrollee.owner, enrollee.replaces, new_codes()

    async def spend_both(database: ProjectDatabase) -> None:
        await spend(database)
        if enrollee.pending is not None and not await accounts.sessions.pending.spend(enrollee.pending, database):
            raise InvalidCode

    def decide(account: Account) -> AccountChange:
        _check_place(enrollee, account, added)
        return AccountChange(added_factor=added, recovery=None if account.factors else hash_codes(codes))

    author = Author(client=client, sid=sid, locale=locale, caller=enrollee.caller)
    changed = await accounts.changes.apply(project, owner.user.id, decide, author, notice=NOTICE, first=spend_both)
    version = changed.version
    if sid is not None:
        ended = await accounts.sessions.end_replaced(project, owner.user.id, sid, version)
        if ended is None:
            raise InvalidToken
        version = ended
    amr = tuple(dict.fromkeys((*enrollee.amr, SECOND[added.factor.type])))
    user = replace(owner.user, version=version)
    signed_in = await sign_in(accounts, project, user, client, owner.state, amr=amr)
    return Enrolled(signed_in, added.factor, None if changed.before.factors else codes)


def _check_place(enrollee: Enrollee, account: Account, added: AddedTotp | AddedPasskey) -> None:
    """By the account as the transaction that adds a factor reads it. Raises as `confirm_totp`."""
    state, caller, kind = account.state, enrollee.caller, added.factor.type
    if state.disabled:
        raise AccountDisabled
    if account.user.version != enrollee.version or (enrollee.pending is not None and state.factors):
        raise InvalidCode
    _check_new(state, kind)
    if caller is not None and caller.aal < 2 and state.factors:
        raise StepUpRequired
    if sum(each.type == kind for each in account.factors) >= MAX_PASSKEYS:
        raise FactorLimit


def _check_on(project: Project) -> None:
    if project.settings.mfa == "off":
        raise FactorsOff


def _check_new(state: AccountState, kind: str) -> None:
    """There may be several of the other kinds."""
    if kind == TOTP and kind in state.factors:
        raise FactorExists


def _name(factor_id: str) -> str:
    return f"totp:{factor_id}"

"""An account as its transaction reads it, and its change: the user, and all fields beside `data`. Owners of addresses."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from service.passkeys.answers import Passkey
from service.storage.account_states import PASSKEY, TOTP, AccountState, read_state
from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.factors import Factor, read_listed
from service.storage.identities import OwnIdentity, read_identity
from service.storage.users import STATE, Identity, StoredUser, read_user

# The begin of a hash. A text of another form matches no password, such as the address of a provider's user.
HASH = re.compile(r"\$(?:2|argon2|scrypt\$|fbscrypt\$|pbkdf2-)")


@dataclass(frozen=True, slots=True)
class Account:
    """`recovery` has the digests of the recovery codes; `stored` is the record, for `account_writes` and for answers."""

    user: StoredUser
    state: AccountState
    password: str = field(repr=False)
    factors: tuple[Factor, ...]
    recovery: tuple[str, ...] = field(repr=False)
    identities: tuple[OwnIdentity, ...]
    subject: str | None
    stored: Document = field(repr=False)

    @property
    def has_password(self) -> bool:
        return HASH.match(self.password) is not None

    def has_way_without(self, gone: Factor | Identity) -> bool:
        """True if a password, an identity or a passkey is left to sign in by; a mail does not count (SP 800-63B-4
        3.1.3.1).
        """
        passkeys = [each for each in self.factors if each.type == PASSKEY and each != gone]
        identities = [each for each in self.identities if each.identity != gone]
        return self.has_password or bool(passkeys or identities) or (isinstance(gone, Factor) and gone.type == TOTP)

    @property
    def was_ever_proven(self) -> bool:
        """True where this address, or an earlier one that the account had, was proven: the record has the field since."""
        return self.state.email_verified or "email_verified" in self.stored


@dataclass(frozen=True, slots=True)
class AddedTotp:
    """A sealed secret, of which the code of `step` is used already."""

    factor: Factor
    sealed: str = field(repr=False)
    step: int


@dataclass(frozen=True, slots=True)
class AddedPasskey:
    """A passkey, under the name that its user gives the device."""

    factor: Factor
    passkey: Passkey


@dataclass(frozen=True, slots=True)
class AccountChange:
    """The parts of an account to replace; None leaves a part as it is, and `data` sets fields of the profile.

    `password` is a hash, or the address, which no password matches. Another password ends all sessions, as disabling and
    `ends_sessions` do. With an `email` an anonymous user has an account. With `signs_in` the added identity is the one that
    the user signs in by at this moment.
    """

    data: Mapping[str, Any] | None = None
    password: str | None = field(default=None, repr=False)
    email: str | None = None
    email_verified: bool | None = None
    disabled: bool | None = None
    claims: Mapping[str, Any] | None = None
    roles: Sequence[str] | None = None
    added_factor: AddedTotp | AddedPasskey | None = None
    removed_factors: Sequence[Factor] = ()
    recovery: Sequence[str] | None = field(default=None, repr=False)
    added_identity: Identity | None = None
    signs_in: bool = False
    removed_identities: Sequence[Identity] = ()
    ends_sessions: bool = False


async def find_account(database: ProjectDatabase, user_id: str) -> Account | None:
    """Reads the whole record, so that a write of the same transaction conflicts with every change since."""
    record = await database.records("users").find({"_id": user_id})
    return None if record is None else read_account(database, record)


def _read_state(record: Document) -> AccountState:
    """The state of a whole record, be it from before or after `migrations.verify_asserted_addresses`."""
    state = read_state(record)
    if "email_verified" in record or not is_asserted(record):
        return state
    return replace(state, email_verified=True, email_asserted=True)


def is_asserted(record: Document) -> bool:
    """True if a provider made the account with its address, or asserts the address of a linked identity."""
    if any(each.get("email") == record.get("email") for each in record.get("identities", ())):
        return True
    return "oauth_id" in record and not HASH.match(record.get("password", ""))


def read_account(database: ProjectDatabase, record: Document) -> Account:
    """The account of a whole record, which stays as it is stored."""
    return Account(
        user=read_user(database, {**record, "data": dict(record["data"])}),
        state=_read_state(record),
        password=record.get("password", ""),
        factors=tuple(read_listed(record)),
        recovery=tuple(record.get("recovery", ())),
        identities=tuple(read_identity(each) for each in record.get("identities", ())),
        subject=record.get("oauth_id"),
        stored=record,
    )


@dataclass(frozen=True, slots=True)
class AddressOwner:
    """The user with an address."""

    id: str
    email: str
    is_confirmed: bool


async def find_address_owner(database: ProjectDatabase, email: str) -> AddressOwner | None:
    record = await database.records("users").find({"email": email}, {"email": 1, **STATE})
    return None if record is None else AddressOwner(record["_id"], record["email"], read_state(record).is_confirmed)

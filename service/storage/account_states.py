"""The state of an account beside its profile, out of reach of a user's bodies: for sign-ins and administrators."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service.storage.client import Document

# A record has each of these only where it was set.
STATE_FIELDS = ("disabled", "email_verified", "email_asserted", "claims")
# Further fields that decide a sign-in; of factors only their presence.
FACTOR_FIELDS = ("totp.id", "passkeys.id", "recovery", "roles")
# Factors are named as the methods of a sign-in are.
TOTP, PASSKEY, RECOVERY_CODE = "totp", "passkey", "recovery_code"


@dataclass(frozen=True, slots=True)
class AccountState:
    """`email_verified` says that the address is proven; with `email_asserted` a provider alone has said so.

    `claims` are what the project's servers had put into the user's tokens.

    The last three are known where FACTOR_FIELDS were read: the kinds of second factors that the user has, how many recovery
    codes are left, and the user's roles.
    """

    disabled: bool = False
    email_verified: bool = False
    claims: Mapping[str, Any] = field(default_factory=dict)
    factors: tuple[str, ...] = ()
    recovery_codes: int = 0
    roles: tuple[str, ...] = ()
    email_asserted: bool = False

    @property
    def is_confirmed(self) -> bool:
        """True if a mail or a server has proven the address; by less no other identity is joined to the account."""
        return self.email_verified and not self.email_asserted


NEW_ACCOUNT = AccountState()


def read_state(record: Document) -> AccountState:
    """The state that a record with STATE_FIELDS has, and FACTOR_FIELDS perhaps."""
    return AccountState(
        disabled=record.get("disabled", False),
        email_verified=record.get("email_verified", False),
        claims=record.get("claims", {}),
        factors=read_factors(record),
        recovery_codes=len(record.get("recovery", ())),
        roles=tuple(record.get("roles", ())),
        email_asserted=record.get("email_asserted", False),
    )


def read_factors(record: Document) -> tuple[str, ...]:
    """The kinds of second factors that a record with FACTOR_FIELDS has."""
    return tuple(kind for kind, field_ in ((TOTP, "totp"), (PASSKEY, "passkeys")) if record.get(field_))


def write_state(state: AccountState) -> Document:
    """The fields of a new record; those that say nothing are left out."""
    fields = {name: getattr(state, name) for name in STATE_FIELDS} | {"roles": list(state.roles)}
    return {name: value for name, value in fields.items() if value}

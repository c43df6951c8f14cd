"""The state of an account beside its profile, out of reach of a user's bodies: for sign-ins and administrators."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service.storage.client import Document

# A record has each of these only where it was set.
STATE_FIELDS = ("disabled", "email_verified", "claims")
# Further fields that decide a sign-in; of factors only their presence.
FACTOR_FIELDS = ("totp.id", "passkeys.id", "recovery", "roles")
# Fields that show if the user's address is proven.
PROOF_FIELDS = ("email_verified", "oauth_id", "identities.email")
# Factors are named as the methods of a sign-in are.
TOTP, PASSKEY, RECOVERY_CODE = "totp", "passkey", "recovery_code"


@dataclass(frozen=True, slots=True)
class AccountState:
    """`claims` are what the project's servers had put into the user's tokens.

    The last three are known where FACTOR_FIELDS were read: the kinds of second factors that the user has, how many recovery
    codes are left, and the user's roles.
    """

    disabled: bool = False
    email_verified: bool = False
    claims: Mapping[str, Any] = field(default_factory=dict)
    factors: tuple[str, ...] = ()
    recovery_codes: int = 0
    roles: tuple[str, ...] = ()


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
    )


def has_proven_email(record: Document) -> bool:
    """True if a mail, a server or a provider has proven the user's address, by a record with PROOF_FIELDS.

    Users sign in by a provider only with an address that it has verified. An account made so has the provider's subject
    and its address, until `email_verified` is written for another one.
    """
    if record.get("email_verified"):
        return True
    asserted = (each.get("email") for each in record.get("identities", ()))
    return record["email"] in asserted or ("oauth_id" in record and "email_verified" not in record)


def read_factors(record: Document) -> tuple[str, ...]:
    """The kinds of second factors that a record with FACTOR_FIELDS has."""
    return tuple(kind for kind, field_ in ((TOTP, "totp"), (PASSKEY, "passkeys")) if record.get(field_))


def write_state(state: AccountState) -> Document:
    """The fields of a new record; those that say nothing are left out."""
    fields = {name: getattr(state, name) for name in STATE_FIELDS} | {"roles": list(state.roles)}
    return {name: value for name, value in fields.items() if value}

"""What is kept of an account beside its profile, where no body of a user's reaches: for sign-ins and administrators."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service.storage.client import Document

# A record has each of these only where it was set.
STATE_FIELDS = ("disabled", "email_verified", "claims")


@dataclass(frozen=True, slots=True)
class AccountState:
    """`claims` are what the project's servers had put into the user's tokens."""

    disabled: bool = False
    email_verified: bool = False
    claims: Mapping[str, Any] = field(default_factory=dict)


NEW_ACCOUNT = AccountState()


def read_state(record: Document) -> AccountState:
    """The state that a record with STATE_FIELDS has."""
    return AccountState(
        disabled=record.get("disabled", False),
        email_verified=record.get("email_verified", False),
        claims=record.get("claims", {}),
    )


def write_state(state: AccountState) -> Document:
    """The fields of a new record; those that say nothing are left out."""
    fields = {name: getattr(state, name) for name in STATE_FIELDS}
    return {name: value for name, value in fields.items() if value}

"""An operator and its session, as the rest of the service sees them: without password and secrets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from service.domain.access.caller import AdminCaller
from service.domain.permissions import EVERY, Role
from service.storage.operator_sessions import FULL, ID_LENGTH

FACTOR, ENROL = "factor", "enrol"
# A session is confirmed for so long after its password, and its factor, were shown.
CONFIRMED = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class OperatorFactor:
    """The authenticator app of an operator."""

    created_at: datetime
    codes_left: int


@dataclass(frozen=True, slots=True)
class Operator:
    """One of the people who run the deployment. `roles` are by project, `*` for all of them."""

    id: str
    email: str
    name: str
    roles: Mapping[str, Role]
    version: int
    created_at: datetime
    disabled: bool = False
    factor: OperatorFactor | None = None
    last_seen_at: datetime | None = None

    @property
    def is_owner(self) -> bool:
        return self.roles.get(EVERY) == "owner"


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """A session of the console: `hash` is that of its cookie, `now` MongoDB's time as it was read."""

    hash: str = field(repr=False)
    stage: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    confirmed_at: datetime | None
    now: datetime
    ip: str
    user_agent: str

    @property
    def id(self) -> str:
        return self.hash[:ID_LENGTH]

    @property
    def confirmed_until(self) -> datetime | None:
        return self.confirmed_at + CONFIRMED if self.confirmed_at is not None and self.stage == FULL else None

    @property
    def is_confirmed(self) -> bool:
        return self.confirmed_until is not None and self.confirmed_until > self.now


@dataclass(frozen=True, slots=True)
class SessionCaller(AdminCaller):
    """An operator at the console, as the session of the cookie proves."""

    operator: Operator = field(kw_only=True)
    session: OperatorSession = field(kw_only=True)


def read_operator(record: Mapping[str, Any], codes_left: int | None = None) -> Operator:
    """`codes_left` is counted by MongoDB where the codes themselves were not read."""
    totp = record.get("totp")
    left = len(record.get("recovery", ())) if codes_left is None else codes_left
    return Operator(
        id=record["_id"],
        email=record["email"],
        name=record["name"],
        roles=record["roles"],
        version=record["version"],
        created_at=record["created_at"],
        disabled=record.get("disabled", False),
        factor=OperatorFactor(totp["created_at"], left) if totp else None,
        last_seen_at=record.get("last_seen_at"),
    )


def read_session(record: Mapping[str, Any], now: datetime) -> OperatorSession:
    return OperatorSession(
        hash=record["_id"],
        stage=record["stage"],
        created_at=record["created_at"],
        last_seen_at=record["last_seen_at"],
        expires_at=record["expires_at"],
        confirmed_at=record.get("confirmed_at"),
        now=now,
        ip=record["ip"],
        user_agent=record["user_agent"],
    )

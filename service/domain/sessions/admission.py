"""Decides if a sign-in becomes a session. Pure; every way to sign in asks it, after the credential was found right."""

from collections.abc import Iterable
from dataclasses import dataclass

from service.domain.projects.settings import ProjectSettings
from service.errors import AccountDisabled, EmailNotVerified
from service.storage.account_states import PASSKEY, RECOVERY_CODE, TOTP, AccountState
from service.storage.sessions import ANONYMOUS

# Ways in which a user is recognized (RFC 8176 where it has a name for them).
PASSWORD, PROVIDER, EMAIL = ("pwd",), ("idp",), ("email",)
# Methods of second factors. A passkey, which asks its user for a PIN or a finger, is one alone.
SECOND = {TOTP: "otp", PASSKEY: "pop", RECOVERY_CODE: "rec"}
# Ways that show whose address it is.
PROVES_EMAIL = frozenset((*PROVIDER, *EMAIL))


@dataclass(frozen=True, slots=True)
class Admitted:
    """There is a session, of this level."""

    aal: int


@dataclass(frozen=True, slots=True)
class NeedsFactor:
    """The session needs a second factor: one of these `methods`."""

    methods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NeedsEnrolment:
    """The session needs a second factor, and the user must add one first."""


Decision = Admitted | NeedsFactor | NeedsEnrolment


def decide(settings: ProjectSettings, state: AccountState, amr: Iterable[str]) -> Decision:
    """The decision about a user recognized by the methods `amr`. Raises AccountDisabled, EmailNotVerified.

    Called too early, it would reveal to strangers facts that only the owner of a credential may learn.
    """
    ways = tuple(amr)
    if state.disabled:
        raise AccountDisabled
    if ways == ANONYMOUS:
        # There is nothing to prove, and nothing to enrol.
        return Admitted(1)
    must_prove = settings.email_verification == "required"
    if must_prove and not state.email_verified and PROVES_EMAIL.isdisjoint(ways):
        raise EmailNotVerified
    if level_of(ways) > 1:
        return Admitted(level_of(ways))
    if has_factors(settings, state):
        return NeedsFactor(methods_of(state))
    return NeedsEnrolment() if must_enrol(settings, state) else Admitted(1)


def is_current(state: AccountState, version: int, *, since: int) -> bool:
    """True if a user recognized at the version `since`, with `version` now, may still go on to a session.

    Another password ends all pending sign-ins. Disabling raises the version as well: then the next credential is judged
    first, so that its owner alone learns that the account is disabled.
    """
    return version <= since + int(state.disabled)


def level_of(amr: Iterable[str]) -> int:
    """2 for a passkey, or for a first and a second factor: a second one is only asked for after a first one."""
    return 1 if set(SECOND.values()).isdisjoint(amr) else 2


def has_factors(settings: ProjectSettings, state: AccountState) -> bool:
    """True if the user has factors and the project asks for them."""
    return settings.mfa != "off" and bool(state.factors)


def methods_of(state: AccountState) -> tuple[str, ...]:
    """The user's second factors. Never mail, which resets the password as well."""
    return (*state.factors, *((RECOVERY_CODE,) if state.recovery_codes else ()))


def must_enrol(settings: ProjectSettings, state: AccountState) -> bool:
    """True if the project lets the user in with a second factor only."""
    if settings.mfa == "off":
        return False
    if settings.mfa_roles:
        return not set(settings.mfa_roles).isdisjoint(state.roles)
    return settings.mfa == "required"

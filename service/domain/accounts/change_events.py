"""The events of a change, found by comparing the account before and after: no change of a part goes without its event. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from service.storage.accounts import Account, AccountChange
from service.storage.events import EventType


@dataclass(frozen=True, slots=True)
class Fact:
    """One event of a change, without its actor. `detail` has no secrets."""

    type: EventType
    detail: Mapping[str, Any] = field(default_factory=dict)


def find_facts(before: Account, after: Account, change: AccountChange) -> list[Fact]:
    """One fact for each difference. Sessions that end with another change are no fact of their own."""
    facts = [fact for compare in COMPARISONS for fact in compare(before, after)]
    return [*facts, Fact(EventType.SESSIONS_ENDED)] if change.ends_sessions else facts


def _compare_email(before: Account, after: Account) -> Iterator[Fact]:
    """`email_changed` alone stands for an address that is unproven because it is another one."""
    old, new = before.user.email, after.user.email
    was, is_ = before.state.is_confirmed, after.state.is_confirmed
    if old != new:
        yield Fact(EventType.EMAIL_CHANGED, {"before": old, "after": new})
    if was != is_ and (is_ or old == new):
        yield Fact(EventType.EMAIL_VERIFIED, {"before": was, "after": is_})


def _compare_password(before: Account, after: Account) -> Iterator[Fact]:
    if before.password != after.password and (before.has_password or after.has_password):
        yield Fact(EventType.PASSWORD_CHANGED)


def _compare_state(before: Account, after: Account) -> Iterator[Fact]:
    if before.state.disabled != after.state.disabled:
        yield Fact(EventType.USER_DISABLED if after.state.disabled else EventType.USER_ENABLED)
    if before.state.claims != after.state.claims:
        yield Fact(EventType.CLAIMS_CHANGED)
    if before.state.roles != after.state.roles:
        yield Fact(EventType.ROLES_CHANGED, {"before": list(before.state.roles), "after": list(after.state.roles)})


def _compare_factors(before: Account, after: Account) -> Iterator[Fact]:
    """The first factor comes with recovery codes, and the last one takes them along."""
    old, new = {each.id for each in before.factors}, {each.id for each in after.factors}
    yield from (Fact(EventType.FACTOR_ADDED, {"type": each.type}) for each in after.factors if each.id not in old)
    yield from (Fact(EventType.FACTOR_REMOVED, {"type": each.type}) for each in before.factors if each.id not in new)
    if set(after.recovery) - set(before.recovery) and not new - old:
        yield Fact(EventType.RECOVERY_CODES_MADE)


def _compare_identities(before: Account, after: Account) -> Iterator[Fact]:
    """An identity that signs in as it is added was joined by rule; one that was linked by hand has not been used."""
    old, new = {each.id for each in before.identities}, {each.id for each in after.identities}
    for each in after.identities:
        if each.id not in old:
            provider = {} if each.last_used_at else {"provider": each.identity.provider}
            yield Fact(EventType.IDENTITY_LINKED, {"issuer": each.identity.issuer, **provider})
    for each in before.identities:
        if each.id not in new:
            detail = {"issuer": each.identity.issuer, "provider": each.identity.provider}
            yield Fact(EventType.IDENTITY_REMOVED, detail)


COMPARISONS = (_compare_email, _compare_password, _compare_state, _compare_factors, _compare_identities)

"""The first proof of an account's address. Pure, but for `dead_code`.

Anybody can sign up with an address, choose a password, add a second factor and link an identity, and wait for the owner
of the address. So the reader of a mail who proves it first takes the account over: its earlier credentials go.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from service.domain.accounts.changes import Author
from service.domain.mail_flows.purposes import Flow
from service.domain.projects.settings import ProjectSettings
from service.domain.sessions.admission import has_factors
from service.errors import InvalidCode, UserNotFound
from service.storage.accounts import Account, AccountChange

BY_MAIL = Author(by="mail")


def take_over(account: Account, password: str | None = None) -> AccountChange:
    """Proves the address, and sets the `password`, a hash.

    An account that never had a proven address loses the password, the sessions, the factors and the identities; one
    whose address a server has changed since, the password and the sessions.
    """
    if account.state.email_verified or not (account.has_password or account.factors or account.identities):
        return AccountChange(email_verified=True, password=password)
    # The address matches no password, and another password ends all sessions.
    void = password or account.user.email
    if account.was_ever_proven:
        return AccountChange(email_verified=True, password=void)
    identities = tuple(each.identity for each in account.identities)
    return AccountChange(
        email_verified=True, password=void, removed_factors=account.factors, removed_identities=identities
    )


def asks_factor(settings: ProjectSettings, account: Account) -> bool:
    """True if a mail is not enough: the reader of the mails may have nothing but the mails."""
    return account.was_ever_proven and has_factors(settings, account.state)


def require_address(account: Account, flow: Flow) -> None:
    """Raises InvalidCode where the account has another address than the one that was mailed."""
    if account.user.email != flow.address:
        raise InvalidCode


@contextmanager
def dead_code() -> Iterator[None]:
    """Raises InvalidCode if the flow's user is gone, or never existed."""
    try:
        yield
    except UserNotFound:
        raise InvalidCode from None

"""Joins an identity to an account that is there. The account's old password and sessions end with that."""

from dataclasses import replace

from service.bounds import MAX_IDENTITIES
from service.domain.accounts.changes import Author, Changes
from service.domain.projects.lookup import Project
from service.storage.accounts import Account, AccountChange
from service.storage.identities import ExistingUser
from service.storage.users import Identity

NOTICE = "password_changed"


class Joining:
    """Joins where the provider is the authority for the address, and the address was proven to this service as well."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def join(self, project: Project, user: ExistingUser, identity: Identity, email: str) -> ExistingUser | None:
        """The user afterwards; None where the account is not any more what it was decided by.

        A scanner of mails, or a careless click, may have proven the address of an account that a stranger planted: so its
        sessions end, its password is void until it is reset by mail, and so are codes and links of mails. Raises
        DuplicateValue where another user has the identity by now, UserNotFound.
        """

        def decide(account: Account) -> AccountChange | None:
            if not _may_join(account, user, email):
                return None
            # The address matches no password.
            return AccountChange(password=email, added_identity=identity, signs_in=True)

        changed = await self._changes.apply(project, user.id, decide, Author(), notice=NOTICE)
        if changed.after is changed.before:
            return None
        return replace(user, oauth_id=identity.subject, version=changed.version, has_identity=True)


def _may_join(account: Account, user: ExistingUser, email: str) -> bool:
    """True if the account is still as it was found, with a proven address and no second factor."""
    state = account.state
    return (
        (account.user.email, account.user.version) == (email, user.version)
        and state.is_confirmed
        and not state.disabled
        and not account.factors
        and account.subject is None
        and len(account.identities) < MAX_IDENTITIES
    )

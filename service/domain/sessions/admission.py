"""Whether a sign-in may become a session. Pure; every way to sign in asks it, after the credential was found right."""

from service.errors import AccountDisabled
from service.storage.account_states import AccountState


def decide_sign_in(state: AccountState) -> None:
    """Raises AccountDisabled. Asked too early, it would tell strangers what only the owner of a credential may learn."""
    if state.disabled:
        raise AccountDisabled

"""Whether a sign-in may become a session. Pure; every way to sign in asks it, after the credential was found right."""

from service.domain.projects.settings import ProjectSettings
from service.errors import AccountDisabled, EmailNotVerified
from service.storage.account_states import AccountState


def decide_sign_in(settings: ProjectSettings, state: AccountState, *, proves_email: bool = False) -> None:
    """Raises AccountDisabled, EmailNotVerified. A way that `proves_email` is one by which the address is known to be good.

    Asked too early, it would tell strangers what only the owner of a credential may learn.
    """
    if state.disabled:
        raise AccountDisabled
    if settings.email_verification == "required" and not (state.email_verified or proves_email):
        raise EmailNotVerified

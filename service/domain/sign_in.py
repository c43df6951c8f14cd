"""Sign-in through an identity provider: who may come in, and as whom."""

from dataclasses import dataclass

from service.domain.emails import normalize_email
from service.errors import EmailHasPassword, NoEmailProvided, SignInFailed
from service.providers import Profile


@dataclass(frozen=True, slots=True)
class Known:
    """A user of the project as the decision needs it; `oauth_id` is None for one who registered with a password."""

    id: str
    oauth_id: str | None


@dataclass(frozen=True, slots=True)
class LogIn:
    user_id: str


@dataclass(frozen=True, slots=True)
class Create:
    """A user to make; `email` is in the form in which e-mails are stored."""

    email: str
    oauth_id: str
    name: str | None


def verified_email(profile: Profile) -> str:
    """The address of `profile` in its stored form.

    Raises NoEmailProvided, and SignInFailed unless the provider sent exactly `true` for `email_verified`: some let
    people write any address into their profile ("nOAuth"), and `"false"` is a true value in most languages.
    """
    if profile.email is None:
        raise NoEmailProvided("the profile has no e-mail address")
    if profile.email_verified is not True:
        raise SignInFailed("the provider has not verified the e-mail address")
    try:
        return normalize_email(profile.email)
    except ValueError:
        raise SignInFailed("the profile's e-mail address is malformed") from None


def decide(profile: Profile, *, by_subject: Known | None, by_email: Known | None) -> LogIn | Create:
    """What a profile leads to, given the user who has its subject and the one who has its e-mail (specification 5.2).

    The subject decides alone: people change addresses, and an address can pass to another person (OpenID Connect Core
    1.0 section 5.7). Raises NoEmailProvided, EmailHasPassword, and SignInFailed for every other refusal.
    """
    email = verified_email(profile)
    if by_subject is not None:
        return LogIn(by_subject.id)
    if by_email is None:
        return Create(email, profile.subject, profile.name)
    if by_email.oauth_id is None:
        raise EmailHasPassword("the e-mail address belongs to a user with a password")
    raise SignInFailed("the e-mail address belongs to another subject of the provider")

"""Sign-ins through an identity provider: decides if they succeed, and as which user, and acts on the decision."""

import math
import secrets
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from slugify import slugify

from service.bounds import MAX_IDENTITIES
from service.domain.accounts import Accounts
from service.domain.accounts.changes import Author, Changes
from service.domain.accounts.emails import normalize_email
from service.domain.profiles.profiles import ProfileDraft
from service.domain.projects.lookup import Project
from service.domain.projects.providers import DEFAULT
from service.errors import DuplicateValue, EmailHasPassword, NoEmailProvided, SignInFailed, Unavailable, UsernameTaken
from service.providers import ProviderProfile, Registration
from service.schema.strict_json import INT64_MAX, INT64_MIN
from service.schema.user_names import is_name
from service.schema.values import now
from service.storage.account_states import AccountState
from service.storage.accounts import Account, AccountChange
from service.storage.identities import ExistingUser, Identities
from service.storage.ids import new_id
from service.storage.users import Identity, NewUser, StoredUser

# The second look finds a user created by a faster request; a third is for a user that was deleted in between.
ATTEMPTS = 3
NOTICE = "password_changed"
MAX_TEXT = 2_048
MAX_USERNAME = 64
ID_LETTERS = 8
# Characters of a name that is unique, with room for a number.
MAX_NUMBERED = 24
# Characters that are read of a longer name.
MAX_READ = 256
# Without these an apostrophe would part a word in two: "o_neill".
APOSTROPHES = (("'", ""), ("\u2019", ""))


@dataclass(frozen=True, slots=True)
class UseExisting:
    user: ExistingUser


@dataclass(frozen=True, slots=True)
class Join:
    """An account to which the identity is joined, whose owner the provider knows."""

    user: ExistingUser


@dataclass(frozen=True, slots=True)
class CreateUser:
    """A user to make; `email` is in the form in which e-mails are stored."""

    email: str
    oauth_id: str
    name: str | None
    claims: Mapping[str, Any] = field(default_factory=dict)


def verified_email(profile: ProviderProfile) -> str:
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


def decide(
    profile: ProviderProfile,
    email: str,
    *,
    by_subject: ExistingUser | None,
    by_email: ExistingUser | None,
    links: bool = False,
) -> UseExisting | CreateUser | Join:
    """Decides a sign-in with the verified `email`, given the users with its subject and its e-mail (specification 5.2).

    The subject decides alone: people change addresses, and an address can pass to another person (OpenID Connect Core
    1.0 section 5.7). If the project `links`, an account with a password is joined if its address was proven to us and
    the provider is the authority for it. Raises EmailHasPassword, and SignInFailed for every other refusal.
    """
    if by_subject is not None:
        return UseExisting(by_subject)
    if by_email is None:
        return CreateUser(email, profile.subject, profile.name, profile.claims)
    if links and profile.is_authoritative and by_email.oauth_id is None and by_email.state.is_confirmed:
        if by_email.state.disabled:
            raise SignInFailed("the account is disabled")
        return Join(by_email)
    if by_email.oauth_id is None:
        raise EmailHasPassword("the e-mail address belongs to a user with a password")
    raise SignInFailed("the e-mail address belongs to another subject of the provider")


def identify(registration: Registration, profile: ProviderProfile) -> Identity:
    """The identity that `profile` shows. Raises as `verified_email`."""
    issuer = profile.issuer or registration.provider_name
    return Identity(issuer, profile.subject, registration.name or DEFAULT, verified_email(profile))


async def link_or_create(
    project: Project, registration: Registration, profile: ProviderProfile, accounts: Accounts
) -> ExistingUser:
    """The user whom `profile` leads to, created if need be, in the records where signup keeps them.

    Raises what `identify` and `decide` raise, and the errors of the database.
    """
    identity, identities = identify(registration, profile), project.identities
    email = identity.email or ""
    for _ in range(ATTEMPTS):
        # Before users had identities there was the provider of the IDP settings alone.
        found = await identities.find(identity, email, with_older=registration.name is None)
        links = project.settings.linking == "verified"
        decision = decide(profile, email, by_subject=found.by_subject, by_email=found.by_email, links=links)
        # A unique index refuses the slower of two who do this at once: most likely one person with two tabs.
        with suppress(DuplicateValue):
            if isinstance(decision, UseExisting):
                return await _use(identities, decision.user, identity)
            if isinstance(decision, Join):
                joined = await _join(project, accounts.changes, decision.user, identity)
                if joined is not None:
                    return joined
                continue
            return await _create(accounts, project, decision, identity, registration.kept_claims)
    # Most likely an account with a second factor, of which the provider knows nothing.
    if isinstance(decision, Join):
        raise EmailHasPassword("the account cannot be joined")
    raise Unavailable


async def _join(project: Project, changes: Changes, user: ExistingUser, identity: Identity) -> ExistingUser | None:
    """The user afterwards; None where the account is not any more what it was decided by.

    A scanner of mails, or a careless click, may have proven the address of an account that a stranger planted: so its
    sessions end, its password is void until it is reset by mail, and so are codes and links of mails. Raises
    DuplicateValue where another user has the identity by now, UserNotFound.
    """

    email = identity.email or ""

    def keep(account: Account) -> AccountChange | None:
        if not _may_join(account, user, email):
            return None
        # The address matches no password.
        return AccountChange(password=email, added_identity=identity, signs_in=True)

    changed = await changes.apply(project, user.id, keep, Author(), notice=NOTICE)
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


async def _use(identities: Identities, user: ExistingUser, identity: Identity) -> ExistingUser:
    """A user from before there were identities gets this one: that of the only provider there was."""
    if user.has_identity:
        await identities.use(user.id, identity)
    else:
        await identities.add(user.id, identity, used=now())
    return user


async def _create(
    accounts: Accounts, project: Project, new: CreateUser, identity: Identity, kept_claims: Mapping[str, str]
) -> ExistingUser:
    """A provider knows no schema of profiles: what does not fit is left out."""
    id_ = new_id()
    # The specification keeps the e-mail as `password`: it is no hash, so login refuses every password.
    name = username(new.name, id_)
    if project.settings.usernames != "off":
        name = name[:MAX_NUMBERED] if is_name(name[:MAX_NUMBERED]) else id_[:ID_LETTERS]
    data = {"username": name, **keep_claims(new.claims, kept_claims)}
    state = AccountState(email_verified=True, email_asserted=True)
    user = NewUser(new.email, new.email, data, id_, identity, state=state)
    for _ in range(ATTEMPTS):
        with suppress(UsernameTaken):
            stored = await _store(accounts, project, user)
            return ExistingUser(stored.id, new.oauth_id, stored.version)
        user = replace(user, data={**user.data, "username": number_name(name)})
    raise Unavailable


async def _store(accounts: Accounts, project: Project, user: NewUser) -> StoredUser:
    judged = await accounts.profiles.accept(project, ProfileDraft(user.data, drops=True))
    return await accounts.profiles.store(
        project, judged, lambda fitting: project.users.insert(replace(user, data=fitting))
    )


def number_name(name: str) -> str:
    """The name with a number, for that of another user."""
    return f"{name}_{secrets.randbelow(1_000_000)}"


def keep_claims(claims: Mapping[str, Any], kept: Mapping[str, str]) -> dict[str, Any]:
    """The fields of `kept`, field → claim, whose claim is a text, a number, true or false; others are left out."""
    return {name: claims[claim] for name, claim in kept.items() if _can_be_kept(claims.get(claim))}


def _can_be_kept(value: Any) -> bool:
    match value:
        case bool():
            return True
        case int():
            return INT64_MIN <= value <= INT64_MAX
        case float():
            return math.isfinite(value)
        case str():
            return 0 < len(value) <= MAX_TEXT and "\0" not in value and _is_unicode(value)
    return False


def _is_unicode(text: str) -> bool:
    """An unpaired surrogate is no character, and MongoDB stores none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def username(name: str | None, user_id: str) -> str:
    """The words of `name` in lower case, joined by `_`; without a word the first 8 characters of `user_id`.

    A name in Latin letters becomes ASCII. One with other letters stays as it is, "Иван" → "иван": transliteration
    depends on its language, which is unknown.
    """
    read = (name or "")[:MAX_READ]
    words = slugify(
        read,
        separator="_",
        max_length=MAX_USERNAME,
        replacements=APOSTROPHES,
        replacement_stage="pre",
        allow_unicode=not _is_latin(read),
        backend="text-unidecode",
        algorithm="modern",
    )
    return words or user_id[:ID_LETTERS]


def _is_latin(text: str) -> bool:
    return all("LATIN" in unicodedata.name(letter, "LATIN") for letter in text if letter.isalpha())

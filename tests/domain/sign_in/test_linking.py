"""The user rules of specification section 5.2, and who is refused beyond them."""

from typing import Any

import pytest

from service.domain.sign_in.linking import CreateUser, UseExisting, decide, verified_email
from service.errors import SignInFailed
from service.providers import ProviderProfile
from service.storage.identities import ExistingUser

ADA = ProviderProfile("sub-ada", "Ada@Example.com", True, "Ada Lovelace")
ADA_USER = ExistingUser("1", "sub-ada")
OTHER_SUBJECT = ExistingUser("2", "sub-other")
PASSWORD_USER = ExistingUser("3", None)
NEW_ADA = CreateUser("ada@example.com", "sub-ada", "Ada Lovelace")


def profile(**changes: Any) -> ProviderProfile:
    values = {"subject": "sub-ada", "email": "ada@example.com", "email_verified": True, "name": None}
    return ProviderProfile(**{**values, **changes})


ALLOWED = [
    ("new", ADA, None, None, NEW_ADA),
    ("new, without a name", profile(), None, None, CreateUser("ada@example.com", "sub-ada", None)),
    ("known by both", ADA, ADA_USER, ADA_USER, UseExisting(ADA_USER)),
    ("known, with a new address", ADA, ADA_USER, None, UseExisting(ADA_USER)),
    ("known, with the address of a password user", ADA, ADA_USER, PASSWORD_USER, UseExisting(ADA_USER)),
    ("known, with the address of another subject", ADA, ADA_USER, OTHER_SUBJECT, UseExisting(ADA_USER)),
]


@pytest.mark.parametrize(
    ("who", "by_subject", "by_email", "decision"), [row[1:] for row in ALLOWED], ids=[row[0] for row in ALLOWED]
)
def test_decide(
    who: ProviderProfile,
    by_subject: ExistingUser | None,
    by_email: ExistingUser | None,
    decision: UseExisting | CreateUser,
) -> None:
    assert decide(who, verified_email(who), by_subject=by_subject, by_email=by_email) == decision


REFUSED = [
    ("the address of a password user", ADA, PASSWORD_USER, "email_already_registered_with_password"),
    ("the address of another subject", ADA, OTHER_SUBJECT, "authentication_failed"),
]


@pytest.mark.parametrize(("who", "by_email", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_decide_refuses(who: ProviderProfile, by_email: ExistingUser, code: str) -> None:
    with pytest.raises(SignInFailed) as caught:
        decide(who, verified_email(who), by_subject=None, by_email=by_email)
    assert caught.value.code == code


UNFIT = [
    ("no e-mail", profile(email=None), "no_email_provided"),
    ("no e-mail, not verified either", profile(email=None, email_verified=None), "no_email_provided"),
    ("false", profile(email_verified=False), "authentication_failed"),
    ("absent", profile(email_verified=None), "authentication_failed"),
    ("the text false", profile(email_verified="false"), "authentication_failed"),
    ("the text true", profile(email_verified="true"), "authentication_failed"),
    ("0", profile(email_verified=0), "authentication_failed"),
    ("1", profile(email_verified=1), "authentication_failed"),
    ("malformed", profile(email="ada"), "authentication_failed"),
    ("control characters", profile(email="a\u0000da@example.com"), "authentication_failed"),
    ("255 characters", profile(email=f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 58}.com"), "authentication_failed"),
]


@pytest.mark.parametrize("by_subject", [None, ADA_USER], ids=["unknown", "known"])
@pytest.mark.parametrize(("who", "code"), [row[1:] for row in UNFIT], ids=[row[0] for row in UNFIT])
def test_decide_refuses_a_profile_whoever_it_is(
    who: ProviderProfile, code: str, by_subject: ExistingUser | None
) -> None:
    with pytest.raises(SignInFailed) as caught:
        decide(who, verified_email(who), by_subject=by_subject, by_email=by_subject)
    assert caught.value.code == code

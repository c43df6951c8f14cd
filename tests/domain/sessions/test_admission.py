"""The decision about a sign-in, as a table: every setting, every state, every way."""

from itertools import product
from typing import Any

import pytest

from service.domain.projects.settings import ProjectSettings, read_project_settings
from service.domain.sessions.admission import Admitted, Decision, NeedsEnrolment, NeedsFactor, decide, level_of
from service.errors import AccountDisabled, EmailNotVerified
from service.storage.account_states import AccountState

BARE = AccountState()
WITH_APP = AccountState(factors=("totp",), recovery_codes=10)
WITH_PASSKEY = AccountState(factors=("passkey",))
ALL = AccountState(factors=("totp", "passkey"), recovery_codes=1)
EDITOR = AccountState(roles=("editor",))
FIRST = (("pwd",), ("idp",), ("email",))
SECOND = (("pwd", "otp"), ("idp", "rec"), ("email", "pop"), ("pop",))
ONE, TWO, ENROL = Admitted(1), Admitted(2), NeedsEnrolment()
APP, KEY = NeedsFactor(("totp", "recovery_code")), NeedsFactor(("passkey",))
EVERY = NeedsFactor(("totp", "passkey", "recovery_code"))

TABLE: list[tuple[dict[str, str], AccountState, Decision]] = [
    ({}, BARE, ONE),
    ({}, WITH_APP, APP),
    ({}, WITH_PASSKEY, KEY),
    ({}, ALL, EVERY),
    # Recovery codes without a factor count as none.
    ({}, AccountState(recovery_codes=3), ONE),
    ({"MFA": "off"}, BARE, ONE),
    ({"MFA": "off"}, ALL, ONE),
    ({"MFA": "off", "MFA_ROLES": "editor"}, EDITOR, ONE),
    ({"MFA": "required"}, BARE, ENROL),
    ({"MFA": "required"}, WITH_APP, APP),
    ({"MFA_ROLES": "admin, editor"}, BARE, ONE),
    ({"MFA_ROLES": "admin, editor"}, EDITOR, ENROL),
    ({"MFA_ROLES": "admin"}, EDITOR, ONE),
    ({"MFA_ROLES": "admin"}, WITH_APP, APP),
    ({"MFA": "required", "MFA_ROLES": "editor"}, EDITOR, ENROL),
    ({"MFA": "required", "MFA_ROLES": "editor"}, BARE, ONE),
]


def settings(**values: str) -> ProjectSettings:
    return read_project_settings(values)


@pytest.mark.parametrize(("values", "state", "decision"), TABLE)
@pytest.mark.parametrize("amr", FIRST)
def test_what_becomes_of_a_first_factor(
    values: dict[str, str], state: AccountState, decision: Decision, amr: tuple[str, ...]
) -> None:
    assert decide(settings(**values), state, amr) == decision


@pytest.mark.parametrize(("values", "state", "_"), TABLE)
@pytest.mark.parametrize("amr", SECOND)
def test_whoever_has_shown_a_second_factor_is_let_in(
    values: dict[str, str], state: AccountState, _: Any, amr: tuple[str, ...]
) -> None:
    assert decide(settings(**values), state, amr) == TWO


def test_d3_the_disabled_are_refused_in_every_way() -> None:
    for (values, state, _), amr in product(TABLE, (*FIRST, *SECOND)):
        disabled = AccountState(True, True, factors=state.factors, roles=state.roles)
        with pytest.raises(AccountDisabled):
            decide(settings(**values), disabled, amr)


def test_an_unproven_address_is_refused_before_a_factor_is_asked_for() -> None:
    for (values, state, decision), amr in product(TABLE, FIRST):
        strict = settings(**values, EMAIL_VERIFICATION="required")
        if amr == ("pwd",):
            with pytest.raises(EmailNotVerified):
                decide(strict, state, amr)
        else:
            assert decide(strict, state, amr) == decision


def test_m4_a_mail_is_no_second_factor() -> None:
    assert [level_of(amr) for amr in (*FIRST, ("pwd", "email"), ("idp", "email"))] == [1] * 5
    assert isinstance(decide(settings(), WITH_APP, ("pwd", "email")), NeedsFactor)
    for (values, state, _), amr in product(TABLE, FIRST):
        assert set(getattr(decide(settings(**values), state, amr), "methods", ())) <= {
            "totp",
            "passkey",
            "recovery_code",
        }

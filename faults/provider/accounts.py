"""The people who can sign in at the test provider; the name of each says what happens to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faults.provider.answers import ANSWERS
from faults.provider.tokens import TWISTS


@dataclass(frozen=True, slots=True)
class Account:
    """`claims` are what the provider knows; the other fields name a row of TWISTS or ANSWERS, "good" for none.

    With `in_id_token` the ID token says all, else only the userinfo endpoint does, as OpenID Connect has it by default.
    """

    claims: Mapping[str, Any]
    id_token: str = "good"
    token: str = "good"
    userinfo: str = "good"
    in_id_token: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


def person(who: str, /, **claims: Any) -> dict[str, Any]:
    """A verified person: `ada` has the subject `sub-ada` and the address ada@example.com."""
    everything = {
        "sub": f"sub-{who}",
        "email": f"{who.replace('_', '.')}@example.com",
        "email_verified": True,
        "name": who.replace("_", " ").title(),
    }
    return {key: value for key, value in {**everything, **claims}.items() if value is not ...}


ACCOUNTS: dict[str, Account] = {
    "ada": Account(person("ada", name="Ada Lovelace")),
    "björn": Account(person("bjorn", name="Björn O'Neill", email="Bjorn@Example.COM"), in_id_token=True),
    "иван": Account(person("ivan", name="Иван Петров")),
    "nameless": Account(person("nameless", name=...)),
    "ada_new_address": Account(person("ada", email="ada.new@example.com")),
    "ada_impostor": Account(person("impostor", email="ada@example.com")),
    "ada_impostor_in_capitals": Account(person("impostor", email="ADA@EXAMPLE.COM")),
    "no_email": Account(person("no_email", email=..., email_verified=...)),
    "no_email_in_id_token": Account(person("no_email", email=..., email_verified=...), in_id_token=True),
    "null_email": Account(person("null_email", email=None)),
    "blank_email": Account(person("blank_email", email="  ")),
    "malformed_email": Account(person("malformed_email", email="not an address")),
    "spaced_email": Account(person("spaced_email", email=" spaced.email@example.com ")),
    "control_email": Account(person("control_email", email="a\u0000b@example.com")),
    "long_email": Account(person("long_email", email=f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 61}.com")),
    "unverified": Account(person("unverified", email_verified=False)),
    "unverified_in_id_token": Account(person("unverified", email_verified=False), in_id_token=True),
    "verified_missing": Account(person("verified_missing", email_verified=...)),
    "verified_text": Account(person("verified_text", email_verified="false")),
    "verified_text_true": Account(person("verified_text_true", email_verified="true")),
    "verified_zero": Account(person("verified_zero", email_verified=0)),
    "verified_one": Account(person("verified_one", email_verified=1)),
    "other_userinfo": Account(person("other_userinfo"), extra={"sub": "sub-ada"}),
    "swapped_email": Account(person("swapped", email_verified=...), extra={"email": "x@example.com"}),
    **{f"id_token_{twist}": Account(person(f"id_token_{twist}"), id_token=twist) for twist in TWISTS},
    **{f"token_{answer}": Account(person(f"token_{answer}"), token=answer) for answer in ANSWERS},
    **{f"userinfo_{answer}": Account(person(f"userinfo_{answer}"), userinfo=answer) for answer in ANSWERS},
}

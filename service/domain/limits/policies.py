"""The rate limits, which settings decide each, and the refusal that names them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from service.domain.projects.settings import ProjectSettings
from service.errors import LimitExceeded

HOUR = 3_600
DAY = 86_400


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """One kind of limit, over fixed windows of `seconds` in UTC. `what` completes "The limit of 10 ... is reached".

    Limits for each client address are counted one request at a time, unless they are `leased` in slices as those for a
    project are. `spends_day` is true if the project's day pays as well. `anonymous` takes the place of the policy for
    requests without a credential, `of_user` and `of_guest` for those of a user and of a publishable key. `settings` are
    the names of the project's settings that decide the limit.
    """

    name: str
    seconds: int
    what: str
    limit: Callable[[ProjectSettings], int]
    per_address: bool = False
    leased: bool = False
    spends_day: bool = True
    anonymous: "Policy | None" = None
    of_user: "Policy | None" = None
    of_guest: "Policy | None" = None
    settings: tuple[str, ...] = ()


def by_setting(name: str, what: str, setting: str, *, seconds: int = HOUR, **more: Any) -> Policy:
    """A limit that one setting of the project decides, such as `signup_limit`; `more` are other fields of the policy."""
    return Policy(name, seconds, what, attrgetter(setting), settings=(setting.upper(),), **more)


SIGNUP = by_setting("signup", "signups an hour from one address", "signup_limit", per_address=True)
LOGIN = by_setting("login", "logins an hour from one address", "login_limit", per_address=True)
# Requests that send a mail, and codes or links that are tried: each from one address, for guessing is free.
MAIL_REQUESTS = by_setting(
    "mail_requests", "requests for mails an hour from one address", "mail_request_limit", per_address=True
)
CODES = by_setting("codes", "codes and links an hour from one address", "code_limit", per_address=True)
# A page may ask as soon as it is shown, often without using the answer.
PASSKEY_OPTIONS = by_setting(
    "passkey_options", "options of passkeys an hour from one address", "code_limit", per_address=True
)
MAILS_OF_PROJECT = by_setting("mails", "mails a day of this project", "mail_limit", seconds=DAY)
# Anonymous requests do not count against the project's quotas.
ANONYMOUS = by_setting(
    "auth", "requests an hour to the auth endpoints from one address", "auth_limit", per_address=True, spends_day=False
)
AUTH = by_setting("auth", "requests an hour to the auth endpoints", "auth_limit", leased=True, anonymous=ANONYMOUS)
# Users and guests, who come straight from their pages, have an hour of their own each, so that none uses up the project's.
OF_USER = by_setting("auth", "requests an hour of one user", "auth_limit", per_address=True)
OF_GUEST = by_setting("auth", ANONYMOUS.what, "auth_limit", per_address=True)
# Servers make anonymous users as they make others.
ANONYMOUS_SIGNUP = replace(
    AUTH,
    of_guest=by_setting("anonymous", "anonymous signups an hour from one address", "anonymous_limit", per_address=True),
)
AUTH_BY_RULE = by_setting("auth", AUTH.what, "auth_limit", leased=True, of_user=OF_USER, of_guest=OF_GUEST)
# Leased, for a page asks for many pictures at once, and each would cost a write.
FILES = by_setting(
    "files", "file reads an hour from one address", "file_limit", per_address=True, leased=True, spends_day=False
)
MAIL_TESTS = Policy(
    "mail_tests", HOUR, "mails an hour that test the project's mail server", lambda _: 20, spends_day=False
)
DAILY = Policy(
    "daily",
    DAY,
    "requests a day of this project",
    attrgetter("requests_per_day"),
    leased=True,
    spends_day=False,
    settings=("TIER", "DAILY_LIMIT"),
)
# As with the auth endpoints: a user who comes straight from a page has an hour of requests, and the project's day pays, too.
# The limits of a project's day.
OF_DAY = (DAILY, MAILS_OF_PROJECT)
DAILY_BY_RULE = replace(DAILY, of_user=OF_USER)


def exceeded(policy: Policy, limit: int, reset: int) -> LimitExceeded:
    """The refusal that names the limit, its settings, and the seconds after which to come back."""
    return LimitExceeded(
        f"The limit of {limit} {policy.what} is reached{describe_settings(policy)}", headers={"retry-after": str(reset)}
    )


def describe_settings(policy: Policy) -> str:
    """The rest of the sentence, for a limit that settings decide."""
    if not policy.settings:
        return ""
    verb = "decides" if len(policy.settings) == 1 else "decide"
    return f"; the project's {' and '.join(policy.settings)} {verb} it, see docs/limits.md"

"""Codes, link tokens and names of accounts, their digests, and the limits of mails and wrong codes of one account."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from service.domain.limits.limiter import Limits
from service.domain.limits.policies import DAY, HOUR, MAILS_OF_PROJECT, Policy
from service.domain.projects.lookup import Project
from service.errors import LimitExceeded

CODE_DIGITS = 6
TOKEN_BYTES = 32
# Maximum length of a link's token and of a sign-in's code; longer ones are not looked up.
MAX_TOKEN = 64


@dataclass(frozen=True, slots=True)
class Proofs:
    """The proofs of one mail."""

    flow_id: str
    code: str = field(repr=False)
    token: str = field(repr=False)


def new_proofs() -> Proofs:
    code = f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"
    return Proofs(secrets.token_urlsafe(16), code, secrets.token_urlsafe(TOKEN_BYTES))


def hash_token(token: str) -> str:
    """256 random bits cannot be searched, so a plain SHA-256 is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def hash_code(key: bytes, flow_id: str, code: str) -> str:
    """Six digits can be searched, but not without the key. One flow's is of no use to another."""
    return _mac(key, f"code/{flow_id}/{code}")


def name_account(key: bytes, project_id: str, email: str) -> str:
    """The name under which an account's mails and mistakes are counted, without the address."""
    return _mac(key, f"account/{project_id}/{email}")[:32]


def _mac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


QUARTER = 900
MAILS_AN_HOUR = Policy("mail_hour", HOUR, "mails an hour to one address", lambda _: 5)
MAILS_A_DAY = Policy("mail_day", DAY, "mails a day to one address", lambda _: 20)
REFUSED = Policy("mail_refused", HOUR, "mails that are not sent", lambda _: 10**9)
# Wrong codes of an account, over all its flows; a right one does not count (NIST SP 800-63B-4 section 3.2.2).
MISTAKES = (
    Policy("mistakes", QUARTER, "wrong codes in 15 minutes for one account", lambda _: 10),
    Policy("mistakes_day", DAY, "wrong codes a day for one account", lambda _: 100),
)


async def count_mail(limits: Limits, project: Project, account: str) -> Sequence[str] | None:
    """The counters that a mail was taken from; None where the address, or the project, has had enough for now."""
    taken: list[str] = []
    is_refused = False
    policies = [MAILS_AN_HOUR, MAILS_A_DAY, *([MAILS_OF_PROJECT] if project.settings.mail_limit else ())]
    for policy in policies:
        try:
            # The number of commands must not reveal if an address is limited.
            wanted = REFUSED if is_refused else policy
            key = await limits.take_one(project, wanted, "" if wanted is MAILS_OF_PROJECT else account)
            taken += [] if is_refused else [key]
        except LimitExceeded:
            is_refused = True
    return None if is_refused else taken


async def count_mistake(limits: Limits, project: Project, account: str) -> Sequence[str]:
    """The counters that a wrong code was taken from. Raises LimitExceeded."""
    return [await limits.take_one(project, policy, account) for policy in MISTAKES]


async def uncount(limits: Limits, taken: Sequence[str] | None) -> None:
    """It was no mail, or no mistake."""
    for key in taken or ():
        await limits.give_back(key)

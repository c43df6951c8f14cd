"""Limits of mails to one account, and of its wrong codes, over all its flows."""

from collections.abc import Sequence

from service.domain.limits.limiter import Limits
from service.domain.limits.policies import DAY, HOUR, MAILS_OF_PROJECT, Policy
from service.domain.projects.lookup import Project
from service.errors import LimitExceeded

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

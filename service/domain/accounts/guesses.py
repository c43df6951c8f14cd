"""Wrong passwords of an account, from all addresses, counted with its wrong codes, if the project wants that."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from service.domain.mail_flows.codes import name_account
from service.domain.mail_flows.counts import MISTAKES, uncount
from service.domain.mail_flows.flows import Flows
from service.domain.projects.lookup import Project
from service.errors import UserNotFound, WrongCredentials, WrongPassword

# By the names of those for codes, so they are the same counters.
GUESSES = tuple(replace(policy, what=policy.what.replace("codes", "passwords and codes")) for policy in MISTAKES)
REFUSALS = (UserNotFound, WrongCredentials, WrongPassword)


@asynccontextmanager
async def count_guess(flows: Flows, project: Project, email: str) -> AsyncIterator[None]:
    """Around the judging of one password, which ends with one of REFUSALS if it is wrong. Raises LimitExceeded.

    A try is counted before it is judged, so that no number of concurrent tries passes the limit. It is refunded if
    the password was right. Tries for an address without an account are counted, too.
    """
    if not project.settings.login_failures:
        yield
        return
    account = name_account(flows.key, project.id, email)
    taken = [await flows.limits.take_one(project, policy, account) for policy in GUESSES]
    try:
        yield
    except REFUSALS:
        raise
    except BaseException:
        await uncount(flows.limits, taken)
        raise
    await uncount(flows.limits, taken)

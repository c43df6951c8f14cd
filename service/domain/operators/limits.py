"""The limits of operators: their requests, sign-ins from an address, and failures of an account."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from service.domain.limits.limiter import Limits, Quota
from service.domain.limits.policies import DAY, HOUR, Policy, exceeded
from service.domain.mail_flows.codes import name_account
from service.errors import InvalidFactor, WrongCredentials, WrongPassword

QUARTER = 900
# No project has this id, whose counters stand beside those of projects.
OWNER = "_operators"
REFUSALS = (InvalidFactor, WrongCredentials, WrongPassword)


def _fixed(number: int) -> Any:
    return lambda _: number


SIGN_INS = Policy(
    "operator_sign_in",
    HOUR,
    "sign-ins and confirmations of operators an hour from one address",
    _fixed(20),
    per_address=True,
    spends_day=False,
)
FAILURES = (
    Policy("operator_failures", QUARTER, "failures in 15 minutes of one operator", _fixed(10)),
    Policy("operator_failures_day", DAY, "failures a day of one operator", _fixed(100)),
)


@dataclass(frozen=True, slots=True)
class CountedOperators:
    """Operators, in the place of a project whose settings decide limits."""

    operator_limit: int
    id: str = OWNER

    @property
    def settings(self) -> Any:
        return self


class OperatorLimits:
    """Counts what operators do. `key` is that for the names of accounts, which hold no address."""

    def __init__(self, limits: Limits, key: bytes, operator_limit: int) -> None:
        self._limits = limits
        self._key = key
        self._counted = CountedOperators(operator_limit)
        self._requests = Policy(
            "operator",
            HOUR,
            "requests an hour of one operator or token, which OPERATOR_LIMIT decides,",
            lambda _: operator_limit,
            per_address=True,
            leased=True,
            spends_day=False,
        )

    async def count_request(self, name: str) -> list[Quota]:
        """The state of the limit after one more request of the operator or token. Raises LimitExceeded."""
        return _passed(await self._limits.count(self._counted, self._requests, name))

    async def count_sign_in(self, address: str) -> list[Quota]:
        """Raises LimitExceeded."""
        return _passed(await self._limits.count(self._counted, SIGN_INS, address))

    @asynccontextmanager
    async def judge(self, email: str) -> AsyncIterator[None]:
        """Around the judging of a password or a factor, which ends with one of REFUSALS if it is wrong.

        A try is counted before it is judged, so that no number of tries at once passes the limit, and is refunded unless it
        was wrong. Raises LimitExceeded.
        """
        account = name_account(self._key, OWNER, email)
        taken = [await self._limits.take_one(self._counted, policy, account) for policy in FAILURES]
        try:
            yield
        except REFUSALS:
            raise
        except BaseException:
            await self._refund(taken)
            raise
        await self._refund(taken)

    async def _refund(self, taken: list[str]) -> None:
        for key in taken:
            await self._limits.give_back(key)


def _passed(quotas: list[Quota]) -> list[Quota]:
    if quotas and (last := quotas[-1]).exceeded:
        raise exceeded(last.policy, last.limit, last.reset)
    return quotas

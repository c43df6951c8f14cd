"""Counts requests under rate limits. `docs/limits.md` says why no request too many passes."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

import structlog

from service.domain.limits.leases import Lease
from service.domain.limits.policies import DAILY, HOUR, Policy, exceeded
from service.domain.projects.lookup import Project
from service.errors import ServiceError
from service.storage.counters import Counters

log = structlog.get_logger()

# The name of one counter: the project's id, the policy's name, the address ("" of a whole project), and the limit.
Part = tuple[str, str, str, int]

# Seconds after its window at which a counter is removed: no worker's clock may be so late as to start it again.
KEEP_SECONDS = HOUR
TICK_SECONDS = 1.0
CLOSE_SECONDS = 2.0


class Counted(Protocol):
    """The owner of counters: a project, whose settings decide its limits."""

    @property
    def id(self) -> str: ...

    @property
    def settings(self) -> Any: ...


class Quota(NamedTuple):
    """The state of one limit for a request: `remaining` after it, `reset` in whole seconds until the window ends."""

    policy: Policy
    limit: int
    remaining: int
    reset: int
    exceeded: bool = False


def window_end(now: float, seconds: int) -> int:
    """The end of the window that holds `now`; windows begin at whole hours and days in UTC."""
    return (int(now) // seconds + 1) * seconds


def seconds_until(end: int, now: float) -> int:
    """Whole seconds after which the window is over (RFC 9110 section 10.2.3 knows no fractions); at least 1."""
    return max(1, math.ceil(end - now))


class Share(NamedTuple):
    """The number of concurrent requests to count under a policy, of a project or of an address."""

    policy: Policy
    address: str
    amount: int


class Limits:
    """Counts requests. One for each worker; the counters in MongoDB make all workers agree."""

    def __init__(self, counters: Counters, clock: Callable[[], float] = time.time) -> None:
        self._counters = counters
        self._clock = clock
        self._leases: dict[Part, Lease] = {}

    async def count(self, project: Counted, policy: Policy, address: str) -> list[Quota]:
        """Counts one request under `policy` and under the project's day; what a limit refuses, no later one counts.

        The last of the quotas is `exceeded` when the request must be refused. Raises Unavailable: what cannot be
        counted must not pass.
        """
        quotas: list[Quota] = []
        for each in (policy, DAILY) if policy.spends_day else (policy,):
            if limit := each.limit(project.settings):
                part = (project.id, each.name, address if each.per_address else "", limit)
                quota = self._spend(part, each) or await self._count(part, each)
                quotas.append(quota)
                if quota.exceeded:
                    break
        return quotas

    def _spend(self, part: Part, policy: Policy) -> Quota | None:
        """The way of nearly every request: one is left in this worker's slice, and nothing waits."""
        lease = self._leases.get(part)
        now = self._clock()
        if lease is None or lease.end <= now or not lease.spend(now):
            return None
        return Quota(policy, part[-1], lease.left + lease.free, seconds_until(lease.end, now))

    async def _count(self, part: Part, policy: Policy) -> Quota:
        now, limit = self._clock(), part[-1]
        end = window_end(now, policy.seconds)
        if not policy.leased:
            key = _key(part, end)
            granted, used = await self._counters.take(key, wanted=1, limit=limit, until=_keep_until(end))
            return Quota(policy, limit, max(0, limit - used), seconds_until(end, now), exceeded=not granted)
        lease = self._lease(part, end=end, now=now)
        passed = lease.spend(now) or await self._spend_more(lease, limit)
        remaining = lease.left + lease.free if passed else 0
        return Quota(policy, limit, remaining, seconds_until(end, now), exceeded=not passed)

    def _lease(self, part: Part, *, end: int, now: float) -> Lease:
        """The lease under this very limit: when the setting changes, the old one falls idle and is given back."""
        lease = self._leases.get(part)
        if lease is None or lease.end != end:
            lease = self._leases[part] = Lease(_key(part, end), end, now)
        return lease

    async def _spend_more(self, lease: Lease, limit: int) -> bool:
        """Asks for slices until this request has its one. All that wait share one asking, and its failure."""
        while not lease.spend(now := self._clock()):
            if now < lease.refused_until:
                return False
            if lease.pending is None:
                lease.pending = asyncio.create_task(self._renew(lease, limit))
                lease.pending.add_done_callback(_seen)
            # A waiting request that is cancelled must not end the asking of the others.
            await asyncio.shield(lease.pending)
        return True

    async def _renew(self, lease: Lease, limit: int) -> None:
        try:
            wanted = lease.next_slice(self._clock(), limit)
            until = _keep_until(lease.end)
            granted, used = await self._counters.take(lease.key, wanted=wanted, limit=limit, until=until)
            lease.receive(granted, wanted=wanted, free=max(0, limit - used), now=self._clock())
        finally:
            lease.pending = None

    async def count_many(self, project: Project, shares: Sequence[Share]) -> list[Quota]:
        """Counts all of `shares`, or none; the quotas of those that are leased. Raises LimitExceeded."""
        quotas: list[Quota] = []
        taken: list[tuple[Part, Share]] = []
        for share in shares:
            limit = share.policy.limit(project.settings)
            if not limit or not share.amount:
                continue
            part = (project.id, share.policy.name, share.address, limit)
            quota = await self._take_many(part, share)
            if quota.exceeded:
                for other in taken:
                    await self._return_many(*other)
                raise exceeded(quota.policy, limit, quota.reset)
            quotas += [quota] if share.policy.leased else []
            taken.append((part, share))
        return quotas

    async def _take_many(self, part: Part, share: Share) -> Quota:
        """Counts many requests at once.

        The part that this worker's slice lacks is taken from the counter, as a whole.
        """
        now, limit, policy = self._clock(), part[-1], share.policy
        end = window_end(now, policy.seconds)
        lease = self._lease(part, end=end, now=now) if policy.leased else None
        own = lease.spend_many(share.amount, now) if lease is not None else 0
        wanted, until = share.amount - own, _keep_until(end)
        passed = not wanted or await self._counters.take_all(_key(part, end), wanted=wanted, limit=limit, until=until)
        if lease is not None:
            lease.left += 0 if passed else own
            lease.free = max(0, lease.free - wanted)
        remaining = lease.left + lease.free if lease is not None else 0
        return Quota(policy, limit, remaining, seconds_until(end, now), exceeded=not passed)

    async def _return_many(self, part: Part, share: Share) -> None:
        end = window_end(self._clock(), share.policy.seconds)
        if share.policy.leased:
            self._lease(part, end=end, now=self._clock()).left += share.amount
        else:
            with suppress(ServiceError):
                await self._counters.give_back(_key(part, end), share.amount)

    async def show(self, project: Counted, policies: Sequence[Policy]) -> list[Quota]:
        """The quotas of limits for the whole project, without counting. Slices that workers hold count as used."""
        now, asked = self._clock(), [policy for policy in policies if policy.limit(project.settings)]
        ends = [window_end(now, policy.seconds) for policy in asked]
        keys = [f"{project.id}/{policy.name}/{end}" for policy, end in zip(asked, ends, strict=True)]
        used = await self._counters.read(keys)
        found = []
        for policy, end, key in zip(asked, ends, keys, strict=True):
            limit = policy.limit(project.settings)
            remaining = max(0, limit - used.get(key, 0))
            found.append(Quota(policy, limit, remaining, seconds_until(end, now), exceeded=not remaining))
        return found

    async def take_one(self, project: Counted, policy: Policy, address: str) -> str:
        """Takes one of a limit that is not leased, and returns the counter's name, to `give_back`. Raises
        LimitExceeded.

        A refusal takes as long as a grant: its time must not reveal if an address has reached the limit.
        """
        limit, now = policy.limit(project.settings), self._clock()
        end = window_end(now, policy.seconds)
        key = _key((project.id, policy.name, address, limit), end)
        granted, _ = await self._counters.take(key, wanted=1, limit=limit, until=_keep_until(end), is_noted=True)
        if not granted:
            raise exceeded(policy, limit, seconds_until(end, now))
        return key

    async def take_all(self, project: Project, policy: Policy, amount: int) -> None:
        """Takes `amount` of a project's limit, or nothing. Raises LimitExceeded."""
        limit, now = policy.limit(project.settings), self._clock()
        end = window_end(now, policy.seconds)
        key = _key((project.id, policy.name, "", limit), end)
        if not await self._counters.take_all(key, wanted=amount, limit=limit, until=_keep_until(end)):
            raise exceeded(policy, limit, seconds_until(end, now))

    async def give_back(self, key: str) -> None:
        """Returns the one that was taken; it counts as used where that cannot be done."""
        try:
            await self._counters.give_back(key, 1)
        except ServiceError as error:
            log.warning("count_lost", key=key, code=error.code)

    async def return_idle_leases(self) -> None:
        """Gives back unspent slices; to be called every TICK_SECONDS."""
        for name, lease in list(self._leases.items()):
            if lease.is_idle(self._clock()):
                await self._give_back(name, lease)

    async def close(self) -> None:
        """Gives back everything, as far as the database answers."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                for name, lease in list(self._leases.items()):
                    await self._give_back(name, lease)

    async def _give_back(self, name: Part, lease: Lease) -> None:
        # Out of the table first: a request that comes meanwhile starts a lease of its own. One that came before, while
        # another lease was given back, may have done so already: when a window turns there is a new one by this name.
        if self._leases.get(name) is lease:
            del self._leases[name]
        if not (left := lease.release()):
            return
        try:
            await self._counters.give_back(lease.key, left)
        except ServiceError as error:
            # Refusing a few too many is the safe side of a counter that cannot be reached.
            log.warning("slice_lost", key=lease.key, left=left, code=error.code)


def _key(part: Part, end: int) -> str:
    """The name of a counter: `demo/auth/<end>` or, of one address, `demo/login/192.0.2.1/<end>`."""
    project, policy, address, _ = part
    return f"{project}/{policy}/{address}/{end}" if address else f"{project}/{policy}/{end}"


def _keep_until(end: int) -> datetime:
    return datetime.fromtimestamp(end + KEEP_SECONDS, UTC)


def _seen(task: asyncio.Task[None]) -> None:
    """Reads the outcome, so that asyncio does not report a failure of a task without a waiter."""
    if not task.cancelled():
        task.exception()

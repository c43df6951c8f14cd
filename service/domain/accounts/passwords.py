"""Password hashing with bcrypt, in threads of its own: one hash takes a quarter of a second of CPU."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import bcrypt

from service.bounds import MAX_HASHES_WAITING
from service.domain.accounts.password_hashes import (
    MAX_PASSWORD_BYTES,
    NO_KEYS,
    SignerKeys,
    is_foreign,
    is_outdated,
    matches,
)
from service.domain.background import background_threads
from service.domain.shares import Turns
from service.observe.metrics import HASHES, HASHES_WAITING

RETRY_AFTER_SECONDS = 5

T = TypeVar("T")


class Passwords:
    """A bounded pool of hashing threads, in which projects take turns. The event loop never hashes."""

    def __init__(self, cost: int, threads: int = 1) -> None:
        """`threads` of all workers together are no more than the CPUs: more threads do not help and starve other work."""
        self._cost = cost
        self._pool = background_threads(threads, "bcrypt")
        # One more for each thread, so that none idles until the event loop has come round to the next.
        self._turns = Turns(2 * threads, waiting=MAX_HASHES_WAITING - threads, retry_after=RETRY_AFTER_SECONDS)
        # Checked where there is nothing to check against, so that such a login takes as long as any other.
        self._decoy = bcrypt.gensalt(cost) + b"." * 31

    async def hash(self, password: str, project_id: str = "") -> str:
        """The bcrypt hash of a password that passed `password_rules.check_password`. Raises Busy.

        Projects take turns; a command has no project to share with.
        """
        return (
            await self._run(project_id, lambda: bcrypt.hashpw(password.encode(), bcrypt.gensalt(self._cost)))
        ).decode()

    async def verify(self, password: str, stored: str, project_id: str = "", keys: SignerKeys = NO_KEYS) -> bool:
        """True if `password` is the one `stored` was made from. A text that no hash can match takes as long.

        `stored` of a provider's user is an e-mail address, not a hash. `keys` are the project's. Raises Busy.
        """
        raw = password.encode()
        if is_foreign(stored):
            return await self._run(project_id, lambda: matches(raw, stored, keys))
        possible = stored.startswith("$2") and len(raw) <= MAX_PASSWORD_BYTES and b"\0" not in raw
        expected = stored.encode() if possible else self._decoy
        return await self._run(project_id, lambda: bcrypt.checkpw(raw if possible else b"x", expected)) and possible

    def is_outdated(self, stored: str) -> bool:
        """True if a new hash should take the place of one that was just found right."""
        return is_outdated(stored, self._cost)

    async def _run(self, project_id: str, work: Callable[[], T]) -> T:
        with HASHES_WAITING.track_inprogress(), HASHES.time():
            async with self._turns.take(project_id):
                return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

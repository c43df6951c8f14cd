"""The one process that does the work of the whole deployment: whoever holds the lease in MongoDB."""

import secrets
from time import monotonic

from service.storage.leases import LEASE_SECONDS, Leases

NAME = "leader"


class Leader:
    """This process's part in the lease `name`. `renew` must be called every RENEW_SECONDS."""

    def __init__(self, leases: Leases, *, name: str = NAME, lease_seconds: float = LEASE_SECONDS) -> None:
        self._leases = leases
        self._name = name
        self._lease_seconds = lease_seconds
        self._holder = secrets.token_hex(8)
        self._until = 0.0

    @property
    def is_leading(self) -> bool:
        """True while no other process can have the lease: this one counts from before its request."""
        return monotonic() < self._until

    async def renew(self) -> None:
        """Takes or keeps the lease, unless another process has it. Raises Unavailable; then it runs out."""
        asked_at = monotonic()
        self._until = asked_at + self._lease_seconds if await self._leases.take(self._name, self._holder) else 0.0

    async def resign(self) -> None:
        """Lets another process begin at once."""
        if self._until:
            self._until = 0.0
            await self._leases.release(self._name, self._holder)

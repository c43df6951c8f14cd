"""Connections whose rights may have changed: noted when the feed delivers a change, and read again one after the other."""

import asyncio
from collections.abc import Iterable

from service.domain.realtime.connections import Connection


class Stale:
    """Connections that must be looked at again, and databases whose rules or definitions have changed."""

    def __init__(self) -> None:
        self._stale: dict[Connection, None] = {}
        self._changed: set[str] = set()
        self._has_stale = asyncio.Event()

    def note(self, connections: Iterable[Connection], *, changed: Iterable[str] = ()) -> None:
        """Marks connections as stale. Nothing is delivered to them until their rights were read."""
        self._changed.update(changed)
        for connection in connections:
            connection.changes += 1
            connection.pause()
            self._stale[connection] = None
        if self._stale:
            self._has_stale.set()

    def has(self, connection: Connection) -> bool:
        return connection in self._stale

    def forget(self, connection: Connection) -> None:
        self._stale.pop(connection, None)

    async def take(self) -> tuple[list[Connection], set[str]]:
        """Waits until there are stale connections, and takes them."""
        await self._has_stale.wait()
        self._has_stale.clear()
        stale, changed = list(self._stale), self._changed
        self._stale, self._changed = {}, set()
        return stale, changed

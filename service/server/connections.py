"""The open connections of a process: how many there may be, of one address and in all. Knows no HTTP."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from service.bounds import MAX_ADDRESS_CONNECTIONS
from service.web.auth.client_address import Network, client_address, is_trusted


class Closable(Protocol):
    """A connection, as far as its place among the others goes."""

    def close_idle(self) -> None: ...


class ConnectionRegister:
    """Admits connections, up to `most`. The longest idle one goes when there is one too many.

    A connection is idle while no request of it, of which the headers have come, is being answered.
    """

    def __init__(self, most: int, trusted_proxies: Sequence[Network] = ()) -> None:
        self._most = most
        self._trusted_proxies = tuple(trusted_proxies)
        # The longest idle first, for a dictionary keeps the order in which its keys came.
        self._idle: dict[Closable, None] = {}
        self._addresses: dict[Closable, str] = {}
        self._counts: Counter[str] = Counter()

    def admit(self, connection: Closable, peer: str | None) -> bool:
        """Returns True if `connection` of the address `peer` may stay; it is counted, and idle, until it is `forget`."""
        address = client_address(peer, (), x_forwarded_for=(), forwarded=())
        if self._counts[address] >= MAX_ADDRESS_CONNECTIONS and not is_trusted(peer, self._trusted_proxies):
            return False
        if len(self._addresses) >= self._most and not self._close_longest_idle():
            return False
        self._counts[address] += 1
        self._addresses[connection] = address
        self._idle[connection] = None
        return True

    def mark_busy(self, connection: Closable) -> None:
        self._idle.pop(connection, None)

    def mark_idle(self, connection: Closable) -> None:
        if connection in self._addresses:
            self._idle[connection] = None

    def hand_over(self, connection: Closable, to: Closable) -> None:
        """`to` is in its place from now on, and never idle."""
        self._idle.pop(connection, None)
        if (address := self._addresses.pop(connection, None)) is not None:
            self._addresses[to] = address

    def forget(self, connection: Closable) -> None:
        """The connection has ended."""
        self._idle.pop(connection, None)
        address = self._addresses.pop(connection, None)
        if address is None:
            return
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address]

    def _close_longest_idle(self) -> bool:
        """Closes the connection that has been idle longest; False if there is none. It is no longer counted from now
        on.
        """
        longest = next(iter(self._idle), None)
        if longest is None:
            return False
        self.forget(longest)
        longest.close_idle()
        return True

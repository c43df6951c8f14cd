"""The addresses of names, from the resolver of the machine, in threads of their own and within a deadline."""

import asyncio
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from service.bounds import MAX_KEPT_NAMES
from service.outbound.destinations import Address, read_address

THREADS = 8
SECONDS = 3.0
KEPT_SECONDS = 30.0

LookUp = Callable[[str], list[str]]


class NameNotFound(Exception):
    """The resolver has no address of this name, or did not answer in time."""


def look_up(host: str) -> list[str]:
    """The addresses as text. Raises OSError, and UnicodeError for a name that DNS cannot have."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


class Names:
    """Resolves names. Addresses are kept for `kept` seconds; one look-up serves all callers that wait for a name."""

    def __init__(self, look_up: LookUp = look_up, *, seconds: float = SECONDS, kept: float = KEPT_SECONDS) -> None:
        self._look_up = look_up
        self._seconds = seconds
        self._kept_seconds = kept
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="names")
        self._asked: dict[str, asyncio.Future[list[str]]] = {}
        self._kept: dict[str, tuple[float, tuple[Address, ...]]] = {}

    async def resolve(self, host: str) -> tuple[Address, ...]:
        """All addresses of the name, at least one; an address is its own. Raises NameNotFound."""
        if (address := read_address(host)) is not None:
            return (address,)
        kept = self._kept.get(host)
        if kept is not None and time.monotonic() < kept[0]:
            return kept[1]
        try:
            async with asyncio.timeout(self._seconds):
                found = await asyncio.shield(self._ask(host))
        except (OSError, UnicodeError, TimeoutError):
            raise NameNotFound from None
        return self._keep(host, _read(found))

    def _ask(self, host: str) -> asyncio.Future[list[str]]:
        """A thread cannot be ended: a name whose server hangs occupies one, whatever the number of its callers."""
        if (asked := self._asked.get(host)) is None:
            asked = asyncio.get_running_loop().run_in_executor(self._threads, self._look_up, host)
            self._asked[host] = asked
            asked.add_done_callback(partial(self._forget, host))
        return asked

    def _forget(self, host: str, asked: asyncio.Future[list[str]]) -> None:
        del self._asked[host]
        if not asked.cancelled():
            asked.exception()

    def _keep(self, host: str, addresses: tuple[Address, ...]) -> tuple[Address, ...]:
        self._kept.pop(host, None)
        if len(self._kept) >= MAX_KEPT_NAMES:
            del self._kept[next(iter(self._kept))]
        self._kept[host] = time.monotonic() + self._kept_seconds, addresses
        return addresses

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _read(found: list[str]) -> tuple[Address, ...]:
    """Raises NameNotFound for an address with a zone, which means something on this machine alone."""
    addresses = tuple(dict.fromkeys(map(read_address, found)))
    known = tuple(address for address in addresses if address is not None)
    if not known or len(known) < len(addresses):
        raise NameNotFound
    return known

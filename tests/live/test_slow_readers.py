"""THREATS row N4: clients that read a file drop by drop delay no other request, and are cut off soon."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import takewhile
from urllib.parse import urlsplit

import pytest

from faults.samples import account, file_part, form, png
from faults.server import Server
from faults.waiting import wait_until
from service.bounds import MAX_ADDRESS_STREAMS, MAX_STREAMS

FILE_BYTES = 8_000_000
GONE_SECONDS = 120.0
PROMPT_SECONDS = 20.0
BUSY = b"HTTP/1.1 503"


class Reader:
    """One that takes 1,024 bytes of a file whenever it is asked to."""

    def __init__(self, server: Server, path: str, address: str) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.bind((address, 0))
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", server.port))
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())

    def begin(self) -> bytes:
        return self.socket.recv(12)

    def drip(self) -> bool:
        """True if there may be more."""
        self.socket.setblocking(False)
        with suppress(BlockingIOError):
            try:
                return bool(self.socket.recv(1024))
            except ConnectionError:
                return False
        return True


OpenReader = Callable[[str, str], Reader]


@pytest.fixture
def open_reader(server: Server) -> Iterator[OpenReader]:
    """Opens a reader of a path, from an address of its own."""
    opened: list[Reader] = []

    def open_one(path: str, address: str) -> Reader:
        opened.append(Reader(server, path, address))
        return opened[-1]

    yield open_one
    for reader in opened:
        reader.socket.close()


def test_n4_slow_readers_hold_up_nobody_and_are_gone_soon(server: Server, open_reader: OpenReader) -> None:
    answer = server.signup(form(account(), file_part("a", content=png(FILE_BYTES))))
    path = urlsplit(answer.json()["user"]["data"]["a"]).path
    addresses = [f"127.0.4.{1 + n // MAX_ADDRESS_STREAMS}" for n in range(MAX_STREAMS)]
    readers = [open_reader(path, address) for address in addresses[:MAX_ADDRESS_STREAMS]]
    assert {reader.begin() for reader in readers} == {b"HTTP/1.1 200"}
    assert open_reader(path, addresses[0]).begin() == BUSY

    def begins(address: str) -> bool:
        reader = open_reader(path, address)
        is_begun = reader.begin() == b"HTTP/1.1 200"
        readers.extend([reader] * is_begun)
        return is_begun

    for address in addresses[MAX_ADDRESS_STREAMS:]:
        # The streams of an earlier test have their places until the server sees that they are closed.
        wait_until(partial(begins, address))
    # On a busy machine the first may have lost their places meanwhile, which others take then, each from its own address.
    late = (open_reader(path, f"127.0.{5 + n // 250}.{1 + n % 250}") for n in range(MAX_STREAMS))
    readers += list(takewhile(lambda reader: reader.begin() != BUSY, late))
    assert len(readers) < 2 * MAX_STREAMS
    for _ in range(20):
        started = time.monotonic()
        assert server.request("GET", "/auth-collections/users?limit=1").status_code == 200
        assert time.monotonic() - started < PROMPT_SECONDS
    started, slow = time.monotonic(), readers
    while slow:
        assert time.monotonic() - started < GONE_SECONDS
        slow = [reader for reader in slow if reader.drip()]
        time.sleep(1)
    assert len(server.request("GET", path).content) == FILE_BYTES

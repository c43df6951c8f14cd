"""A listening socket that is about to close: who is in its queue is served, who comes now is not let in."""

import socket
import sys
from collections.abc import Iterator

import pytest

from service.server.listening import drop_new_connections

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux filters packets for a socket")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        listening.settimeout(5)
        yield listening


def test_who_connects_now_is_neither_let_in_nor_reset(listener: socket.socket) -> None:
    drop_new_connections(listener)
    with socket.socket() as late:
        late.settimeout(0.3)
        with pytest.raises(TimeoutError):
            late.connect(listener.getsockname())


def test_who_is_in_the_queue_is_served(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname(), timeout=5) as queued:
        drop_new_connections(listener)
        queued.sendall(b"question")
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.recv(8) == b"question"
            accepted.sendall(b"answer")
            assert queued.recv(6) == b"answer"

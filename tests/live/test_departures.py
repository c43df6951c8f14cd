"""Clients that leave, or stop sending, at a bad moment; on raw sockets, for no proper client does."""

import socket
import time
from urllib.parse import urlsplit

from faults.samples import account, file_part, form, png
from faults.server import Server

READERS = 60
FILE_BYTES = 8_000_000
HALF_CLOSED = 100


def _ask(server: Server, path: str, *, window: int | None = None) -> socket.socket:
    connection = socket.socket()
    if window is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    connection.settimeout(60)
    connection.connect(("127.0.0.1", server.port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {server.key}\r\n\r\n".encode())
    return connection


def _everything(connection: socket.socket) -> bytes:
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    return received


def test_f6_readers_who_all_leave_at_once_take_nothing_along(server: Server) -> None:
    """Each of them reads slowly, so that most wait for the next of its bytes, and for a connection to MongoDB."""
    answer = server.signup(form(account(), file_part("a", content=png(FILE_BYTES))))
    path = urlsplit(answer.json()["user"]["data"]["a"]).path
    for pause in (1.0, 0.05, 0.02, 0.3):
        readers = [_ask(server, path, window=4096) for _ in range(READERS)]
        time.sleep(pause)
        for reader in readers:
            reader.close()
        started = time.monotonic()
        assert server.request("GET", "/health/ready").status_code == 200
        assert server.request("GET", "/auth-collections/users?limit=1").status_code == 200
        assert time.monotonic() - started < 30


def test_who_sends_no_more_is_answered_all_the_same(server: Server) -> None:
    for path in ("/health/live", "/auth-collections/users?limit=1") * (HALF_CLOSED // 2):
        with _ask(server, path) as connection:
            connection.shutdown(socket.SHUT_WR)
            assert _everything(connection).startswith(b"HTTP/1.1 200")


def test_a_pipelined_request_outlives_the_time_for_bodies_that_nobody_wants(server: Server) -> None:
    """The second request's body is late; the time limit of the first one's body does not end it."""
    body = b'{"email": "nobody@example.com", "password": "12345678"}'
    with _ask(server, "/health/live") as connection:
        head = f"POST /auth-collections/login HTTP/1.1\r\nhost: x\r\nx-api-key: {server.key}\r\n"
        connection.sendall(f"{head}connection: close\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body[:10])
        time.sleep(2.5)
        connection.sendall(body[10:])
        answers = _everything(connection)
    assert answers.count(b"HTTP/1.1 200") == 1
    assert answers.count(b"HTTP/1.1 404") == 1

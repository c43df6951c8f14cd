"""SIGTERM during uploads: those that end in time are stored, the others are refused, and nothing is half there."""

import select
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx2

from faults.samples import account, file_part, form, png
from faults.server import Server, is_live, serving, start
from faults.waiting import wait_until
from tests.live.test_uploads import WHOLE, left, receive

EACH = 4
LENGTH = 4_000_000
# Bytes sent at once, so that a part is stored before the service is asked to stop.
AT_ONCE = 3_000_000
PAUSE = 0.1
QUICK_PIECE = 100_000
SLOW_PIECE = 1_000
SHORT_SECONDS = 8
RESET = "no answer"


def test_r4_uploads_at_sigterm_are_stored_or_answered_503(mongodb_uri: str, database_prefix: str) -> None:
    stop_amid_uploads(mongodb_uri, f"{database_prefix}stop_", workers=1)


def test_r4_several_workers_answer_their_uploads_too(mongodb_uri: str, database_prefix: str) -> None:
    stop_amid_uploads(mongodb_uri, f"{database_prefix}stop_", workers=2)


def stop_amid_uploads(uri: str, prefix: str, *, workers: int, stop_seconds: int = SHORT_SECONDS) -> float:
    """Stops a service amid uploads, checks what became of each, and returns the seconds until its process was gone."""
    with (
        serving(uri, prefix, workers=workers, stop_seconds=stop_seconds) as server,
        ThreadPoolExecutor(2 * EACH) as clients,
    ):
        go_on = threading.Event()
        quick = [clients.submit(upload, server, f"quick{number}", QUICK_PIECE, go_on) for number in range(EACH)]
        slow = [clients.submit(upload, server, f"slow{number}", SLOW_PIECE, go_on) for number in range(EACH)]
        wait_until(lambda: left(server) == {"uploads": 2 * EACH}, 60)
        go_on.set()
        started = time.monotonic()
        server.process.terminate()
        status, seconds = server.process.wait(40), time.monotonic() - started
        assert Counter(client.result() for client in quick) == {"201": EACH}
        assert Counter(client.result() for client in slow) == {"503": EACH}
        assert (status, seconds < 30) == (0, True)
        _check_what_is_left(server)
    return seconds


def upload(server: Server, name: str, piece: int, go_on: threading.Event) -> str:
    """Signs up with a file whose second part comes in pieces, once all may `go_on`.

    Returns the status of the answer, which may come before the end of the file.
    """
    body = form(account(f"{name}@example.com"), file_part("a", content=png(LENGTH)))
    with server.connect() as connection:
        connection.sendall(server.signup_head(len(body)) + body[:AT_ONCE])
        go_on.wait(60)
        for begin in range(AT_ONCE, len(body), piece):
            if select.select([connection], [], [], PAUSE)[0]:
                break
            connection.sendall(body[begin : begin + piece])
        return _status(connection)


def _status(connection: socket.socket) -> str:
    try:
        return receive(connection)[len("HTTP/1.1 ") :][:3].decode() or RESET
    except ConnectionError:
        return RESET


def _check_what_is_left(server: Server) -> None:
    """The uploads that were answered 201 are whole, and of the others there is nothing."""
    server.process = start(server.environment, server.port, 1)
    wait_until(lambda: is_live(server), 60)
    server.sweep()
    assert left(server) == {name: EACH * count for name, count in WHOLE.items()}
    names = [user["data"]["a"] for user in server.database["users"].find()]
    assert [len(httpx2.get(f"{server.url}/files/{name}").content) for name in names] == [LENGTH] * EACH
    assert server.database["files.chunks"].count_documents({"files_id": {"$nin": names}}) == 0

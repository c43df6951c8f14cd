"""Uploads over a real socket: sizes, lies, clients that leave, processes that die, memory."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator

import httpx2
import pytest

from faults.samples import FORM_TYPE, PNG, account, file_part, form, png, stored
from faults.server import Server, peak_memory, serving, start
from faults.waiting import wait_until
from service.bounds import MAX_FILE_BYTES

WHOLE = {"users": 1, "files.files": 1}
MIB = 1_048_576


def left(server: Server) -> dict[str, int]:
    """The stored records, chunks not counted."""
    return {name: count for name, count in stored(server.database).items() if name != "files.chunks"}


def chunks(server: Server) -> int:
    return server.database["files.chunks"].count_documents({})


def wait_until_empty(server: Server) -> None:
    try:
        wait_until(lambda: stored(server.database) == {}, 60)
    except TimeoutError:
        pytest.fail(f"left: {stored(server.database)}, intents: {list(server.database['uploads'].find())}")


def receive(connection: socket.socket) -> bytes:
    """The service's answer, until it closes, or has sent a whole JSON object."""
    received = b""
    while not received.endswith(b"}"):
        piece = connection.recv(65_536)
        if not piece:
            break
        received += piece
    return received


class TestSizes:
    """52,428,800 bytes a file, whatever Content-Length says."""

    def test_f5_the_largest_file(self, server: Server) -> None:
        content = png(MAX_FILE_BYTES)
        answer = server.signup(form(account(), file_part("a", content=content)))
        assert answer.status_code == 201
        assert httpx2.get(answer.json()["user"]["data"]["a"]).content == content

    def test_f5_one_byte_more(self, server: Server) -> None:
        answer = server.signup(form(account(), file_part("a", content=png(MAX_FILE_BYTES + 1))))
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert stored(server.database) == {}

    def test_f5_reading_stops(self, server: Server) -> None:
        sent = 0

        def endless() -> Iterator[bytes]:
            nonlocal sent
            yield form(account(), file_part("a", content=PNG))[: -len("\r\n--sample-boundary--\r\n")]
            while sent < 4 * MAX_FILE_BYTES:
                sent += MIB
                yield b"\0" * MIB

        answer = server.request("POST", "/auth-collections/signup", content=endless(), headers=FORM_TYPE)
        assert answer.status_code == 413
        assert sent < 2 * MAX_FILE_BYTES
        assert stored(server.database) == {}

    @pytest.mark.parametrize("said", [1_000, 2_000_000])
    def test_f5_a_length_that_says_too_little(self, server: Server, said: int) -> None:
        body = form(account(), file_part("a", content=png(3_000_000)))
        with server.connect() as connection:
            connection.sendall(server.signup_head(said) + body[:said])
            assert b" 422 " in receive(connection).splitlines()[0]
        assert stored(server.database) == {}

    def test_f5_a_length_that_says_too_much(self, server: Server) -> None:
        body = form(account(), file_part("a", content=png(3_000_000)))
        with server.connect() as connection:
            connection.sendall(server.signup_head(len(body) + 5_000_000) + body)
            assert b" 201 " in receive(connection).splitlines()[0]
        assert left(server) == WHOLE

    def test_f5_a_length_that_says_too_much_of_half_a_form(self, server: Server) -> None:
        body = form(account(), file_part("a", content=png(3_000_000)))
        with server.connect() as connection:
            connection.sendall(server.signup_head(len(body)) + body[:2_900_000])
            wait_until(lambda: chunks(server) > 0, 30)
        wait_until_empty(server)


class TestAborts:
    """Nothing readable, and after a sweep nothing at all."""

    @pytest.mark.parametrize("percent", [1, 50, 99])
    def test_f6_a_client_that_leaves(self, server: Server, percent: int) -> None:
        body = form(account(), file_part("small"), file_part("a", content=png(20_000_000)))
        with server.connect() as connection:
            connection.sendall(server.signup_head(len(body)) + body[: len(body) * percent // 100])
            assert "users" not in stored(server.database)
        wait_until_empty(server)

    @pytest.mark.usefixtures("short_transactions")
    @pytest.mark.parametrize("percent", [50, 99])
    def test_f6_r5_a_worker_that_is_killed(self, mongodb_uri: str, database_prefix: str, percent: int) -> None:
        body = form(account(), file_part("a", content=png(20_000_000)))
        with serving(mongodb_uri, f"{database_prefix}kill_") as server:
            with server.connect() as connection:
                connection.sendall(server.signup_head(len(body)) + body[: len(body) * percent // 100])
                wait_until(lambda: chunks(server) > 0, 30)
                server.kill()
            assert left(server) == {"uploads": 1}
            assert "removed 0 files" in server.command("sweep")
            assert "removed 1 files" in server.sweep()
            assert stored(server.database) == {}

    @pytest.mark.usefixtures("short_transactions")
    def test_r5_one_of_two_workers_is_killed(self, mongodb_uri: str, database_prefix: str) -> None:
        with serving(mongodb_uri, f"{database_prefix}two_", workers=2) as server:
            wait_until(lambda: len(server.workers()) == 2, 30)
            victim = server.workers()[0]
            uploads = [threading.Thread(target=_upload_slowly, args=(server, n)) for n in range(8)]
            for upload in uploads:
                upload.start()
            wait_until(lambda: chunks(server) > 0, 30)
            os.kill(victim, signal.SIGKILL)
            for upload in uploads:
                upload.join()
            wait_until(lambda: len(server.workers()) == 2 and victim not in server.workers(), 30)
            server.sweep()
            counts = stored(server.database)
            assert counts.get("users", 0) == counts.get("files.files", 0)
            assert "uploads" not in counts
            for user in server.database["users"].find():
                assert (
                    len(httpx2.get(f"{server.url}/files/{user['data']['a'].rpartition('/')[2]}").content) == 3_000_000
                )
            assert server.signup(form(account("last@example.com"), file_part("a"))).status_code == 201


def _upload_slowly(server: Server, number: int) -> None:
    body = form(account(f"user{number}@example.com"), file_part("a", content=png(3_000_000)))
    try:
        with server.connect() as connection:
            connection.sendall(server.signup_head(len(body)))
            for begin in range(0, len(body), 300_000):
                connection.sendall(body[begin : begin + 300_000])
                time.sleep(0.1)
            receive(connection)
    except OSError:
        return


def test_a_file_that_loses_a_chunk_ends_the_connection_early(server: Server) -> None:
    answer = server.signup(form(account(), file_part("a", content=png(5_000_000))))
    server.database["files.chunks"].delete_one({"n": 12})
    url = f"{server.url}/files/{answer.json()['user']['data']['a'].rpartition('/')[2]}"
    with pytest.raises(httpx2.RemoteProtocolError):
        httpx2.get(url)
    assert server.request("GET", "/health/live").status_code == 200


def test_a_service_that_restarts_still_has_its_files(server: Server) -> None:
    name = server.signup(form(account(), file_part("a"))).json()["user"]["data"]["a"].rpartition("/")[2]
    server.kill()
    server.process = start(server.environment, server.port, 1)
    wait_until(lambda: _is_up(server), 60)
    assert httpx2.get(f"{server.url}/files/{name}").content == PNG


def _is_up(server: Server) -> bool:
    try:
        return server.request("GET", "/health/ready").status_code == 200
    except httpx2.TransportError:
        return False


def test_f7_parallel_uploads_take_little_memory(server: Server) -> None:
    """The short form of scripts/bench_uploads.py: 5 uploads of 50 MB at once."""
    server.signup(form(account("first@example.com"), file_part("a", content=png(10_000_000))))
    base = peak_memory(server.process.pid)
    body = form(file_part("a", content=png(MAX_FILE_BYTES)))
    threads = [threading.Thread(target=_send, args=(server, n, body)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.database["files.files"].count_documents({"length": MAX_FILE_BYTES}) == 5
    assert peak_memory(server.process.pid) - base <= 5 * 8 * MIB


def _send(server: Server, number: int, body: bytes) -> None:
    head = account(f"user{number}@example.com")
    with server.connect() as connection:
        connection.sendall(server.signup_head(len(head) + len(body)) + head)
        connection.sendall(body)
        receive(connection)

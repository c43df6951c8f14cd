"""THREATS rows V12 and V13: workers that die in a transaction, and processes whose event loop stands still."""

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from pymongo import MongoClient

from faults.server import Server, is_live
from faults.server import serving as serving_project
from faults.standstill import Outcome, halt_all, serving
from faults.waiting import wait_until
from service.embedded.mongod import embedded_mongodb

DOCUMENTS = 9_000
# With shorter constants than those of people: a loop that stands still so long is taken for dead.
SILENT_SECONDS = 5.0
BACK_SECONDS = 5.0
# The row's own bound.
REPLACED_SECONDS = 60.0


def test_v13_workers_whose_loops_stand_still_are_replaced(tmp_path: Path, mongodb_uri: str) -> None:
    outcome = Outcome()
    with serving(mongodb_uri, tmp_path, workers=2, silent_seconds=SILENT_SECONDS) as service:
        halt_all(service, outcome, within=REPLACED_SECONDS)
    # Silence counts from the last answer, which was some time before the halt. A worker that had not answered has 30 s.
    assert SILENT_SECONDS / 2 <= outcome.replaced[0] < REPLACED_SECONDS


def test_v13_a_process_without_a_parent_ends_with_a_line_and_status_1(tmp_path: Path, mongodb_uri: str) -> None:
    with serving(mongodb_uri, tmp_path, workers=1, silent_seconds=SILENT_SECONDS) as service:
        halted = time.monotonic()
        os.kill(service.process.pid, signal.SIGUSR1)
        assert service.process.wait(REPLACED_SECONDS) == 1
        assert time.monotonic() - halted >= SILENT_SECONDS / 2
        lines = [line for line in service.log.read_text().splitlines() if "loop_stands_still" in line]
    assert len(lines) == 1
    assert "faults/standstill.py" in lines[0]


SUSPENDED = """
import asyncio, time
from service.server.run import watch_loop

async def main():
    loop = asyncio.get_running_loop()
    watch_loop(lambda: loop, 2.0)
    await asyncio.sleep(1)
    print("busy", flush=True)
    time.sleep(1.5)
    await asyncio.sleep(1)

asyncio.run(main())
"""


def test_v13_a_process_that_was_suspended_goes_on() -> None:
    """It was at work in that moment, so that its loop had yet to answer."""
    with Popen([sys.executable, "-c", SUSPENDED], stdout=PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == "busy\n"
        time.sleep(0.7)
        process.send_signal(signal.SIGSTOP)
        time.sleep(3)
        process.send_signal(signal.SIGCONT)
        assert process.wait(30) == 0


def test_v13_a_loop_that_moves_is_left_alone(tmp_path: Path, mongodb_uri: str) -> None:
    with serving(mongodb_uri, tmp_path, workers=2, silent_seconds=SILENT_SECONDS) as service:
        before = service.workers()
        time.sleep(2 * SILENT_SECONDS)
        assert service.workers() == before


def transactions(client: MongoClient[Any], kinds: tuple[str, ...]) -> list[dict[str, Any]]:
    found = client.admin.aggregate([{"$currentOp": {"allUsers": True, "idleSessions": True}}])
    return [each for each in found if each["type"] in kinds and "transaction" in each and "lsid" in each]


def halt_in_a_transaction(server: Server, client: MongoClient[Any]) -> bool:
    """True if the workers were halted while one had a transaction open that waits for its next command."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if transactions(client, ("op", "idleSession")):
            for pid in server.workers():
                os.kill(pid, signal.SIGSTOP)
            time.sleep(0.5)
            if transactions(client, ("idleSession",)):
                return True
            for pid in server.workers():
                os.kill(pid, signal.SIGCONT)
    return False


def test_v12_documents_of_a_killed_workers_transaction_are_back_within_five_seconds(tmp_path: Path) -> None:
    with (
        embedded_mongodb(tmp_path) as uri,
        MongoClient[dict[str, Any]](uri) as client,
        serving_project(uri, "v12_", workers=2) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        server.request("POST", "/api/collections", json={"name": "things", "schema": {"n": {"type": "integer"}}})
        rows = "\n".join('{"data": {"n": 1}}' for _ in range(DOCUMENTS))
        imported = server.request(
            "POST", "/api/collections/things/import", content=rows, headers={"content-type": "application/x-ndjson"}
        )
        assert imported.json()["created"] == DOCUMENTS, imported.text
        change = {"where": {}, "increment": {"n": 1}, "expect": DOCUMENTS}
        path = "/api/collections/things/documents"
        update = pool.submit(server.request, "POST", "/api/collections/things/update", json=change)
        assert halt_in_a_transaction(server, client)
        for pid in server.workers():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not transactions(client, ("idleSession",)), BACK_SECONDS)
        assert isinstance(update.exception(30), Exception)
        wait_until(lambda: is_live(server), 60)
        documents = server.request("GET", f"{path}?limit=1000&sort_by=created_at").json()["documents"]
        answers = {
            server.request("PATCH", f"{path}/{each['id']}", json={"data": {"n": 7}}).status_code
            for each in documents[:50]
        }
        assert answers == {200}

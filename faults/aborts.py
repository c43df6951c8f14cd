"""Uploads cut short at random points, by clients that leave, workers and a MongoDB that are killed; then one sweep.

`python -m faults.aborts [--documents] [--uploads 1000] [--seed 4]`. Prints what is left that should not be; fails unless
that is nothing.
"""

import os
import random
import re
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import httpx2
import typer
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from faults.server import Server, serving
from faults.uploads import DocumentFiles, Target, UserPictures
from faults.waiting import wait_until
from service.embedded.mongod import embedded_mongodb

SENDERS = 8
PIECE = 65_536
KILL_WORKER_EVERY = 40
KILL_MONGODB_EVERY = 150


def main(
    uploads: Annotated[int, typer.Option(help="How many uploads must be cut short.", min=1)] = 1_000,
    seed: Annotated[int, typer.Option(help="What the random points are drawn from.")] = 4,
    documents: Annotated[bool, typer.Option("--documents", help="To documents instead of to users.")] = False,
) -> None:
    """Cut uploads short, sweep once, and look for what is left."""
    report = abort_uploads(uploads, seed=seed, target=DocumentFiles() if documents else UserPictures())
    typer.echo("\n".join(f"{name}: {count}" for name, count in report.items()))
    if any(report[name] for name in FAULTS):
        raise typer.Exit(1)


def abort_uploads(uploads: int, *, seed: int, target: Target) -> dict[str, int]:
    """Returns the counts of `cut_short`, with two workers on a MongoDB of their own."""
    with (
        TemporaryDirectory() as folder,
        mongod(Path(folder)) as database,
        serving(database.uri, "aborts_", workers=2) as server,
    ):
        return cut_short(server, database, target, uploads=uploads, seed=seed)


@dataclass
class Mongod:
    """An embedded MongoDB that can be killed, and comes back on the same port."""

    uri: str
    pid: int

    def kill_and_await(self) -> None:
        """Kills the MongoDB and waits until the service that embeds it has started another as primary."""
        killed = self.pid
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: _pid(self.uri) not in {None, killed}, 60)
        self.pid = _pid(self.uri) or killed
        wait_until(lambda: _is_primary(self.uri), 60)
        give_up_soon(self.uri)


@contextmanager
def mongod(folder: Path) -> Iterator[Mongod]:
    with embedded_mongodb(folder) as uri:
        give_up_soon(uri)
        yield Mongod(uri, _pid(uri) or 0)


def _pid(uri: str) -> int | None:
    """The server's process; None while none answers."""
    with MongoClient[dict[str, object]](uri, serverSelectionTimeoutMS=300) as client, suppress(PyMongoError):
        return int(str(client.admin.command("serverStatus")["pid"]))
    return None


def give_up_soon(uri: str) -> None:
    """Transactions of killed workers end after 2 seconds instead of a minute, so that the sweep need not wait for them."""
    with MongoClient[dict[str, object]](uri) as client:
        client.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=2)


def _answers(uri: str) -> bool:
    with MongoClient[dict[str, object]](uri, serverSelectionTimeoutMS=300) as client, suppress(PyMongoError):
        client.admin.command("ping")
        return True
    return False


def _is_primary(uri: str) -> bool:
    with MongoClient[dict[str, object]](uri, serverSelectionTimeoutMS=300) as client, suppress(PyMongoError):
        return bool(client.admin.command("hello").get("isWritablePrimary"))
    return False


@dataclass
class Run:
    """State the senders share: the seed's draws, and the outcomes of the uploads so far."""

    server: Server
    target: Target
    choices: random.Random
    wanted: int
    outcomes: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_over(self) -> bool:
        return self.outcomes["cut short"] >= self.wanted

    @property
    def sent(self) -> int:
        return self.outcomes["cut short"] + self.outcomes["acknowledged"]

    def send_until_over(self) -> None:
        while not self.is_over:
            with self.lock:
                request = self.target.request(self.choices)
                share, pause = min(1.0, self.choices.random() * 1.15), self.choices.random() / 20
            outcome = _outcome(self.server, request, share, pause)
            with self.lock:
                self.outcomes[outcome] += 1


def cut_short(server: Server, database: Mongod, target: Target, *, uploads: int, seed: int) -> dict[str, int]:
    """Sends until so many uploads were not acknowledged, sweeps once, and counts what came of it and what is left."""
    target.prepare(server)
    run = Run(server, target, random.Random(seed), uploads)  # noqa: S311 - a fixed seed repeats the draws
    senders = [threading.Thread(target=run.send_until_over) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    _kill_now_and_then(run, database)
    for sender in senders:
        sender.join()
    # The last transactions of killed workers end, and the service removes what clients left that went last.
    time.sleep(6)
    wait_until(lambda: _answers(database.uri), 60)
    return {**run.outcomes, **left_behind(server, target, server.sweep())}


def _kill_now_and_then(run: Run, database: Mongod) -> None:
    next_worker, next_mongod = KILL_WORKER_EVERY // 2, KILL_MONGODB_EVERY // 4
    while not run.is_over:
        time.sleep(0.05)
        if run.sent >= next_worker and (workers := run.server.workers()):
            os.kill(workers[0], signal.SIGKILL)
            run.outcomes["workers killed"] += 1
            next_worker = run.sent + KILL_WORKER_EVERY
        if run.sent >= next_mongod:
            database.kill_and_await()
            run.outcomes["MongoDB killed"] += 1
            next_mongod = run.sent + KILL_MONGODB_EVERY


def _outcome(server: Server, request: bytes, share: float, pause: float) -> str:
    """Sends a share of a request; what became of it."""
    try:
        connection = server.connect()
    except OSError:
        time.sleep(0.05)
        return "not connected"
    with connection, suppress(OSError):
        _send_share(connection, request, share, pause)
        if share == 1 and connection.recv(PIECE).startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 201 ")):
            return "acknowledged"
    return "cut short"


def _send_share(connection: socket.socket, raw: bytes, share: float, pause: float) -> None:
    stop = int(len(raw) * share)
    connection.sendall(raw[: stop // 2])
    time.sleep(pause)
    connection.sendall(raw[stop // 2 : stop])


FAULTS = (
    "orphan chunks",
    "files without a record",
    "records pointing at nothing",
    "files of two records",
    "unreadable files",
    "intents",
)


def left_behind(server: Server, target: Target, swept: str) -> dict[str, int]:
    """The number of files a sweep removed, and the faults it left: all must be 0."""
    database = server.database
    files = {_image(file["_id"]) for file in database["files.files"].find({}, {"_id": 1})}
    names = list(target.names(database))
    named = set(names)
    chunks = list(database["files.chunks"].aggregate([{"$group": {"_id": "$files_id", "chunks": {"$sum": 1}}}]))
    return {
        "files that records name": len(names),
        "files removed by the sweep": int(re.findall(r"removed (\d+) files", swept)[0]),
        "orphan chunks": sum(row["chunks"] for row in chunks if _image(row["_id"]) not in named),
        "files without a record": len(files - named),
        "records pointing at nothing": len(named - files),
        "files of two records": len(names) - len(named),
        "unreadable files": sum(1 for name in named if not _is_readable(server, name)),
        "intents": database["uploads"].count_documents({}),
    }


def _image(name: str) -> str:
    """The id of the image; for a variant, of the image it was made from."""
    return name.partition("~")[0]


def _is_readable(server: Server, name: str) -> bool:
    length = server.database["files.files"].find_one({"_id": name}, {"length": 1}) or {}
    try:
        return len(httpx2.get(f"{server.url}/files/{name}", timeout=30).content) == length.get("length")
    except httpx2.TransportError:
        return False


if __name__ == "__main__":
    typer.run(main)

"""A replica set of mongod processes on loopback, whose members can be killed and brought back."""

import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from service.embedded.folder import mongod_binary

NAME = "faults"
ELECTION_MS = 1_000
PATIENCE_SECONDS = 90.0
STUCK_SECONDS = 30.0


class Member:
    """One mongod with a port and a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.port = _steady_port()
        self._folder = folder / str(self.port)
        self._folder.mkdir()
        self.process = self._spawn()

    def _spawn(self) -> subprocess.Popen[bytes]:
        options = ["--dbpath", str(self._folder), "--port", str(self.port), "--bind_ip", "127.0.0.1", "--nounixsocket"]
        options += ["--replSet", NAME, "--logpath", str(self._folder / "log"), "--logappend", "--quiet"]
        options += ["--wiredTigerCacheSizeGB", "0.25", "--setParameter", "diagnosticDataCollectionEnabled=false"]
        return subprocess.Popen([str(mongod_binary()), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def client(self) -> MongoClient[dict[str, Any]]:
        return MongoClient(f"mongodb://{self.host}/?directConnection=true", serverSelectionTimeoutMS=2_000)

    def hello(self) -> dict[str, Any]:
        """The member's answer to `hello`; empty while it does not answer."""
        try:
            with self.client() as client:
                return client.admin.command("hello")
        except PyMongoError:
            return {}

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def revive(self) -> None:
        self.process = self._spawn()

    def running(self) -> bool:
        """True while the process lives; if it ended of itself, the assertion shows its log."""
        assert self.process.poll() is None, self.log()
        return True

    def log(self) -> str:
        return (self._folder / "log").read_text()[-3000:]


class ReplicaSet:
    """So many members, initiated, with a primary."""

    def __init__(self, folder: Path, size: int, election_ms: int) -> None:
        self.members = [Member(folder) for _ in range(size)]
        _until(lambda: all(member.hello() for member in self.members))
        config = {
            "_id": NAME,
            "members": [{"_id": i, "host": member.host} for i, member in enumerate(self.members)],
            "settings": {"electionTimeoutMillis": election_ms, "heartbeatIntervalMillis": 500},
        }
        with self.members[0].client() as client:
            client.admin.command("replSetInitiate", config)
        self.primary()
        self.wait_whole()

    @property
    def uri(self) -> str:
        return f"mongodb://{','.join(member.host for member in self.members)}/?replicaSet={NAME}"

    def primary(self) -> Member:
        """The member that takes writes, as soon as there is one."""
        _until(lambda: self._primaries() != [])
        return self._primaries()[0]

    def _primaries(self) -> list[Member]:
        return [member for member in self.members if member.hello().get("isWritablePrimary")]

    def wait_whole(self) -> None:
        """Returns when every member is a primary or a secondary, so that one more may be killed."""
        _until(lambda: all(member.running() and _serves(member.hello()) for member in self.members), self.states)

    def heal(self) -> int:
        """As `wait_whole`, but a member that does not find back by itself is restarted; how many times that was needed.

        On a busy machine a secondary of MongoDB 6.0 may stay in recovery for minutes after several changes of primary.
        """
        restarts = 0
        while not self._whole_within(STUCK_SECONDS):
            for member in self.members:
                if not _serves(member.hello()):
                    member.kill()
                    member.revive()
                    restarts += 1
            assert restarts < 10, self.states()
        return restarts

    def _whole_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not all(member.running() and _serves(member.hello()) for member in self.members):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def states(self) -> str:
        """Each member's view of itself and of the others, with the end of its log, to explain a failure."""
        return "\n\n".join(f"{member.host}: {member.hello()}\n{member.log()}" for member in self.members)


def _steady_port() -> int:
    """A free port below those that the kernel gives to outgoing connections: one of them could take it between two lives."""
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(15_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _serves(hello: dict[str, Any]) -> bool:
    return bool(hello.get("isWritablePrimary") or hello.get("secondary"))


def _until(condition: Callable[[], bool], describe: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"the replica set did not come up in time: {describe()}"
        time.sleep(0.05)


@contextmanager
def replica_set(folder: Path, size: int = 3, *, election_ms: int = ELECTION_MS) -> Iterator[ReplicaSet]:
    """One that runs while the context lasts."""
    members = ReplicaSet(folder, size, election_ms)
    try:
        yield members
    finally:
        for member in members.members:
            member.kill()

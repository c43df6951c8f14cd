"""THREATS rows V16 and V23 to V25: what clients of realtime ask for does not stay in the worker's memory."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from faults.server import Server, serving

MIB = 1_048_576
PATIENCE = 120.0
Frame = dict[str, Any]


@pytest.fixture(scope="module")
def worker(mongodb_uri: str, database_prefix: str) -> Iterator[Server]:
    """A process of its own: what other tests left in one would hide what these add."""
    with serving(mongodb_uri, f"{database_prefix}memory_") as server:
        yield server


class Socket:
    """A server's socket, one frame after the other."""

    def __init__(self, server: Server, connection: ClientConnection) -> None:
        self.connection = connection
        self.say(type="hello", key=server.key)
        self.next("ready")

    def say(self, **message: Any) -> None:
        self.connection.send(json.dumps(message))

    def next(self, *types: str) -> Frame:
        """The next frame but ticks; it is one of `types`."""
        frame: Frame = {"type": "tick"}
        while frame["type"] == "tick":
            frame = json.loads(self.connection.recv(PATIENCE))
        assert frame["type"] in types, str(frame)[:200]
        return frame


@contextmanager
def opened(worker: Server) -> Iterator[Socket]:
    with connect(f"ws://127.0.0.1:{worker.port}/realtime", compression=None, max_size=None) as connection:
        yield Socket(worker, connection)


def fill(server: Server, name: str, *, count: int, size: int) -> list[str]:
    """A live collection of documents of that size; their ids."""
    schema = {"text": {"type": "string"}, "kind": {"type": "string"}}
    made = server.request("POST", "/api/collections", json={"name": name, "schema": schema, "realtime": True})
    assert made.status_code == 201, made.text
    ids = []
    for _ in range(count):
        body = {"data": {"text": "x" * size, "kind": "a"}}
        answer = server.request("POST", f"/api/collections/{name}/documents", json=body)
        assert answer.status_code == 201, answer.text
        ids.append(str(answer.json()["id"]))
    return ids


def resident(server: Server, name: str = "VmRSS") -> float:
    """MiB of the worker (proc(5))."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) / 1024


def test_v23_refused_first_snapshots_leave_nothing_in_memory(worker: Server) -> None:
    """Documents of 200 KB: a snapshot of them exceeds 4 MiB."""
    fill(worker, "large", count=25, size=200_000)

    def refuse(times: int) -> None:
        with opened(worker) as socket:
            for _ in range(times):
                socket.say(type="subscribe", id="m", collection="large")
                assert socket.next("closed")["code"] == "page_too_large"

    refuse(20)
    before = resident(worker)
    refuse(100)
    refuse(100)
    grown = resident(worker) - before
    assert grown <= 10, f"{grown:.1f} MiB"

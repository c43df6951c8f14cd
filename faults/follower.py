"""A client of /realtime that reconnects whenever its socket ends, and counts every wrong message."""

import asyncio
import json
import random
from collections import Counter
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

Frame = dict[str, Any]
ID = "f"
LIMIT = 1_000
# Errors that pass once the database is back.
PASSING = frozenset({"unavailable", "busy", "query_too_slow"})
# Seconds away at most: long enough to miss changes, and short of the gap that forces a resync.
AWAY_SECONDS = 0.3
CONNECT_SECONDS = 10.0


class Follower:
    """Keeps `records` in step with a query of `collection`, whose documents are changed one version at a time.

    `tally` counts the messages: snapshots, resumed, resyncs, changes. `faults` counts messages that must not come: an
    `enter` of a record that is there, a `change` that was delivered before or skips a version, a `leave` of a record
    that is not there, a snapshot older than an earlier message.
    """

    def __init__(self, port: int, key: str, collection: str, where: dict[str, Any], chance: random.Random) -> None:
        self.where = where
        self.records: dict[str, Frame] = {}
        self.tally: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self._url = f"ws://127.0.0.1:{port}/realtime"
        self._key = key
        self._query = {"collection": collection, "where": where, "limit": LIMIT}
        self._chance = chance
        self._cursor: str | None = None
        self._socket: ClientConnection | None = None

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            with suppress(OSError, WebSocketException, TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    self._socket = await connect(self._url, compression=None, max_size=None, close_timeout=1)
                async with self._socket:
                    await self._follow(self._socket)
            await asyncio.sleep(self._chance.uniform(0, AWAY_SECONDS))

    async def _follow(self, socket: ClientConnection) -> None:
        after = {"after": self._cursor} if self._cursor is not None else {}
        await socket.send(json.dumps({"type": "hello", "key": self._key}))
        await socket.send(json.dumps({"type": "subscribe", "id": ID, **self._query, **after}))
        is_first = True
        async for raw in socket:
            frame = json.loads(raw)
            if frame["type"] == "closed" and frame["code"] in PASSING:
                self.tally["put off"] += 1
                return
            if is_first and frame["type"] in {"snapshot", "changes"}:
                self.tally["resumed" if frame["type"] == "changes" else "began anew"] += 1
                is_first = False
            self._read(frame)

    def drop(self) -> bool:
        """Ends the connection in the middle of whatever comes; whether there was one."""
        if self._socket is None or self._cursor is None:
            return False
        self._socket.transport.abort()
        self._socket = None
        return True

    def _read(self, frame: Frame) -> None:
        kind = frame["type"]
        if kind in {"closed", "error"}:
            self.faults[f"{kind}: {frame.get('code', frame.get('detail'))}"] += 1
        self.tally[kind] += 1
        if kind == "snapshot":
            self._read_snapshot(frame)
        if kind == "changes":
            for change in frame["changes"]:
                self._read_change(change)
        self._cursor = frame.get("cursor") or frame.get("cursors", {}).get(ID) or self._cursor

    def _read_snapshot(self, frame: Frame) -> None:
        found = {each["id"]: each for each in frame["documents"]}
        self.faults["cut short"] += not frame["complete"]
        known = self.records.keys() & found.keys()
        self.faults["back in time"] += sum(found[each]["version"] < self.records[each]["version"] for each in known)
        self.records = found

    def _read_change(self, change: Frame) -> None:
        self.tally["records"] += 1
        if change["op"] == "leave":
            self.faults["left twice"] += self.records.pop(change["document_id"], None) is None
            return
        document = change["document"]
        known = self.records.get(document["id"])
        self.records[document["id"]] = document
        if change["op"] == "enter":
            self.faults["entered twice"] += known is not None
        elif known is None:
            self.faults["never entered"] += 1
        else:
            step = document["version"] - known["version"]
            self.faults["told twice"] += step <= 0
            self.faults["never told"] += step > 1

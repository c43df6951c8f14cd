"""The rate at which documents go in and out as files, the memory that takes, and the latency of another project
meanwhile.

`scripts/bench_transfers [DOCUMENTS]`: one worker on an embedded MongoDB of its own; 100,000 documents without a number.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from bench.probe import Probe
from faults.server import NO_LIMITS, Server, peak_memory, serving
from service.embedded.mongod import embedded_mongodb

COLLECTION = "/api/collections/things"
SCHEMA = {
    "sku": {"type": "string", "required": True, "unique": True},
    "name": {"type": "string"},
    "price": {"type": "number"},
    "stock": {"type": "integer"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "made": {"type": "datetime"},
}
MEGABYTE = 1_048_576


def main() -> None:
    """Imports, imports once more as upserts, exports, and prints a line for each."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("documents", type=int, nargs="?", default=100_000)
    count = arguments.parse_args().documents
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_mongodb(Path(folder)) as uri,
        serving(uri, "bench_transfers_") as server,
    ):
        other = json.loads(server.command("project", "create", "Other", "--json", *NO_LIMITS))
        _measure(server, other["api_key"], count)


def _measure(server: Server, probe_key: str, count: int) -> None:
    server.request("POST", "/api/collections", json={"name": "things", "schema": SCHEMA}).raise_for_status()
    with Probe(server, probe_key) as probe:
        time.sleep(1)
        _print("idle", 0, 1, server, probe)
        for query in ("", "?mode=upsert&by=sku"):
            started = time.monotonic()
            answer = _import(server, query, count if not query else count // 10)
            done = answer["created"] + answer["updated"]
            _print(f"import{query}", done, time.monotonic() - started, server, probe)
        for format_ in ("ndjson", "csv"):
            started = time.monotonic()
            lines = _export(server, format_)
            _print(f"export {format_}", lines, time.monotonic() - started, server, probe)


def _import(server: Server, query: str, count: int) -> dict[str, Any]:
    def body() -> Iterator[bytes]:
        for start in range(0, count, 100):
            yield b"".join(_line(number) for number in range(start, min(start + 100, count)))

    headers = {"x-api-key": server.key, "content-type": "application/x-ndjson"}
    answer = httpx2.post(f"{server.url}{COLLECTION}/import{query}", content=body(), headers=headers, timeout=3_600)
    if answer.status_code != 200:
        raise SystemExit(answer.text)
    found: dict[str, Any] = answer.json()
    return found


def _line(number: int) -> bytes:
    data = {
        "sku": f"sku-{number}",
        "name": f"Thing number {number}",
        "price": number % 997 / 10,
        "stock": number % 50,
        "tags": ["one", "two"],
        "made": "2026-01-31T12:00:00Z",
    }
    return json.dumps({"data": data}).encode() + b"\n"


def _export(server: Server, format_: str) -> int:
    headers, lines = {"x-api-key": server.key}, 0
    with httpx2.stream(
        "GET", f"{server.url}{COLLECTION}/export?format={format_}", headers=headers, timeout=600
    ) as answer:
        for piece in answer.iter_bytes():
            lines += piece.count(b"\n")
    return lines


def _cpu_seconds(pid: int) -> float:
    """The CPU seconds of a process (proc(5), fields utime and stime)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _print(what: str, documents: int, seconds: float, server: Server, probe: Probe) -> None:
    memory, cpu = peak_memory(server.process.pid) / MEGABYTE, _cpu_seconds(server.process.pid)
    print(  # noqa: T201 - figures for a person
        f"{what}: {documents} documents, {documents / seconds:,.0f} a second; "
        f"the service used {cpu:.1f} s of the processor so far; peak memory {memory:.0f} MB; "
        f"a list of another project {probe.take()}",
        flush=True,
    )


if __name__ == "__main__":
    main()

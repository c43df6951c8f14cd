"""Uploads: memory of the service with many at once, and throughput against GridFS's own in the same run.

`python -m bench.uploads [--parallel 20] [--megabytes 50] [--rounds 5]`
"""

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from gridfs.asynchronous import AsyncGridFSBucket

from service.storage.embedded import embedded_mongodb
from service.storage.files import Label, ensure_file_indexes
from service.storage.mongo import Database, connect
from service.storage.uploads import Upload
from tests.live.server import Server, peak_memory, serving
from tests.samples import account, file_part, form, png

MIB = 1_048_576
PIECE = 65_536
PREFIX = "uploads_"

Write = Callable[[Database, str, bytes], Awaitable[None]]


def main(
    parallel: Annotated[int, typer.Option(help="Uploads at once.", min=1)] = 20,
    megabytes: Annotated[int, typer.Option(help="MiB of each file.", min=1, max=50)] = 50,
    rounds: Annotated[int, typer.Option(help="Files written in each way, by turns.", min=1)] = 5,
) -> None:
    """Measure memory and throughput of uploads on a MongoDB of the benchmark's own."""
    with TemporaryDirectory() as folder, embedded_mongodb(Path(folder)) as uri:
        asyncio.run(_throughput(uri, megabytes * MIB, rounds))
        with serving(uri, PREFIX) as server:
            _memory(server, parallel, megabytes * MIB)


async def _throughput(uri: str, length: int, rounds: int) -> None:
    """Both ways by turns, so that whatever else the machine does slows both."""
    content = random.Random(4).randbytes(length)  # noqa: S311 - made-up data
    seconds: dict[str, list[float]] = {"GridFS": [], "service": []}
    async with connect(uri) as client:
        database = client[f"{PREFIX}rate"]
        await ensure_file_indexes(database)
        for number in range(rounds + 1):
            for name, write in (("GridFS", _by_gridfs), ("service", _by_service)):
                started = time.perf_counter()
                await write(database, f"{name}-{number}", content)
                seconds[name].append(time.perf_counter() - started)
                await database["files.chunks"].delete_many({})
        await client.drop_database(database)
    # The first round of each warms up the server's cache and is not counted.
    gridfs, service = (length / MIB / median(seconds[name][1:]) for name in ("GridFS", "service"))
    typer.echo(
        f"GridFS's own {gridfs:.0f} MiB/s, the service's {service:.0f} MiB/s, ratio {service / gridfs:.2f} (goal 0.8)"
    )


async def _by_gridfs(database: Database, name: str, content: bytes) -> None:
    bucket = AsyncGridFSBucket(database, bucket_name="files")
    async with bucket.open_upload_stream_with_id(name, name) as stream:
        async for piece in _pieces(content):
            await stream.write(piece)


async def _by_service(database: Database, name: str, content: bytes) -> None:
    upload = Upload(database)
    await upload.write(Label(name, "owner", "field", name), _pieces(content))

    async def nothing(_: object) -> None:
        return None

    await upload.publish(nothing)


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]


def _memory(server: Server, parallel: int, length: int) -> None:
    for number in range(3):
        _send(server, f"warm{number}@example.com", form(file_part("a", content=png(10 * MIB))))
    base = peak_memory(server.process.pid)
    body = form(file_part("a", content=png(length)))
    started = time.perf_counter()
    threads = [threading.Thread(target=_send, args=(server, f"u{n}@example.com", body)) for n in range(parallel)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    stored = server.database["files.files"].count_documents({"length": length})
    more = (peak_memory(server.process.pid) - base) / MIB
    typer.echo(
        f"{stored} of {parallel} uploads of {length // MIB} MiB at once in {seconds:.1f} s "
        f"({parallel * length / MIB / seconds:.0f} MiB/s): base {base / MIB:.0f} MiB, "
        f"at most {more:.0f} MiB more, {more / parallel:.1f} MiB each (goal 8)"
    )


def _send(server: Server, email: str, body: bytes) -> None:
    head = account(email)
    with server.connect() as connection:
        connection.settimeout(600)
        connection.sendall(server.signup_head(len(head) + len(body)) + head)
        connection.sendall(body)
        connection.recv(PIECE)


if __name__ == "__main__":
    typer.run(main)

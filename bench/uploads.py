"""Uploads beside GridFS itself: how fast they are, and what memory they take."""

import asyncio
import os
import time
from statistics import median
from typing import Any

import httpx2
from gridfs.asynchronous import AsyncGridFSBucket
from pymongo import AsyncMongoClient

from bench.figures import Figure, Goal
from bench.stage import Stage, staged
from service.settings import Settings

MEBIBYTE = 1024 * 1024
SIZE = 50 * MEBIBYTE
AT_ONCE = 4
PDF = b"%PDF-1.7\n"


def measure_uploads(settings: Settings, *, rounds: int) -> list[Figure]:
    """A file of 50 MiB into a profile, and the same bytes into a GridFS bucket, in turns; then four uploads at once."""
    uri = settings.mongodb_uri.get_secret_value() if settings.mongodb_uri else ""
    with staged(settings) as (stage, project):
        return asyncio.run(_measure(stage, uri, project.database.database.name, rounds))


async def _measure(stage: Stage, uri: str, database: str, rounds: int) -> list[Figure]:
    content = PDF + os.urandom(SIZE - len(PDF))
    async with AsyncMongoClient[dict[str, Any]](uri) as client:
        bucket = AsyncGridFSBucket(client[database], "bench_floor")
        await _upload(stage, content)
        pairs = [(await _upload(stage, content), await _store(bucket, content)) for _ in range(rounds)]
        await client[database].drop_collection("bench_floor.files")
        await client[database].drop_collection("bench_floor.chunks")
    ours, bare = (median(column) for column in zip(*pairs, strict=True))
    ratio = median(one / other for one, other in pairs)
    note = f"{ours:.0f} and {bare:.0f} MiB/s; {rounds} pairs of {SIZE // MEBIBYTE} MiB"
    return [Figure("upload ÷ GridFS itself", ratio, "x", Goal(">=", 0.8), note), await _memory(stage, content)]


async def _upload(stage: Stage, content: bytes) -> float:
    """MiB a second."""
    started = time.perf_counter()
    async with httpx2.AsyncClient(base_url=stage.server.url, headers=dict(stage.signed_in), timeout=120) as http:
        files = {"resume": ("resume.pdf", content, "application/pdf")}
        (await http.put("/auth-collections/user", files=files)).raise_for_status()
    return len(content) / MEBIBYTE / (time.perf_counter() - started)


async def _store(bucket: AsyncGridFSBucket, content: bytes) -> float:
    """MiB a second. The file is deleted again within the time, for so is the one that an upload replaces."""
    started = time.perf_counter()
    stored = await bucket.upload_from_stream("resume.pdf", content)
    await bucket.delete(stored)
    return len(content) / MEBIBYTE / (time.perf_counter() - started)


async def _memory(stage: Stage, content: bytes) -> Figure:
    """The most that several uploads at once added to what the process held before."""
    before, most = stage.server.memory(), 0.0
    uploads = asyncio.gather(*(_upload(stage, content) for _ in range(AT_ONCE)))
    while not uploads.done():
        most = max(most, stage.server.memory())
        await asyncio.sleep(0.01)
    await uploads
    note = f"from {before:.0f} to {most:.0f} MiB, {AT_ONCE} uploads of {SIZE // MEBIBYTE} MiB at once"
    return Figure("memory per concurrent upload", max(0.0, most - before) / AT_ONCE, "MiB", Goal("<=", 8), note)

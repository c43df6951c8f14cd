"""Uploads, sweeps and removals on a real MongoDB, cut short between any two writes."""

import hashlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from gridfs.asynchronous import AsyncGridFSBucket

from service.errors import DuplicateValue, FileNotFound, UploadLost
from service.storage.client import Database
from service.storage.databases import ProjectDatabase
from service.storage.files.deletions import condemn_owned, remove, sweep
from service.storage.files.stored import CHUNK_BYTES, FileDamaged, FileMetadata, find_file, read_range
from service.storage.files.uploads import BATCH_CHUNKS, Upload

NOW = timedelta(0)
LONG_AGO = {"$set": {"touched": datetime(2020, 1, 1, tzinfo=UTC)}}


def content(length: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(length)  # noqa: S311


async def pieces(data: bytes, size: int = 65_536) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def label(name: str = "p-1.png", owner: str = "ann", field: str = "picture") -> FileMetadata:
    return FileMetadata(name, owner, field, "my.png")


def record(name: str = "p-1.png") -> Callable[[ProjectDatabase], Awaitable[str]]:
    """A write of a record that names the file."""

    async def write(database: ProjectDatabase) -> str:
        await database.records("users").insert({"_id": "ann", "picture": name})
        return "written"

    return write


async def stored(database: Database, data: bytes, name: str = "p-1.png", owner: str = "ann") -> None:
    upload = Upload(ProjectDatabase(database))
    await upload.write(label(name, owner), pieces(data))
    await upload.publish(_nothing)


async def _nothing(_: ProjectDatabase) -> None:
    return None


async def leftovers(database: Database) -> dict[str, int]:
    names = ("files.files", "files.chunks", "uploads", "users")
    return {name: count for name in names if (count := await database[name].count_documents({}))}


async def read(database: Database, start: int, stop: int) -> bytes:
    file = await find_file(database, "p-1.png")
    return b"".join([piece async for piece in read_range(database, file, start, stop)])


SIZES = [1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, BATCH_CHUNKS * CHUNK_BYTES, BATCH_CHUNKS * CHUNK_BYTES + 7]


@pytest.mark.parametrize("length", SIZES)
@pytest.mark.parametrize("size", [10_000, 5_000_000])
async def test_any_gridfs_program_reads_what_was_written(database: Database, length: int, size: int) -> None:
    data = content(length)
    upload = Upload(ProjectDatabase(database))
    assert await upload.write(label(), pieces(data, size)) == length
    assert await upload.publish(record()) == "written"
    bucket = AsyncGridFSBucket(database, bucket_name="files")
    assert await (await bucket.open_download_stream("p-1.png")).read() == data
    assert await (await bucket.open_download_stream_by_name("p-1.png")).read() == data
    assert await read(database, 0, length) == data
    assert await database["uploads"].count_documents({}) == 0


async def test_a_file_of_any_gridfs_program_is_read(database: Database) -> None:
    data = content(700_000)
    bucket = AsyncGridFSBucket(database, bucket_name="files", chunk_size_bytes=100_000)
    await bucket.upload_from_stream_with_id("p-1.png", "p-1.png", data)
    assert await read(database, 99_999, 600_001) == data[99_999:600_001]


RANGES = [
    (0, 1),
    (0, CHUNK_BYTES),
    (CHUNK_BYTES - 1, CHUNK_BYTES + 1),
    (CHUNK_BYTES, CHUNK_BYTES * 6 + 5),
    (1_999_999, 2_000_000),
    (5, 5),
]


@pytest.mark.parametrize(("start", "stop"), RANGES)
async def test_a_range_is_exactly_those_bytes(database: Database, start: int, stop: int) -> None:
    data = content(2_000_000)
    await stored(database, data)
    assert await read(database, start, stop) == data[start:stop]


@pytest.mark.parametrize("change", ["missing", "short", "missing last", "doubled"])
async def test_a_damaged_file_is_never_read_as_a_shorter_one(database: Database, change: str) -> None:
    await stored(database, content(2_000_000))
    chunks = database["files.chunks"]
    match change:
        case "missing":
            await chunks.delete_one({"n": 5})
        case "missing last":
            await chunks.delete_one({"n": 7})
        case "short":
            await chunks.update_one({"n": 5}, {"$set": {"data": b"x"}})
        case "doubled":
            await chunks.update_one({"n": 5}, {"$set": {"n": 9}})
    received = bytearray()
    file = await find_file(database, "p-1.png")
    with pytest.raises(FileDamaged):  # noqa: PT012 - what came before the error is looked at
        async for piece in read_range(database, file, 0, file.length):
            received += piece
    assert len(received) < file.length


async def test_nothing_can_be_read_before_the_file_is_whole(database: Database) -> None:
    upload = Upload(ProjectDatabase(database))

    async def watched() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield content(100_000)
            with pytest.raises(FileNotFound):
                await find_file(database, "p-1.png")

    await upload.write(label(), watched())
    assert (await find_file(database, "p-1.png")).length == 4_000_000


async def test_f6_an_aborted_upload_leaves_nothing(database: Database) -> None:
    upload = Upload(ProjectDatabase(database))

    async def broken() -> AsyncIterator[bytes]:
        yield content(3_000_000)
        raise ConnectionError

    await upload.write(label("p-0.png"), pieces(b"whole"))
    with pytest.raises(ConnectionError):
        await upload.write(label(), broken())
    assert (await leftovers(database))["files.chunks"] > 1
    await upload.abort()
    assert await leftovers(database) == {}


async def test_an_upload_whose_record_is_refused_can_be_aborted(database: Database) -> None:
    await database["users"].insert_one({"_id": "ann"})
    upload = Upload(ProjectDatabase(database))
    await upload.write(label(), pieces(b"data"))
    with pytest.raises(DuplicateValue):
        await upload.publish(record())
    await upload.abort()
    assert await leftovers(database) == {"users": 1}


async def test_a_published_upload_cannot_be_aborted(database: Database) -> None:
    upload = Upload(ProjectDatabase(database))
    await upload.write(label(), pieces(b"data"))
    await upload.publish(record())
    await upload.abort()
    assert await read(database, 0, 4) == b"data"


class TestSweep:
    """A sweep removes abandoned uploads, and nothing else."""

    async def test_an_upload_cut_short_anywhere_is_removed(self, database: Database) -> None:
        upload = Upload(ProjectDatabase(database))
        await upload.write(label("p-0.png"), pieces(content(600_000)))
        await upload.store([{"files_id": "p-1.png", "n": 0, "data": b"x"}])
        swept = await sweep(ProjectDatabase(database), abandoned_after=NOW)
        assert (swept.intents, swept.files) == (1, 1)
        await database["files.chunks"].delete_many({"files_id": "p-1.png"})
        assert await leftovers(database) == {}

    async def test_an_upload_that_goes_on_is_left_alone(self, database: Database) -> None:
        upload = Upload(ProjectDatabase(database))
        await upload.write(label(), pieces(content(600_000)))
        assert (await sweep(ProjectDatabase(database))).files == 0
        await upload.publish(record())
        assert (await sweep(ProjectDatabase(database), abandoned_after=NOW)).files == 0
        assert await leftovers(database) == {"files.files": 1, "files.chunks": 3, "users": 1}

    async def test_a_slow_upload_that_was_swept_cannot_add_a_chunk(self, database: Database) -> None:
        upload = Upload(ProjectDatabase(database))

        async def slow() -> AsyncIterator[bytes]:
            yield content(BATCH_CHUNKS * CHUNK_BYTES)
            await database["uploads"].update_one({}, LONG_AGO)
            assert (await sweep(ProjectDatabase(database))).files == 1
            yield content(BATCH_CHUNKS * CHUNK_BYTES)

        with pytest.raises(UploadLost):
            await upload.write(label(), slow())
        assert await leftovers(database) == {}

    async def test_a_slow_upload_is_renewed_by_every_batch(self, database: Database) -> None:
        upload = Upload(ProjectDatabase(database))

        async def slow() -> AsyncIterator[bytes]:
            for _ in range(3):
                yield content(BATCH_CHUNKS * CHUNK_BYTES)
                assert (await sweep(ProjectDatabase(database))).files == 0
                await database["uploads"].update_one({}, LONG_AGO)

        await upload.write(label(), slow())
        await upload.publish(record())
        assert await read(database, 0, CHUNK_BYTES) == content(BATCH_CHUNKS * CHUNK_BYTES)[:CHUNK_BYTES]

    async def test_a_record_that_comes_late_is_not_written(self, database: Database) -> None:
        upload = Upload(ProjectDatabase(database))
        await upload.write(label(), pieces(b"data"))
        await database["uploads"].update_one({}, LONG_AGO)
        await sweep(ProjectDatabase(database))
        with pytest.raises(UploadLost):
            await upload.publish(record())
        assert await leftovers(database) == {}

    async def test_a_record_that_comes_between_a_sweeps_writes_is_not_written(self, database: Database) -> None:
        upload = Upload(ProjectDatabase(database))
        await upload.write(label(), pieces(b"data"))
        await database["uploads"].update_one({}, {"$set": {"condemned": True}})
        with pytest.raises(UploadLost):
            await upload.publish(record())
        assert (await sweep(ProjectDatabase(database))).files == 1
        assert await leftovers(database) == {}

    @pytest.mark.parametrize("gone", ["files.files", "files.chunks"])
    async def test_a_sweep_cut_short_is_finished_by_the_next(self, database: Database, gone: str) -> None:
        upload = Upload(ProjectDatabase(database))
        await upload.write(label(), pieces(b"data"))
        await database["uploads"].update_one({}, {"$set": {"condemned": True}})
        await database[gone].delete_many({})
        assert (await sweep(ProjectDatabase(database))).files == 1
        assert await leftovers(database) == {}


class TestOwnedFiles:
    """A replaced file goes only when its own metadata says whose it is, and for which field."""

    @pytest.mark.parametrize(
        ("owner", "field", "goes"), [("ann", "picture", True), ("bob", "picture", False), ("ann", "other", False)]
    )
    async def test_f10_only_the_owners_file_of_that_field(
        self, database: Database, owner: str, field: str, *, goes: bool
    ) -> None:
        await stored(database, b"data")

        async def replace(bound: ProjectDatabase) -> Any:
            return await condemn_owned(bound, owner, {field: "p-1.png"})

        intent = await ProjectDatabase(database).in_transaction(replace)
        assert (intent is not None) == goes
        if intent:
            await remove(ProjectDatabase(database), intent)
        assert (await leftovers(database) == {}) == goes

    async def test_a_replacement_cut_short_after_the_record_is_swept(self, database: Database) -> None:
        await stored(database, b"data")

        async def replace(bound: ProjectDatabase) -> None:
            await condemn_owned(bound, "ann", {"picture": "p-1.png"})

        await ProjectDatabase(database).in_transaction(replace)
        assert (await sweep(ProjectDatabase(database))).files == 1
        assert await leftovers(database) == {}


async def test_content_survives_any_cut(database: Database) -> None:
    data = content(3_333_333)
    cuts = random.Random(7)  # noqa: S311

    async def ragged() -> AsyncIterator[bytes]:
        position = 0
        while position < len(data):
            size = cuts.randint(1, 400_000)
            yield data[position : position + size]
            position += size

    upload = Upload(ProjectDatabase(database))
    await upload.write(label(), ragged())
    assert hashlib.sha256(await read(database, 0, len(data))).digest() == hashlib.sha256(data).digest()

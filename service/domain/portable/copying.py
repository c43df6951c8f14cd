"""Copies one project into an archive while it is used: documents as they were at one moment, and the files they name.

1. The hold keeps files in place that are condemned from now on. 2. The catalog is read, and then the moment is opened.
3. All parts but the chunks of files are read of that moment. Chunks are read afterwards as they are: no name of a file
is ever used twice. 4. If the catalog is another one by now, or the hold ran out, CatalogChanged says so.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from service.domain.portable.archive import ArchiveWriter
from service.domain.portable.manifest import ClusterTime, metadata_name, records_name
from service.domain.portable.packing import pack, store
from service.errors import CatalogChanged, ServiceError
from service.storage.bson_stream import count_documents
from service.storage.databases import ProjectDatabase
from service.storage.file_lists import FileList
from service.storage.files.holds import RENEW_SECONDS, begin_hold, end_hold, renew_hold
from service.storage.files.stored import CHUNKS, FILES
from service.storage.moments import CollectionInfo, Moment, describe_collection, open_moment, read_catalog

# Its caller learns the phase, and how many more documents were read in it.
Advance = Callable[[str, int], None]
Catalog = Mapping[str, CollectionInfo]
# True for a MongoDB collection whose records are copied.
Has = Callable[[str], bool]


def ignore(phase: str, count: int) -> None:
    """Shows no progress."""


@dataclass(frozen=True, slots=True)
class Copied:
    """The moment of a copy, its documents by collection, and the files of which chunks are missing."""

    at: ClusterTime
    counts: Mapping[str, int]
    damaged: list[str]


async def copy_project(database: ProjectDatabase, archive: ArchiveWriter, has: Has, advance: Advance) -> Copied:
    """Raises CatalogChanged, HistoryLost, Unavailable."""
    async with _holding(database):
        catalog = await _read_catalog(database, has)
        moment = await open_moment(database)
        with FileList() as files:
            await _Copy(database, archive, moment, files, advance).run(catalog)
        if await _read_catalog(database, has) != catalog:
            raise CatalogChanged
    counts = {name: archive.members[records_name(name)].documents or 0 for name in catalog}
    return Copied(ClusterTime(t=moment.at.time, i=moment.at.inc), counts, files.damaged)


async def _read_catalog(database: ProjectDatabase, has: Has) -> Catalog:
    found = await read_catalog(database)
    return {name: found[name] for name in sorted(found) if has(name)}


@asynccontextmanager
async def _holding(database: ProjectDatabase) -> AsyncIterator[None]:
    """Holds the files meanwhile. Raises CatalogChanged where the hold ran out, for files may be gone."""
    await begin_hold(database)
    renewing = asyncio.create_task(_renew(database))
    try:
        yield
        if not await renew_hold(database):
            raise CatalogChanged("MongoDB was away for too long during the backup; try again")
    finally:
        renewing.cancel()
        with suppress(ServiceError):
            await end_hold(database)


async def _renew(database: ProjectDatabase) -> None:
    """Once the hold has run out it is not renewed, and `_holding` notices."""
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        with suppress(ServiceError):
            await renew_hold(database)


@dataclass(frozen=True, slots=True)
class _Copy:
    """Copies the collections of one moment into an archive."""

    database: ProjectDatabase
    archive: ArchiveWriter
    moment: Moment
    files: FileList
    advance: Advance

    async def run(self, catalog: Catalog) -> None:
        for name in sorted(catalog, key=_turn):
            await self._fill(name)
        for name, info in catalog.items():
            text = await describe_collection(self.database, name, info)
            self.archive.add(metadata_name(name), text.encode(), packed=True)

    async def _fill(self, name: str) -> None:
        """Packs and writes in a thread; one batch is in memory at a time."""
        phase = "chunks of files" if name == CHUNKS else "documents"
        with self.archive.records(records_name(name), store if name == CHUNKS else pack) as member:
            async for batch in self._read(name):
                count = count_documents(batch)
                await asyncio.to_thread(member.write, batch, count)
                self.advance(phase, count)

    def _read(self, name: str) -> AsyncIterator[bytes]:
        if name == CHUNKS:
            return self.files.read_chunks(self.database)
        return self.files.read_files(self.moment) if name == FILES else self.moment.read(name)


def _turn(name: str) -> int:
    """Files are read behind all other parts, and their chunks last, when the moment is needed no more."""
    return {FILES: 1, CHUNKS: 2}.get(name, 0)

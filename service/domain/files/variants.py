"""Variants of images: those that a collection declares, made when they are first asked for, once, and kept."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from service.bounds import MAX_IMAGE_PIXELS, MAX_VARIANTS_WAITING
from service.domain.collections.catalog import Catalogs
from service.domain.files.files import Files
from service.domain.files.signed_urls import FileLink
from service.domain.projects.lookup import Project
from service.domain.shares import Turns
from service.errors import Busy, CollectionNotFound, FileNotFound, Invalid
from service.images.process import ImageProcess, NotDrawn
from service.storage.files.stored import FileDamaged, StoredFile, read_range
from service.storage.files.variants import find_variant, give_up_turn, store_variant, take_turn, variant_name

# Seconds between two looks if another worker has made the variant, and seconds for all of them.
LOOK_SECONDS, WAIT_SECONDS = 0.1, 60.0
# Seconds a request waits: less than making may take. A repeated request finds the variant made, or further on its way.
ANSWER_SECONDS = 12.0
NOT_POSSIBLE = f"The file is no image of at most {MAX_IMAGE_PIXELS:,} pixels that can be decoded"


class FileVariants:
    """The variants of all projects. A worker draws one at a time, for each project in its turn."""

    def __init__(self, files: Files, catalogs: Catalogs) -> None:
        self._files = files
        self._catalogs = catalogs
        self._process = ImageProcess()
        self._turns = Turns(1, waiting=MAX_VARIANTS_WAITING, retry_after=1)
        self._under_way: dict[str, asyncio.Task[StoredFile]] = {}

    async def find_readable(self, name: str, link: FileLink) -> tuple[StoredFile, int | None]:
        """The variant that `link` names of an image, and for how many seconds more it opens it, as `Files.find_readable`.

        Raises FileNotFound, Busy, Unavailable, and Invalid where the image has none.
        """
        image, seconds = await self._files.find_readable(name, link)
        project = await self._files.find_project(name)
        wanted = await self._find_definition(project, image, link.variant)
        found = await self._find(project, image, wanted)
        if not found.length:
            raise Invalid.one(("query", "variant"), NOT_POSSIBLE, type_="variant_not_possible")
        return found, seconds

    async def _find_definition(self, project: Project, image: StoredFile, variant: str) -> Mapping[str, Any]:
        """The variant's declaration. Raises FileNotFound if there is none."""
        try:
            field = (await self._catalogs.get(project, image.collection)).files.get(image.field)
        except CollectionNotFound:
            raise FileNotFound from None
        declared = (field.variants or {}).get(variant) if field is not None else None
        if declared is None:
            raise FileNotFound
        return asdict(declared)

    async def _find(self, project: Project, image: StoredFile, wanted: Mapping[str, Any]) -> StoredFile:
        name = variant_name(image.name, wanted)
        found = await find_variant(project.database, name)
        if found is not None:
            return found
        if (task := self._under_way.get(name)) is None:
            # Not a part of the first request for it, which may be given up.
            task = self._under_way[name] = asyncio.create_task(self._make(project, image, name, wanted))
            task.add_done_callback(partial(self._end, name))
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.shield(task)
        except TimeoutError:
            raise Busy("The variant is being made, or waits for others; try again") from None

    def _end(self, name: str, task: asyncio.Task[StoredFile]) -> None:
        del self._under_way[name]
        if not task.cancelled():
            # The request that asked for it may be gone; then its exception would be reported as never retrieved.
            task.exception()

    async def _make(self, project: Project, image: StoredFile, name: str, wanted: Mapping[str, Any]) -> StoredFile:
        """By this worker, or by another that was first."""
        for _ in range(int(WAIT_SECONDS / LOOK_SECONDS)):
            async with self._turns.take(project.id):
                is_tried = await self._draw_in_turn(project, image, name, wanted)
            if (found := await find_variant(project.database, name)) is not None:
                return found
            if not is_tried:
                await asyncio.sleep(LOOK_SECONDS)
        raise Busy("Another makes this variant, and is not done; try again")

    async def _draw_in_turn(self, project: Project, image: StoredFile, name: str, wanted: Mapping[str, Any]) -> bool:
        """Makes the variant in this worker's turn; False if another worker has the turn."""
        database = project.database
        if (token := await take_turn(database, name)) is None:
            return False
        try:
            # The worker that had the turn before may have made it.
            if await find_variant(database, name) is None:
                await store_variant(database, image, name, token, await self._draw(project, image, wanted))
        finally:
            await asyncio.shield(give_up_turn(database, name, token))
        return True

    async def _draw(self, project: Project, image: StoredFile, wanted: Mapping[str, Any]) -> bytes:
        """No bytes where it cannot be drawn."""
        try:
            content, limited = self._content(project, image), {**wanted, "pixels": int(MAX_IMAGE_PIXELS)}
            return await self._process.draw(content, image.length, limited)
        except NotDrawn:
            return b""

    async def _content(self, project: Project, image: StoredFile) -> AsyncIterator[bytes]:
        try:
            async for piece in read_range(project.database.database, image, 0, image.length):
                yield piece
        except FileDamaged:
            raise FileNotFound from None

    async def close(self) -> None:
        """Cancels the variants under way."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._process.close()

"""Files on disk beside those that are stored: equal bytes are left as they are."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import aiofiles

from service.domain.files.files import Files
from service.errors import FileNotFound

PIECE_BYTES = 1024 * 1024


async def read_pieces(path: Path) -> AsyncIterator[bytes]:
    async with aiofiles.open(path, "rb") as file:
        while piece := await file.read(PIECE_BYTES):
            yield piece


async def digest_of(pieces: AsyncIterator[bytes]) -> str:
    digest = hashlib.sha256()
    async for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


async def has_bytes(files: Files, name: str, digest: str) -> bool:
    """True if the stored file has the bytes of this digest; false if it is gone."""
    try:
        project, file = await files.find(name)
        return await digest_of(await files.read(project, file, 0, file.length)) == digest
    except FileNotFound:
        return False

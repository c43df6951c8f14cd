"""Variants of stored images: files beside them, removed with them; and the turns of the processes that make them.

A variant's name is made of its image's name and its parameters. The process that makes it has an intent of that name,
as uploads have. Only one process can have it at a time; it drops it in the transaction that stores the variant.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from bson import Int64

from service.errors import DuplicateValue, FileNotFound
from service.schema.values import now
from service.storage.databases import ProjectDatabase
from service.storage.files.deletions import STANDING
from service.storage.files.stored import CHUNK_BYTES, CHUNKS, FILES, VARIANT, StoredFile, find_files
from service.storage.layout import INTENTS
from service.storage.records import translated

# The time to make one variant, after which another process may begin.
TURN = timedelta(seconds=60)
# Version of the renderer; increment it to regenerate all variants.
DRAWING = 1


def variant_name(image: str, wanted: Mapping[str, Any]) -> str:
    """`demo-….png` → `demo-….png~<16 hex digits>.webp`."""
    digest = hashlib.sha256(json.dumps([DRAWING, wanted], sort_keys=True).encode()).hexdigest()[:16]
    return f"{image}{VARIANT}{digest}.{wanted['format']}"


async def find_variant(database: ProjectDatabase, name: str) -> StoredFile | None:
    """The variant, if it was made; an empty one marks an image that cannot be drawn."""
    return (await find_files(database.database, [name])).get(name)


async def take_turn(database: ProjectDatabase, name: str) -> str | None:
    """A token of the turn to make the variant; None if another process is making it."""
    token, intents = secrets.token_hex(8), database.records(INTENTS)
    mine = [{"$set": {"files": [name], "token": token, "touched": "$$NOW"}}]
    try:
        await intents.create({"_id": name, "touched": {"$exists": False}}, mine)
    except DuplicateValue:
        # It is taken over where its maker died.
        milliseconds = int(TURN.total_seconds() * 1000)
        abandoned = {"$expr": {"$lt": ["$touched", {"$subtract": ["$$NOW", milliseconds]}]}}
        return token if await intents.update({"_id": name, **STANDING, **abandoned}, mine) else None
    return token


async def give_up_turn(database: ProjectDatabase, name: str, token: str) -> None:
    await database.records(INTENTS).delete({"_id": name, "token": token})


async def store_variant(database: ProjectDatabase, image: StoredFile, name: str, token: str, content: bytes) -> None:
    """Stores the variant, if the image is still there and it is still one's turn. Raises FileNotFound."""
    chunks = [
        {"files_id": name, "n": number, "data": content[start : start + CHUNK_BYTES]}
        for number, start in enumerate(range(0, len(content), CHUNK_BYTES))
    ]
    label = f"{image.original_name.rpartition('.')[0]}.{name.rpartition('.')[2]}"
    file = {"_id": name, "filename": name, "length": Int64(len(content)), "chunkSize": CHUNK_BYTES, "uploadDate": now()}

    async def store(bound: ProjectDatabase) -> None:
        # Writing to the image's record conflicts with a concurrent removal.
        has_turn = await bound.records(INTENTS).delete({"_id": name, "token": token, **STANDING})
        is_there = await bound.records(FILES).update_one({"_id": image.name}, {"$set": {"metadata.has_variants": True}})
        if not has_turn or not is_there:
            raise FileNotFound
        with translated():
            await bound.database[FILES].insert_one(
                {**file, "metadata": {"original_name": label}}, session=bound.session
            )
            if chunks:
                await bound.database[CHUNKS].insert_many(chunks, session=bound.session)

    await database.in_transaction(store)

"""The collections whose images MongoDB keeps: live ones, sources of rules, and those whose documents the feed keeps."""

from collections.abc import Sequence

from service.schema.event_patterns import wants_documents
from service.storage.client import Document
from service.storage.collections import mongo_collection_name
from service.storage.databases import ProjectDatabase
from service.storage.definitions import Definitions, is_live
from service.storage.images import keep_images
from service.storage.layout import MIGRATIONS
from service.storage.rules import find_rules

# The record with the patterns of the feed that need images, beside that of the version.
FEED_IMAGES = "feed_images"


async def wants_images(database: ProjectDatabase, record: Document) -> bool | None:
    """True for a live collection, for a source of rules, and for one whose documents the feed keeps.

    None if the record is older than live collections.
    """
    if is_live(record) or record["_id"] in (await find_rules(database)).sources:
        return True
    if wants_documents(await _find_patterns(database), record["_id"]):
        return True
    return False if "realtime" in record else None


async def keep_images_of_feed(database: ProjectDatabase, patterns: Sequence[str]) -> None:
    """MongoDB keeps the images of the documents whose events `patterns` choose, from now on, and of later collections.

    Raises the errors of `records.translated`.
    """
    kept = {"_id": FEED_IMAGES, "patterns": list(patterns)}
    await database.records(MIGRATIONS).put(kept)
    for record in await Definitions(database).list():
        await keep_images(
            database, mongo_collection_name(record["_id"]), enabled=bool(await wants_images(database, record))
        )


async def _find_patterns(database: ProjectDatabase) -> Sequence[str]:
    found = await database.records(MIGRATIONS).find({"_id": FEED_IMAGES})
    return () if found is None else found["patterns"]

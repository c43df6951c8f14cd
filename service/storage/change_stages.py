"""The stages by which MongoDB picks the events of a change stream, and takes out of them what no client may see. Pure."""

from collections.abc import Callable, Iterable
from typing import Final

from service.bounds import MAX_IMAGE_BYTES
from service.storage.client import Document

# The name of a database and of a collection in it.
Namespace = tuple[str, str]
CHANGES = ("insert", "update", "replace", "delete")
# The record before and after a change, in an event.
BEFORE, AFTER = "fullDocumentBeforeChange", "fullDocument"
# Stands for a record that is too large for an event.
LARGE: Final = "large"
HIDDEN = ("password", "oauth_id")
# True in an event whose update sets `last_sign_in_at` alone.
NOTES_SIGN_IN = "notesSignIn"
ONLY_SIGN_IN: Document = {
    "updatedFields": {"last_sign_in_at": "$updateDescription.updatedFields.last_sign_in_at"},
    "removedFields": [],
    "truncatedArrays": [],
}
# Up to this many collections each is named to MongoDB; it compares more of them one after the other for each write.
NAMED = 64
# The path of an image in an event → the filter of the events that have a wanted record there.
WantedAt = Callable[[str], Document]


def find_stages(
    namespaces: frozenset[Namespace], without: frozenset[Namespace], prefix: str, wanted: WantedAt | None
) -> list[Document]:
    """Selects the followed collections, without hidden fields, and without images too large for one event.

    With `wanted`, only the events that concern the records it finds.
    """
    match: Document = {"ns": {"$in": _named(namespaces - without)}}
    if len(namespaces) > NAMED:
        match = {"ns.db": {"$regex": f"^{prefix}p_"}, **({"ns": {"$nin": _named(without)}} if without else {})}
    concerning = [] if wanted is None else [{"$match": _concerning(wanted)}]
    return [
        {"$match": {**match, "operationType": {"$in": list(CHANGES)}}},
        {
            "$set": {
                **{image: within_size(f"${image}") for image in (AFTER, BEFORE)},
                NOTES_SIGN_IN: {"$eq": ["$updateDescription", ONLY_SIGN_IN]},
            }
        },
        {"$unset": ["updateDescription", *(f"{image}.{name}" for image in (AFTER, BEFORE) for name in HIDDEN)]},
        *concerning,
    ]


def _concerning(wanted: WantedAt) -> Document:
    """The events that have a wanted record before or after, and those of which an image is missing or too large."""
    missing = [
        {AFTER: None, "operationType": {"$ne": "delete"}},
        {BEFORE: None, "operationType": {"$ne": "insert"}},
        *({image: LARGE} for image in (AFTER, BEFORE)),
    ]
    return {"$or": [wanted(AFTER), wanted(BEFORE), *missing]}


def _named(namespaces: Iterable[Namespace]) -> list[Document]:
    return [{"db": database, "coll": collection} for database, collection in sorted(namespaces)]


def within_size(image: str) -> Document:
    size = {"$bsonSize": {"$cond": [{"$eq": [{"$type": image}, "object"]}, image, {}]}}
    return {"$cond": [{"$gt": [size, int(MAX_IMAGE_BYTES)]}, LARGE, image]}

"""Images: whether MongoDB keeps what the records of a collection were before a change, for the change feed."""

from pymongo.errors import OperationFailure

from service.storage.client import Document
from service.storage.databases import ProjectDatabase
from service.storage.records import translated

# The option of a collection whose change events hold the record before and after.
IMAGES = "changeStreamPreAndPostImages"
NAMESPACE_NOT_FOUND = 26


async def keep_images(database: ProjectDatabase, collection: str, *, enabled: bool) -> None:
    """Switches images on or off.

    Does nothing if there is no such collection. Raises the errors of `records.translated`.
    """
    command: Document = {"collMod": collection, IMAGES: {"enabled": enabled}, "writeConcern": {"w": "majority"}}
    with translated():
        try:
            await database.database.command(command)
        except OperationFailure as error:
            if error.code != NAMESPACE_NOT_FOUND:
                raise

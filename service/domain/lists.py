"""The lists that are read for each project, a few at a time."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from service.bounds import MAX_LISTS, MAX_LISTS_WAITING, MAX_SLOW_LISTS
from service.domain.list_reading import LIST_SECONDS, Listing, Reading
from service.domain.shares import Fewer, Shares
from service.query.bind import BoundDistinct
from service.query.nodes import BoundQuery, Count
from service.query.populate import Row, ShowFiles
from service.query.shapes import Shape
from service.storage.databases import ProjectDatabase

# A project whose lists take longer, in the mean, has MongoDB scan: fewer of them at once end as soon.
SLOW_SECONDS = 0.1


class Lists:
    """The lists that a worker reads, a few at a time for each project."""

    def __init__(self) -> None:
        slow = Fewer(MAX_SLOW_LISTS, SLOW_SECONDS)
        self._shares = Shares(MAX_LISTS, waiting=MAX_LISTS_WAITING, seconds=LIST_SECONDS, slow=slow)

    async def read(self, database: ProjectDatabase, query: BoundQuery, show: ShowFiles | None = None) -> Listing:
        """One command for the page, at most one for the total if asked, and one probe for each relation filtered by.

        `show` puts the URLs of files into a row, where they are not the plain ones. Raises Busy, Invalid where the page is too
        large, and QueryTooSlow after two seconds of database time.
        """
        async with self._shares.take(database.database.name):
            return await Reading(database, show).run(query)

    async def distinct(self, database: ProjectDatabase, query: BoundDistinct) -> list[Any]:
        """The values of a field, in MongoDB's order: one more than are shown, where there are more. Raises as `read`."""
        async with self._shares.take(database.database.name):
            return await Reading(database).distinct(query)

    async def resolve(self, database: ProjectDatabase, query: BoundQuery) -> BoundQuery:
        """The query by the related records as they are now. Raises Busy, QueryTooSlow."""
        async with self._shares.take(database.database.name):
            return await Reading(database).resolve(query)

    async def find(
        self, database: ProjectDatabase, id_: str, shape: Shape, *, fields: Sequence[str], whole: bool = False
    ) -> Row | None:
        """The one record with this id, with what of `fields` the shape shows; None where the shape has no such record.

        The `whole` record has the fields that the shape does not show, too. What is not there, and what may not be seen,
        are asked for in the same way.
        """
        match = replace(shape.match, filters=({"_id": id_}, *shape.match.filters))
        view = None if whole else shape.view
        query = BoundQuery(shape.collection, match, (("_id", 1),), 1, 0, Count.NONE, (), tuple(fields), view)
        listing = await Reading(database).run(query)
        return listing.rows[0] if listing.rows else None

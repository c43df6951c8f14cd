"""Reads lists, a few at a time for each project.

For each list, relations are probed, then the page is read, then the total: one command at a time.
"""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from service.bounds import MAX_CAPPED, MAX_LISTS, MAX_LISTS_WAITING, MAX_SLOW_LISTS, MAX_SOCKETS
from service.domain.paces import Fewer, Presence
from service.domain.shares import SharePlace, Shares
from service.domain.steps import run_in_steps
from service.errors import Invalid, QueryTooSlow
from service.query import commands
from service.query.bind import BoundDistinct
from service.query.cursor import write_cursor
from service.query.distinct import distinct
from service.query.file_filters import find_by_names
from service.query.matcher import decide
from service.query.matching import is_streamed
from service.query.nodes import BoundQuery, Count, Match, RelationMatch
from service.query.populate import Row, ShowFiles, attach, select_rows, show_rows
from service.query.related_counts import CountedRelation, count_command
from service.query.shapes import USERS, Shape
from service.query.tree import Filter, Leaf, Related, Tree, leaves
from service.schema.steps import Steps
from service.storage.databases import ProjectDatabase
from service.storage.encoded_rows import decode_rows

# A project whose lists take longer, in the mean, has MongoDB scan: fewer of them at once end as soon.
SLOW_SECONDS = 0.1
# As much for the snapshots of its subscriptions, of which a socket may ask for a hundred.
SLOW_SNAPSHOT_SECONDS = 0.02
# The seconds of each second that such a project has in a worker while other projects ask, and those that it saves up.
SLOW_SHARE, SAVED_SECONDS = 0.25, 0.25
# All of a list's database time together.
LIST_SECONDS = 2.0
# Past this offset a window would save nothing.
LARGEST_OFFSET = 10_000
# The rows of a longer page are decoded in steps, because a whole reply may have 16 MB.
LONG_PAGE = 100
# The meaning of a total.
TotalIs = Literal["exact", "estimated", "at_least"]
EXACT: TotalIs = "exact"
ESTIMATED: TotalIs = "estimated"
AT_LEAST: TotalIs = "at_least"
# The field of a row for the numbers of records that refer to it.
COUNTS = "counts"
TOO_LARGE = "The values of this field exceed 16 MB; add a filter"


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of records, `_id` and the fields asked for, and how many match in all, None where not asked.

    `total_is` is the meaning of the total, if its choice was left to the service. A page `by_cursor` has the cursor of
    the `next` one, None at the end, in place of an offset.
    """

    rows: list[Row]
    total: int | None
    limit: int
    offset: int
    total_is: TotalIs | None = None
    by_cursor: bool = False
    next: str | None = None


class Lists:
    """The lists that a worker reads, a few at a time for each project."""

    def __init__(self, presence: Presence) -> None:
        slow = Fewer(MAX_SLOW_LISTS, SLOW_SECONDS, presence, share=SLOW_SHARE, saved=SAVED_SECONDS)
        self._shares = Shares(MAX_LISTS, waiting=MAX_LISTS_WAITING, seconds=LIST_SECONDS, slow=slow)
        # Alone a project has all places for its snapshots, as far as its lists have them.
        fewer = Fewer(MAX_LISTS, SLOW_SNAPSHOT_SECONDS, presence, share=SLOW_SHARE, saved=SAVED_SECONDS)
        self._subscriptions = Shares(MAX_LISTS, waiting=MAX_SOCKETS, seconds=LIST_SECONDS, slow=fewer)

    @asynccontextmanager
    async def place(self, database: ProjectDatabase) -> AsyncIterator[None]:
        """One of the project's places, for a read of realtime. Raises Busy after two seconds without one.

        Subscriptions queue by themselves first: however many sockets come back at once, the lists of requests find room.
        """
        name, seconds = database.database.name, 0.0
        await self._subscriptions.acquire(name)
        try:
            async with self._shares.take(name):
                began = time.monotonic()
                try:
                    yield
                finally:
                    # The wait behind lists is no work of subscriptions.
                    seconds = time.monotonic() - began
        finally:
            self._subscriptions.release(name, seconds or None)

    def take(self, database: ProjectDatabase) -> SharePlace:
        """One of the project's places, for a write whose guard searches texts as a list does. Entering it raises Busy."""
        return self._shares.take(database.database.name)

    async def read(
        self,
        database: ProjectDatabase,
        query: BoundQuery,
        show: ShowFiles | None = None,
        counted: Sequence[CountedRelation] = (),
    ) -> Listing:
        """One command for the page, at most one for the total if asked, and one probe for each relation filtered by.

        `show` puts the URLs of files into a row, where they are not the plain ones. Raises Busy, Invalid where the page is too
        large, and QueryTooSlow after two seconds of database time.
        """
        async with self.take(database):
            reading = ListReading(database, show)
            listing = await reading.run(query)
            if counted:
                found = await reading.count_related(query.collection, [row["_id"] for row in listing.rows], counted)
                for row in listing.rows:
                    row[COUNTS] = found[row["_id"]]
            return listing

    async def count_related(
        self, database: ProjectDatabase, collection: str, id_: str, counted: Sequence[CountedRelation]
    ) -> dict[str, int]:
        """Counts the records that refer to the one with this id, by the names of `counted`. Raises Busy, QueryTooSlow."""
        async with self.take(database):
            return (await ListReading(database).count_related(collection, [id_], counted))[id_]

    async def distinct(self, database: ProjectDatabase, query: BoundDistinct) -> list[Any]:
        """The values of a field, in MongoDB's order: one more than are shown, where there are more. Raises as `read`."""
        async with self.take(database):
            return await ListReading(database).distinct(query)

    async def resolve(self, database: ProjectDatabase, query: BoundQuery) -> BoundQuery:
        """The query by the related records as they are now. Raises Busy, QueryTooSlow."""
        async with self.take(database):
            return await ListReading(database).resolve(query)

    async def find(
        self, database: ProjectDatabase, id_: str, shape: Shape, *, fields: Sequence[str], whole: bool = False
    ) -> Row | None:
        """The one record with this id, with the visible ones of `fields`; None if the shape has no such record.

        The `whole` record has the hidden fields, too. A missing record and a hidden one take the same query.
        """
        match = replace(shape.match, filters=({"_id": id_}, *shape.match.filters))
        view = None if whole else shape.view
        query = BoundQuery(shape.collection, match, (("_id", 1),), 1, 0, Count.NONE, (), tuple(fields), view)
        listing = await ListReading(database).run(query)
        return listing.rows[0] if listing.rows else None


@dataclass(frozen=True, slots=True)
class _Page:
    """The rows of a page as they are stored, and the reply that has related ones, where some are populated."""

    rows: list[Row]
    reply: Mapping[str, list[Row]]


class TimedReading:
    """Commands that follow each other, so that their times add up to no more than `seconds`."""

    __slots__ = ("_database", "_deadline")

    def __init__(self, database: ProjectDatabase, seconds: float) -> None:
        self._database = database
        self._deadline = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that the next command may take. Raises QueryTooSlow."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise QueryTooSlow
        return left

    async def resolve(self, match: Match, collection: str) -> Match:
        """`match` on records of `collection`, with files found by their names, and each relation that few records satisfy
        replaced by their ids.
        """
        match = find_by_names(match, collection, self._database.file_urls)
        return await self._resolve(match) if is_streamed(match) else match

    async def _resolve(self, match: Match) -> Match:
        """`match` with each relation that few records satisfy replaced by their ids, from the far end inwards."""
        resolved = [await self._resolve_relation(relation) for relation in match.relations]
        filters = tuple(r for r in resolved if not isinstance(r, RelationMatch))
        trees = [await self._resolve_tree(tree) for tree in match.trees]
        return Match(
            (*match.filters, *filters), tuple(r for r in resolved if isinstance(r, RelationMatch)), tuple(trees)
        )

    async def _resolve_tree(self, tree: Tree) -> Tree:
        """`tree` with each relation that few records satisfy replaced by their ids, from the far end inwards."""
        known: dict[int, Tree] = {}
        for leaf in leaves(tree):
            if isinstance(leaf, Related):
                known[id(leaf)] = await self._resolve_leaf(leaf)
        return decide(tree, lambda leaf: known.get(id(leaf), leaf))

    async def _resolve_leaf(self, leaf: Related) -> Tree:
        leaf = replace(leaf, tree=await self._resolve_tree(leaf.tree))
        related = RelationMatch(leaf.local, leaf.collection, Match(trees=(leaf.tree,)))
        seconds, records = self.left(), self._database.records(leaf.collection)
        found = await records.page(commands.probe(related), seconds=seconds)
        if len(found) > commands.PROBE_LIMIT:
            return leaf
        return Leaf(leaf.local, "in", tuple(record["_id"] for record in found), leaf.negated)

    async def _resolve_relation(self, relation: RelationMatch) -> Filter | RelationMatch:
        if is_streamed(relation.match):
            relation = replace(relation, match=await self._resolve(relation.match))
        seconds, records = self.left(), self._database.records(relation.collection)
        found = await records.page(commands.probe(relation), seconds=seconds)
        if len(found) > commands.PROBE_LIMIT:
            return relation
        return commands.by_ids(relation, (record["_id"] for record in found))


class ListReading:
    """One list under way. Its commands follow each other, so that their times add up to no more than the list's."""

    __slots__ = ("_database", "_show", "_timed")

    def __init__(self, database: ProjectDatabase, show: ShowFiles | None = None) -> None:
        self._database = database
        self._show = show or (lambda collection: database.file_urls.show if collection == USERS.collection else None)
        self._timed = TimedReading(database, LIST_SECONDS)

    async def resolve(self, query: BoundQuery) -> BoundQuery:
        """The query with each relation that few records satisfy replaced by their ids, and file URLs by names."""
        match = await self._timed.resolve(query.match, query.collection)
        return query if match is query.match else replace(query, match=match)

    async def run(self, query: BoundQuery) -> Listing:
        streams = is_streamed(query.match)
        query = await self.resolve(query)
        page = query if query.after is None else _behind(query, query.after)
        found = await (self._streamed_page(page) if streams else self._page(page))
        next_ = None
        if query.cursor is not None and len(found.rows) > query.limit:
            next_ = write_cursor(query.cursor.query, query.sort, found.rows[query.limit - 1])
        rows = await run_in_steps(self._database, self._shown(query, found))
        total, total_is = await self._count(query, len(rows), is_last=next_ is None)
        return Listing(rows, total, query.limit, query.offset, total_is, query.cursor is not None, next_)

    async def count_related(
        self, collection: str, ids: Sequence[str], counted: Sequence[CountedRelation]
    ) -> dict[str, dict[str, int]]:
        """Id → name → number of records, in one command; all are 0 for a record that is gone."""
        found = {id_: {each.name: 0 for each in counted} for id_ in ids}
        if not ids:
            return found
        matches = [await self._timed.resolve(each.match, each.collection) for each in counted]
        resolved = [replace(each, match=match) for each, match in zip(counted, matches, strict=True)]
        records, seconds = self._database.records(collection), self._timed.left()
        for row in await records.page(count_command(collection, ids, resolved), seconds=seconds):
            for number, each in enumerate(counted):
                found[row["_id"]][each.name] = row[f"c{number}"][0]["n"] if row[f"c{number}"] else 0
        return found

    async def distinct(self, query: BoundDistinct) -> list[Any]:
        match = await self._timed.resolve(query.match, query.collection)
        records, seconds = self._database.records(query.collection), self._timed.left()
        try:
            found = await records.page(distinct(replace(query, match=match)), seconds=seconds)
        except Invalid:
            raise Invalid.one(("query", "field"), TOO_LARGE, type_="values_too_large") from None
        return [row["_id"] for row in found]

    def _shown(self, query: BoundQuery, found: "_Page") -> Steps[list[Row]]:
        """The rows with their visible fields; a view judges each row by the rules of all fields."""
        rows = found.rows[: query.limit]
        if not query.expansions:
            shown = yield from show_rows(rows, show=self._show(query.collection), view=query.view)
            return select_rows(shown, query.selection)
        if not rows:
            return []
        reply = {**found.reply, commands.ROWS: rows}
        how: dict[str, Any] = {"collection": query.collection, "view": query.view, "selection": query.selection}
        return (yield from attach(reply, query.expansions, show=self._show, **how))

    async def _count(self, query: BoundQuery, shown: int, *, is_last: bool) -> tuple[int | None, TotalIs | None]:
        """The number of all matching records, and its meaning if it may be inexact."""
        if query.count is Count.NONE:
            return None, None
        if query.cursor is None:
            # A page that is neither full nor empty is the last one, and tells the total.
            is_last = shown < query.limit and bool(shown or not query.offset)
        if is_last and query.after is None:
            total, total_is = query.offset + shown, EXACT
        else:
            total, total_is = await self._total(query)
        return total, None if query.count is Count.EXACT else total_is

    async def _streamed_page(self, query: BoundQuery) -> "_Page":
        """A streamed page is looked for among the first records in order, and only if it is not full there, among all."""
        if is_streamed(query.match) and query.offset <= LARGEST_OFFSET:
            found = await self._page(query, window=commands.window(query))
            if len(found.rows) == query.size:
                return found
        return await self._page(query)

    async def _page(self, query: BoundQuery, *, window: int | None = None) -> "_Page":
        seconds, records = self._timed.left(), self._database.records(query.collection)
        command = commands.page(query, window=window)
        if query.size > LONG_PAGE and not query.expansions:
            encoded = await records.encoded_page(command, seconds=seconds)
            options = records.collection.codec_options
            return _Page(await run_in_steps(self._database, decode_rows(encoded, options)), {})
        found = await records.page(command, seconds=seconds)
        if not query.expansions:
            return _Page(found, {})
        return _Page(found[0][commands.ROWS], found[0]) if found else _Page([], {})

    async def _total(self, query: BoundQuery) -> tuple[int, TotalIs]:
        records = self._database.records(query.collection)
        most = None if query.count is Count.EXACT else MAX_CAPPED + 1
        if query.match == Match():
            total = await records.count_all()
            if query.count is Count.ESTIMATED:
                return total, ESTIMATED
        else:
            total = await self._counted(query, most)
        return (total, EXACT) if most is None or total < most else (most, AT_LEAST)

    async def _counted(self, query: BoundQuery, most: int | None) -> int:
        records, seconds = self._database.records(query.collection), self._timed.left()
        command = commands.total(query.collection, query.match, most)
        if "count" in command:
            return await records.count(command, seconds=seconds)
        counted = await records.page(command, seconds=seconds)
        return int(counted[0]["n"]) if counted else 0


def _behind(query: BoundQuery, after: Filter) -> BoundQuery:
    """The records behind a cursor; how many there are in all is another matter."""
    return replace(query, match=replace(query.match, filters=(*query.match.filters, after)))

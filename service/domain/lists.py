"""Runs a bound query: probes relations, then asks for the page, then for the total. One command at a time."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.bounds import MAX_LISTS, MAX_LISTS_WAITING, MAX_SLOW_LISTS
from service.domain.shares import Fewer, Shares
from service.errors import QueryTooSlow
from service.query import commands
from service.query.file_filters import find_by_names
from service.query.matcher import decide
from service.query.nodes import BoundQuery, Match, RelationMatch
from service.query.populate import Row, ShowFiles, attach
from service.query.shapes import Shape
from service.query.tree import Filter, Leaf, Related, Tree, leaves
from service.storage.databases import ProjectDatabase

# All of a list's database time together.
LIST_SECONDS = 2.0
# A project whose lists take longer, in the mean, has MongoDB scan: fewer of them at once end as soon.
SLOW_SECONDS = 0.1
# Past this offset a window would save nothing.
LARGEST_OFFSET = 10_000


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of records, `_id` and the fields asked for, and how many match in all (None when not asked)."""

    rows: list[Row]
    total: int | None
    limit: int
    offset: int


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
            return await _Reading(database, show).run(query)

    async def find(
        self, database: ProjectDatabase, id_: str, shape: Shape, *, fields: Sequence[str], whole: bool = False
    ) -> Row | None:
        """The one record with this id, with what of `fields` the shape shows; None where the shape has no such record.

        The `whole` record has the fields that the shape does not show, too. What is not there, and what may not be seen,
        are asked for in the same way.
        """
        match = replace(shape.match, filters=({"_id": id_}, *shape.match.filters))
        view = None if whole else shape.view
        query = BoundQuery(shape.collection, match, (("_id", 1),), 1, 0, False, (), tuple(fields), view)
        listing = await _Reading(database).run(query)
        return listing.rows[0] if listing.rows else None


class _Reading:
    """One list under way. Its commands follow each other, so that their times add up to no more than the list's."""

    __slots__ = ("_database", "_deadline", "_show")

    def __init__(self, database: ProjectDatabase, show: ShowFiles | None = None) -> None:
        self._database = database
        self._show = show or database.file_urls.show
        self._deadline = time.monotonic() + LIST_SECONDS

    async def run(self, query: BoundQuery) -> Listing:
        match = find_by_names(query.match, query.collection, self._database.file_urls)
        is_streamed = commands.is_streamed(match)
        query = replace(query, match=await self._resolve(match) if is_streamed else match)
        rows = await (self._streamed_rows(query) if is_streamed else self._rows(query))
        total = None
        if query.count:
            # A page that is neither full nor empty is the last one, and tells the total.
            is_last = len(rows) < query.limit and (rows or not query.offset)
            total = query.offset + len(rows) if is_last else await self._total(query)
        return Listing(rows, total, query.limit, query.offset)

    def _left(self) -> float:
        """The seconds that the next command may take. Raises QueryTooSlow."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise QueryTooSlow
        return left

    async def _streamed_rows(self, query: BoundQuery) -> list[Row]:
        """A streamed page is looked for among the first records in order, and only if it is not full there, among all."""
        if commands.is_streamed(query.match) and query.offset <= LARGEST_OFFSET:
            rows = await self._rows(query, window=commands.window(query))
            if len(rows) == query.limit:
                return rows
        return await self._rows(query)

    async def _rows(self, query: BoundQuery, *, window: int | None = None) -> list[Row]:
        seconds, records = self._left(), self._database.records(query.collection)
        found = await records.page(commands.page(query, window=window), seconds=seconds)
        if query.expansions:
            return attach(found[0], query.expansions, show=self._show, view=query.view) if found else []
        for row in found:
            self._show(row)
        return found if query.view is None else [query.view(row) for row in found]

    async def _total(self, query: BoundQuery) -> int:
        records = self._database.records(query.collection)
        if query.match == Match():
            return await records.count_all()
        command = commands.total(query.collection, query.match)
        if "count" in command:
            return await records.count(command, seconds=self._left())
        counted = await records.page(command, seconds=self._left())
        return int(counted[0]["n"]) if counted else 0

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
        seconds, records = self._left(), self._database.records(leaf.collection)
        found = await records.page(commands.probe(related), seconds=seconds)
        if len(found) > commands.PROBE_LIMIT:
            return leaf
        return Leaf(leaf.local, "in", tuple(record["_id"] for record in found), leaf.negated)

    async def _resolve_relation(self, relation: RelationMatch) -> Filter | RelationMatch:
        if commands.is_streamed(relation.match):
            relation = replace(relation, match=await self._resolve(relation.match))
        seconds, records = self._left(), self._database.records(relation.collection)
        found = await records.page(commands.probe(relation), seconds=seconds)
        if len(found) > commands.PROBE_LIMIT:
            return relation
        return commands.by_ids(relation, (record["_id"] for record in found))

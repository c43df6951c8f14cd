"""Reads that belong together and have one deadline: which records a relation is satisfied by is asked for before the rest."""

import time
from dataclasses import replace

from service.errors import QueryTooSlow
from service.query import commands
from service.query.file_filters import find_by_names
from service.query.matcher import decide
from service.query.matching import is_streamed
from service.query.nodes import Match, RelationMatch
from service.query.tree import Filter, Leaf, Related, Tree, leaves
from service.storage.databases import ProjectDatabase


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

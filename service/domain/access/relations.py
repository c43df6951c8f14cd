"""Conditions on related records, settled for one record: asked of MongoDB, and replaced by what it says."""

from collections.abc import Collection

from service.bounds import MAX_SET_VALUES
from service.domain.steps import judge
from service.query.commands import probe
from service.query.matcher import decide
from service.query.nodes import Match, RelationMatch
from service.query.reading import Reading
from service.query.tree import Node, Related, Tree, has_relations, leaves, to_filter
from service.storage.databases import ProjectDatabase

# Seconds for finding the readable records.
SECONDS = 10


async def settle(database: ProjectDatabase, tree: Tree, reading: Reading) -> Tree:
    """`tree` without relations, as they are for a record. One command for each relation, and one more for each further one."""
    if not has_relations(tree):
        return tree
    found: dict[int, bool] = {}
    for leaf in leaves(tree):
        if isinstance(leaf, Related):
            ids = reading.at(leaf.local).texts()
            # More ids would take too long: the condition is then false, negated or not, as everything unknown is.
            within = len(ids) <= MAX_SET_VALUES
            found[id(leaf)] = within and await _holds(database, leaf, ids) is not leaf.negated

    def replaced(leaf: Node) -> Tree:
        return found.get(id(leaf), leaf)

    return decide(tree, replaced)


async def readable_ids(database: ProjectDatabase, collection: str, tree: Tree, ids: Collection[str]) -> set[str]:
    """Those of `ids` that name a record of a MongoDB collection which satisfies `tree`.

    One command, whatever it finds: how many there are would tell which records are there.
    """
    if tree is False:
        return set()
    named = Match(filters=({"_id": {"$in": sorted(ids)}},), trees=(tree,))
    command = probe(RelationMatch("_id", collection, named))
    return {row["_id"] for row in await database.records(collection).page(command, seconds=SECONDS)}


async def _holds(database: ProjectDatabase, leaf: Related, ids: Collection[str]) -> bool:
    """True if one of the ids at the relation's place names a record that satisfies its tree."""
    if not ids or leaf.tree is False:
        return False
    simple = not has_relations(leaf.tree)
    condition = to_filter(leaf.tree) if simple else {}
    match = {"$and": [{"_id": {"$in": list(ids)}}, condition]}
    rows = await database.records(leaf.collection).find_all(match, limit=len(ids))
    if simple:
        return bool(rows)
    for reading in map(Reading, rows):
        if await judge(database, await settle(database, leaf.tree, reading), reading):
            return True
    return False

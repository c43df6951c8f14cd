"""Random conditions on random records, judged in memory and by MongoDB: the two must say the same.

`scripts/fuzz matcher --count 1000000` makes so many comparisons on a MongoDB of its own; the suite makes some.
"""

import argparse
import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.collection import Collection

from service.embedded.mongod import embedded_mongodb
from service.query.closures import compile_tree
from service.query.reading import Reading
from service.query.tree import Leaf, Tree, all_of, any_of, negate, to_filter

SEED = 20261121
NAMES = ["a", "b", "c"]
MOMENTS = [datetime(2026, 1, day) for day in (1, 2, 3)]  # noqa: DTZ001 - as they are stored
NUMBERS = [0, 1, -1, 2**53 + 1, 1.0, 0.5, float(2**53)]
SCALARS = [*NUMBERS, True, False, "", "a", "b", "1", "é", "\U0001f600", "\uffff", *MOMENTS]
CORPUS = 500
LONG = 40
# Trees evaluated on the same records.
TREES = 100
# Values of which a field has one; for `eq` an element of an array is enough.
WHOLE: list[Any] = [[], {}, ["a"], [["a"]], [None], {"a": 1}, {"a": None}]
COMPARED = ("eq", "ne", "gt", "gte", "lt", "lte")
LISTED = ("in", "nin", "hasall")
TEXTUAL = ("contains", "icontains", "startswith")
PARTS = ("a", "B", "É", "1")

Record = dict[str, Any]


@dataclass
class Outcome:
    """Counts: comparisons made, trees compared, trees that matched some records and not all; and the trees that differ."""

    comparisons: int = 0
    trees: int = 0
    telling: int = 0
    differing: list[Tree] = field(default_factory=list)

    def __str__(self) -> str:
        found = f"{self.comparisons} comparisons of {self.trees} trees, {self.telling} of which found some and not all"
        return f"{found}, {len(self.differing)} differing"


def random_value(chance: random.Random, depth: int) -> Any:
    kind = chance.random()
    if depth and kind < 0.2:
        # Some are longer, so that values of all kinds stand in one array.
        return [random_value(chance, depth - 1) for _ in range(chance.randrange(LONG if kind < 0.02 else 4))]
    if depth and kind < 0.45:
        return random_object(chance, depth - 1)
    return None if kind < 0.5 else chance.choice(SCALARS)


def random_object(chance: random.Random, depth: int) -> Record:
    return {name: random_value(chance, depth) for name in NAMES if chance.random() < 0.7}


def random_records(chance: random.Random) -> list[Record]:
    return [{"_id": number, "data": random_object(chance, 3)} for number in range(CORPUS)]


def random_leaf(chance: random.Random) -> Leaf:
    path = ".".join(("data", *chance.choices(NAMES, k=chance.randint(1, 3))))
    operator = chance.choice((*COMPARED, *LISTED, *TEXTUAL, "isnull", "same"))
    if operator in LISTED:
        return Leaf(path, operator, tuple(chance.choices(SCALARS, k=chance.choice((0, 1, 2, 4, LONG)))))
    if operator == "same":
        return Leaf(f"data.{chance.choice(NAMES)}", operator, chance.choice([*SCALARS, *WHOLE]))
    values: Sequence[Any] = PARTS if operator in TEXTUAL else (True, False) if operator == "isnull" else SCALARS
    return Leaf(path, operator, chance.choice(values))


def random_tree(chance: random.Random, depth: int = 3) -> Tree:
    kind = chance.random()
    if not depth or kind < 0.4:
        return random_leaf(chance)
    if kind < 0.55:
        return negate(random_tree(chance, depth - 1))
    join: Callable[[Iterable[Tree]], Tree] = all_of if kind < 0.75 else any_of
    return join(random_tree(chance, depth - 1) for _ in range(chance.randint(1, 3)))


def differs(collection: Collection[Record], stored: Sequence[Reading], tree: Tree, outcome: Outcome) -> bool:
    """Returns True if the two find different records, and counts in `outcome`. `stored` is read once for all trees."""
    judge = compile_tree(tree)
    found = {record["_id"] for record in collection.find(to_filter(tree), {"_id": 1})}
    outcome.trees += 1
    outcome.comparisons += len(stored)
    outcome.telling += 0 < len(found) < len(stored)
    return any((reading.record["_id"] in found) is not judge(reading) for reading in stored)


def compare(collection: Collection[Record], *, count: int, seed: int = SEED) -> Outcome:
    """Makes at least `count` comparisons, with records that it writes."""
    chance, outcome = random.Random(seed), Outcome()  # noqa: S311 - repeatable on purpose
    while outcome.comparisons < count:
        collection.drop()
        collection.insert_many(random_records(chance))
        stored = list(map(Reading, collection.find()))
        for _ in range(min(TREES, (count - outcome.comparisons) // CORPUS + 1)):
            tree = random_tree(chance)
            if differs(collection, stored, tree, outcome):
                outcome.differing.append(tree)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz matcher", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_mongodb(Path(folder)) as uri,
        MongoClient[Record](uri) as client,
    ):
        outcome = compare(client["f_matcher"]["records"], count=arguments.count, seed=arguments.seed)
    print(outcome)  # noqa: T201 - figures for a person
    for each in outcome.differing[:10]:
        print(each)  # noqa: T201
    return int(bool(outcome.differing))


if __name__ == "__main__":
    raise SystemExit(main())

"""MongoDB and the service agree on whether a document has room for a change."""

import random
from typing import Any

import bson
import pytest

from service.schema.operations import FieldOperation
from service.storage import document_sizes
from tests.conftest import Api

NAMES = ("a", "b", "c d", "é")


def some_value(chance: random.Random) -> Any:
    return chance.choice([1, "x" * chance.randrange(60), [1, "y"] * chance.randrange(9), {"z": 2.5}, None, True])


def some_operation(chance: random.Random, name: str) -> FieldOperation:
    operator = chance.choice(("push", "add", "increment", "pull", "unset"))
    value = [some_value(chance) for _ in range(chance.randrange(9))] if operator in {"push", "add", "pull"} else 1
    return FieldOperation(operator, (name, *chance.choice(((), ("m",), ("m", "n")))), value)


async def test_both_sums_are_the_same(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_sizes, "SMALL_BYTES", 30)
    monkeypatch.setattr(document_sizes, "MAX_DOCUMENT_BYTES", 400)
    monkeypatch.setattr(document_sizes, "MAX_HIDDEN_BYTES", 60)
    records, chance, seen = api.database["c_sizes"], random.Random(14), set[bool]()  # noqa: S311 - repeatable on purpose
    for number in range(150):
        stored = {name: some_value(chance) for name in chance.sample(NAMES, chance.randrange(4))}
        data = {name: some_value(chance) for name in chance.sample(NAMES, chance.randrange(3))}
        operations = tuple(some_operation(chance, name) for name in chance.sample(NAMES, chance.randrange(3)))
        records.insert_one({"_id": number, "data": stored})
        hidden = frozenset(chance.sample(NAMES, chance.randrange(3)))
        room = document_sizes.room_for(data, operations, hidden)
        outgrown = document_sizes.is_outgrown(stored, data, operations, hidden)
        passes = records.count_documents({"_id": number, **(room or {})}) == 1
        assert passes is not outgrown, (stored, data, operations)
        seen.add(outgrown)
    assert seen == {True, False}


def test_an_operation_adds_no_more_than_it_says() -> None:
    chance = random.Random(15)  # noqa: S311 - repeatable on purpose
    for _ in range(200):
        path = tuple(chance.choice(NAMES) for _ in range(chance.randrange(1, 5)))
        elements = [some_value(chance) for _ in range(chance.randrange(2_000))]
        operation, before = FieldOperation("push", path, elements), len(bson.encode({}))
        after: Any = elements
        for name in reversed(path):
            after = {name: after}
        assert len(bson.encode(after)) - before <= document_sizes._growth(operation)  # noqa: SLF001

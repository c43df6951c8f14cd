"""Operators in memory do to a document what MongoDB does, and refuse what it refuses."""

import random
import time
from typing import Any

import pytest

from service.errors import Violation
from service.query.images import apply_operations
from service.schema.fields import ABSENT
from service.schema.operations import NUMERIC, OF_ARRAYS, FieldOperation, Operations
from service.schema.steps import finish, take_steps
from service.storage.documents import DocumentStore, OperatorRefused, SetFields
from tests.conftest import Api
from tests.declared import declare

ROUNDS = 150
NAMES = ("a", "b", "0")
NUMBERS: tuple[int | float, ...] = (0, 1, -1, 2.5, 1.0, 3, 2**31 - 1, 2**62, 2**63 - 1, -(2**63), 1e308, -1e308, 5e-324)
SCALARS: tuple[Any, ...] = (*NUMBERS, True, False, None, "1", "x", "")


def some_value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth == 3 or kind < 0.5:
        return chance.choice(SCALARS)
    if kind < 0.75:
        return [some_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {name: some_value(chance, depth + 1) for name in chance.sample(NAMES, chance.randrange(4))}


def some_operation(chance: random.Random, field: str) -> FieldOperation:
    path = (field, *(chance.choice(NAMES) for _ in range(chance.choice((0, 0, 1, 2)))))
    operator = chance.choice((*NUMERIC, *OF_ARRAYS, "unset"))
    if operator in NUMERIC:
        return FieldOperation(operator, path, chance.choice(NUMBERS))
    if operator in OF_ARRAYS:
        return FieldOperation(operator, path, [some_value(chance, 2) for _ in range(chance.randrange(3))])
    return FieldOperation(operator, path, chance.choice((ABSENT, 7, [1])))


def as_seen(value: Any) -> Any:
    """A value with its type, and of objects the order."""
    match value:
        case dict():
            return [(name, as_seen(each)) for name, each in value.items()]
        case list():
            return ["array", *map(as_seen, value)]
    return repr(value)


@pytest.mark.parametrize("seed", range(2))
async def test_random_operations_agree(api: Api, seed: int) -> None:
    await declare(api, {name: {"type": "any"} for name in "xyz"})
    store, things = DocumentStore(api.project.database, "things"), api.database["c_things"]
    chance = random.Random(seed)  # noqa: S311 - repeatable on purpose
    done = refused = 0
    for number in range(ROUNDS):
        data = {name: some_value(chance) for name in chance.sample("xyz", 2)}
        operations = tuple(some_operation(chance, name) for name in chance.sample("xyz", chance.choice((1, 1, 2))))
        times = {"created_at": api.project.created_at, "updated_at": api.project.created_at}
        things.insert_one({"_id": str(number), "data": data, **times})
        try:
            stored = await store.change(str(number), SetFields({}, operations))
        except OperatorRefused:
            stored = None
        image, violations = finish(apply_operations(data, operations))
        assert (stored is None) is bool(violations), (data, operations, stored, violations)
        if stored is not None:
            assert sorted(as_seen(stored.data)) == sorted(as_seen(image)), (data, operations)
        done, refused = done + (stored is not None), refused + (stored is None)
    assert min(done, refused) > ROUNDS // 6


@pytest.mark.parametrize(
    ("data", "operations"),
    [
        ({"x": [1]}, (FieldOperation("push", ("x",), [2]),)),
        ({"x": {"a": {"b": 1}}}, (FieldOperation("increment", ("x", "a", "b"), 1),)),
        ({"x": {"a": 1}}, (FieldOperation("unset", ("x", "a")),)),
    ],
)
def test_what_was_there_stays_as_it_is(data: dict[str, Any], operations: Operations) -> None:
    before = repr(data)
    assert finish(apply_operations(data, operations))[0] != data
    assert repr(data) == before


def test_v4_elements_are_compared_in_steps() -> None:
    """As many elements as fit into a document, and as few new ones as need no bound."""
    few, longest = list(range(-16, 0)), 0.0
    for operator in ("add", "pull"):
        changing = apply_operations({"x": list(range(190_000))}, (FieldOperation(operator, ("x",), few),))
        done: tuple[dict[str, Any], list[Violation]] | None = None
        while done is None:
            before = time.thread_time()
            done = take_steps(changing, 0.001)
            longest = max(longest, time.thread_time() - before)
        assert len(done[0]["x"]) == 190_000 + (16 if operator == "add" else 0)
    assert longest < 0.05

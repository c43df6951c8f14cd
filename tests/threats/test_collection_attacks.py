"""Rows N3, N17, N21 and N26: what the schemas of one project may cost the others."""

import asyncio
import time
from typing import Any

import pytest

from tests.conftest import Api, MakeApi
from tests.declared import Schema, add, added, change, declare, one, violations

SLOW = "(?:a?){14}c|!$"
TEXT = {"type": "string", "pattern": SLOW}
# Beside a machine that does much else; a write takes some milliseconds.
PROMPT_SECONDS = 5.0


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


async def slowest_write(other: Api, attack: "asyncio.Task[Any]") -> float:
    """How long the slowest write of another project takes from now until `attack` is over."""
    slowest, times = 0.0, 0
    while not attack.done() or times < 5:
        started = time.perf_counter()
        assert (await add(other, {"t": "x"})).status_code == 201
        slowest = max(slowest, time.perf_counter() - started)
        times += 1
    return slowest


ATTACKS: list[tuple[str, Schema, dict[str, Any]]] = [
    ("60 KB", {"t": TEXT}, {"t": "a" * 60_000}),
    ("1 MiB", {"t": TEXT}, {"t": "a" * 1_040_000}),
    (
        "60 fields of 500 items",
        {f"f{number}": {"type": "array", "items": TEXT, "max_length": 500} for number in range(60)},
        {f"f{number}": ["a" * 15] * 500 for number in range(60)},
    ),
]


@pytest.mark.parametrize(("schema", "data"), [row[1:] for row in ATTACKS], ids=[row[0] for row in ATTACKS])
async def test_n17_a_pattern_cannot_stop_other_projects(
    api: Api, make_api: MakeApi, schema: Schema, data: dict[str, Any]
) -> None:
    other = await make_api()
    await declare(other, {"t": {"type": "string"}})
    await declare(api, schema)
    attack = asyncio.create_task(add(api, data))
    assert await slowest_write(other, attack) < PROMPT_SECONDS
    found = violations(await attack)
    assert {each[-1] for each in found} <= {"string_pattern_mismatch", "pattern_budget"}
    assert api.database["c_things"].count_documents({}) == 0


async def test_n17_no_pattern_is_in_a_validator(api: Api) -> None:
    inner = {"type": "object", "properties": {"a": TEXT}}
    await declare(api, {"t": TEXT, "many": {"type": "array", "items": inner}})
    assert (await change(api, {"more": TEXT, "t": {**TEXT, "max_length": 9}})).status_code == 200
    (options,) = [each["options"] for each in api.database.list_collections(filter={"name": "c_things"})]
    assert not keys_of(options) & {"pattern", "$regex"}


async def test_n17_every_write_is_held_to_patterns(api: Api) -> None:
    await declare(api, {"t": {"type": "string", "pattern": "^a"}, "n": {"type": "integer"}})
    id_ = await added(api, {"t": "abc", "n": 1})
    expected = [("body", "data", "t", "string_pattern_mismatch")]
    for response in (
        await add(api, {"t": "b"}),
        await one(api, "PUT", id_, {"t": "b"}),
        await one(api, "PATCH", id_, {"t": "b"}),
    ):
        assert violations(response) == expected
        assert response.json()["detail"][0]["msg"] == "Must match the regular expression ^a"
    assert (await one(api, "PATCH", id_, {"n": 2})).json()["data"] == {"t": "abc", "n": 2}
    default = {"type": "string", "pattern": "^a", "default": "b"}
    assert violations(await change(api, {"d": default})) == [
        ("body", "schema", "d", "default", "string_pattern_mismatch")
    ]


async def test_n17_documents_that_break_a_new_pattern_are_counted_and_shown(api: Api) -> None:
    await declare(api, {"t": {"type": "string"}, "n": {"type": "integer"}})
    ids = [await added(api, {"t": text, "n": number}) for number, text in enumerate("abbc")]
    await added(api, {"n": 9})
    new = {"t": {"type": "string", "pattern": "^[ac]$"}}
    response = await change(api, new)
    assert response.status_code == 409
    conflicts = response.json()["conflicts"]
    assert (conflicts["total"], [each["id"] for each in conflicts["documents"]]) == (2, ids[1:3])
    assert conflicts["documents"][0]["errors"] == [
        {"loc": ["data", "t"], "msg": "Must match the regular expression ^[ac]$", "type": "string_pattern_mismatch"}
    ]
    assert (await change(api, new, "?dry_run=true")).json()["conflicts"] == conflicts
    # One that breaks another rule as well counts once.
    both = await change(api, {**new, "n": {"type": "integer", "max": 1}})
    assert both.json()["conflicts"]["total"] == 4
    assert (await add(api, {"t": "b"})).status_code == 201
    assert (await change(api, {"t": {"type": "string", "pattern": "^[abc]$"}})).status_code == 200
    assert violations(await add(api, {"t": "d"})) == [("body", "data", "t", "string_pattern_mismatch")]


async def test_n17_more_documents_than_a_batch_are_looked_at(api: Api) -> None:
    await declare(api, {"t": {"type": "string"}})
    id_ = await added(api, {"t": "a"})
    record = api.database["c_things"].find_one({"_id": id_}) or {}
    api.database["c_things"].insert_many(record | {"_id": f"{number:024x}"} for number in range(1_700))
    conflicts = (await change(api, {"t": {"type": "string", "pattern": "b"}})).json()["conflicts"]
    assert conflicts["total"] == 1_701
    assert [each["id"] for each in conflicts["documents"]] == [f"{number:024x}" for number in range(10)]

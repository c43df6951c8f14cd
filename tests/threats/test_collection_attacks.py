"""Rows N3, N17, N21 and N26: what the schemas of one project may cost the others."""

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from service.bounds import MAX_PROJECT_INDEXES, MAX_SCHEMAS_BYTES
from service.domain.collections.catalog import Catalogs
from service.domain.collections.reconcile import Drift, find_drift
from service.domain.limits import made_files
from service.domain.projects.lookup import CACHE_SECONDS
from service.schema.fields import build
from service.schema.json_schema import validator
from service.schema.values import now
from service.storage.collections import INDEXES_AT_ONCE
from service.storage.layout import DOCUMENT_INDEXES
from service.storage.migrations import PROJECT_MIGRATIONS
from service.storage.validator_migrations import remove_patterns
from tests.conftest import Api, CommandRecorder, MakeApi
from tests.declared import Schema, add, added, change, declare, find, one, violations
from tests.threats.conftest import assert_refused

SLOW = "(?:a?){14}c|!$"
TEXT = {"type": "string", "pattern": SLOW}
# Beside a machine that does much else; a write takes some milliseconds.
PROMPT_SECONDS = 20.0


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


async def slowest_write(other: Api, attack: "asyncio.Task[Any]") -> float:
    """Seconds of the slowest write of another project from now until `attack` is over."""
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


async def test_n17_patterns_go_out_of_validators_from_before(api: Api) -> None:
    await declare(api, {"t": TEXT})
    await declare(api, {"n": {"type": "integer"}}, "others")
    (now_in_force,) = [
        each["options"]["validator"] for each in api.database.list_collections(filter={"name": "c_things"})
    ]
    before = validator(build({"t": TEXT}))
    before["$jsonSchema"]["properties"]["data"]["properties"]["t"]["pattern"] = SLOW
    api.database.command("collMod", "c_things", validator=before)
    assert remove_patterns in [step.run for step in PROJECT_MIGRATIONS]
    await remove_patterns(api.project.database)
    await remove_patterns(api.project.database)
    (options,) = [each["options"] for each in api.database.list_collections(filter={"name": "c_things"})]
    assert options["validator"] == now_in_force
    assert all("change" not in record for record in api.database["collections"].find())


async def test_n17_a_pattern_from_before_that_re2_does_not_know_is_named_and_must_go(api: Api) -> None:
    await declare(api, {"t": {"type": "string"}})
    old = {"type": "string", "pattern": "^(?=a)"}
    api.database["collections"].update_one({"_id": "things"}, {"$set": {"schema.t": old}})
    api.database.command("collMod", "c_things", validator=validator(build({"t": old})))
    drift = await find_drift(api.project.database)
    assert drift == {"things": Drift(['a pattern that RE2 knows in place of "^(?=a)"'], ["t"])}
    assert violations(await change(api, {"n": {"type": "integer"}})) == [
        ("body", "schema", "t", "pattern", "value_error")
    ]
    assert (await change(api, {"t": TEXT})).status_code == 200


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


WIDE = {f"f{number}": {"type": "string"} for number in range(400)}


def declare_past_the_service(api: Api, count: int) -> None:
    """Collections `wide0`, `wide1` and so on, as they are stored once they were declared."""
    moment = now()
    times = {"created_at": moment, "updated_at": moment}
    api.database["collections"].insert_many({"_id": f"wide{n}", "schema": WIDE, **times} for n in range(count))


async def test_n3_of_200_collections_one_is_read_once_for_all_who_wait(api: Api, commands: CommandRecorder) -> None:
    declare_past_the_service(api, 200)
    commands.commands.clear()
    responses = await asyncio.gather(*(find(api, "count=false", name="wide7") for _ in range(40)))
    assert {response.status_code for response in responses} == {200}
    read = [command for name, command in commands.commands if name == "find" and command["find"] == "collections"]
    assert [command["filter"] for command in read] == [{"_id": "wide7"}]
    assert not [name for name, command in commands.commands if command.get("aggregate") == "collections"]


async def test_n3_all_who_wait_are_given_the_one_parsed_collection(api: Api) -> None:
    declare_past_the_service(api, 3)
    catalogs = Catalogs()
    found = await asyncio.gather(*(catalogs.get(api.project, "wide1") for _ in range(40)))
    assert len({id(each) for each in found}) == 1
    assert CACHE_SECONDS <= 5


async def test_n3_a_project_has_at_most_so_many_collections(make_api: MakeApi) -> None:
    api = await make_api(COLLECTION_LIMIT="2")
    responses = await asyncio.gather(
        *(api.request("POST", "/api/collections", json={"name": f"c{n}", "schema": {}}) for n in range(6))
    )
    assert api.database["collections"].count_documents({}) <= 2
    for number in range(3):
        await api.request("POST", "/api/collections", json={"name": f"d{number}", "schema": {}})
    assert api.database["collections"].count_documents({}) == 2
    refused = await api.request("POST", "/api/collections", json={"name": "last", "schema": {}})
    assert (refused.status_code, refused.json()["code"]) == (409, "collection_limit")
    assert {response.status_code for response in responses} <= {201, 409}
    (name, *_) = [each["_id"] for each in api.database["collections"].find()]
    assert (await change(api, {"t": {"type": "string", "index": True}}, name=name)).status_code == 200
    assert (await api.request("DELETE", f"/api/collections/{name}")).status_code == 204
    await declare(api, {}, "last")


async def test_n3_no_limit_of_collections_is_0(make_api: MakeApi) -> None:
    api = await make_api(COLLECTION_LIMIT="0")
    declare_past_the_service(api, 201)
    await declare(api, {})
    assert (await api.request("GET", "/api/collections")).json()["total"] == 202


async def test_n21_the_indexes_of_a_project_have_a_bound(api: Api) -> None:
    indexed = {f"f{number}": {"type": "string", "index": True, "unique": number < 10} for number in range(40)}
    moment = now()
    stored = {"schema": indexed, "created_at": moment, "updated_at": moment}
    api.database["collections"].insert_many({"_id": f"c{number}", **stored} for number in range(5))
    await declare(api, {f"f{number}": {"type": "string", "index": True} for number in range(MAX_PROJECT_INDEXES - 251)})
    body = {
        "name": "more",
        "schema": {"a_id": {"type": "reference", "collection": "users"}, "b": {"type": "any", "index": True}},
    }
    refused = await api.request("POST", "/api/collections", json=body)
    assert (refused.status_code, refused.json()["code"]) == (409, "index_limit")
    assert str(MAX_PROJECT_INDEXES) in refused.json()["detail"]
    assert api.database["collections"].find_one({"_id": "more"}) is None
    two = {name: {"type": "string", "index": True} for name in ("x", "y")}
    assert (await change(api, two)).json()["code"] == "index_limit"
    assert (await change(api, {"x": two["x"]})).status_code == 200
    assert (await change(api, {"f0": {"type": "string"}})).status_code == 200
    assert all("change" not in record for record in api.database["collections"].find())


async def test_n21_the_schemas_of_a_project_have_a_bound_in_bytes(api: Api) -> None:
    """A list of collections reads them all into memory: 200 schemas of a megabyte would take the worker's."""
    moment = now()
    large = {"f": {"type": "string", "enum": ["x" * (MAX_SCHEMAS_BYTES - 2_000)]}}
    await declare(api, {"a": {"type": "string"}})
    api.database["collections"].insert_one(
        {"_id": "large", "schema": large, "created_at": moment, "updated_at": moment}
    )
    wide = {"b": {"type": "string", "enum": ["x" * 3_000]}}
    for refused in (
        await api.request("POST", "/api/collections", json={"name": "more", "schema": wide}),
        await change(api, wide),
    ):
        assert_refused(refused, 422)
        assert violations(refused) == [("body", "schema", "too_large")]
    assert (await change(api, {"b": {"type": "integer"}})).status_code == 200
    assert (await change(api, {"b": None})).status_code == 200
    stored = list(api.database["collections"].find({"_id": {"$ne": "large"}}))
    assert [record["schema"] for record in stored] == [{"a": {"type": "string"}}]
    assert "change" not in stored[0]


async def test_n21_of_an_empty_collection_a_few_indexes_are_made_at_a_time(api: Api, commands: CommandRecorder) -> None:
    """Those of one command are one write in MongoDB, for which later writes of all projects wait."""
    schema: Schema = {f"f{number}": {"type": "string", "index": True} for number in range(20)}
    await declare(api, schema)
    made = [len(command["indexes"]) for name, command in commands.commands if name == "createIndexes"]
    assert sum(made) == len(DOCUMENT_INDEXES) + 20
    assert max(made) == INDEXES_AT_ONCE
    await added(api, {"f0": "x"})
    commands.commands.clear()
    more = {f"g{number}": {"type": "string", "index": True} for number in range(20)}
    assert (await change(api, schema | more)).status_code == 200
    # Each command reads all documents, so here one has all indexes.
    made = [len(command["indexes"]) for name, command in commands.commands if name == "createIndexes"]
    assert set(made) == {len(DOCUMENT_INDEXES) + 40}
    assert len(api.database["c_things"].index_information()) == 1 + len(DOCUMENT_INDEXES) + 40


def nested(kind: str, depth: int) -> dict[str, Any]:
    definition: dict[str, Any] = {"type": "string"}
    for _ in range(depth - 1):
        definition = (
            {"type": "array", "items": definition}
            if kind == "items"
            else {"type": "object", "properties": {"a": definition}}
        )
    return definition


@pytest.mark.parametrize("kind", ["items", "properties"])
@pytest.mark.parametrize("depth", [11, 200, 400])
async def test_n26_a_schema_nested_too_deeply_is_refused(api: Api, kind: str, depth: int) -> None:
    body = {"name": "deep", "schema": {"f": nested(kind, depth)}}
    found = violations(await api.request("POST", "/api/collections", json=body))
    assert [each[-1] for each in found] == ["too_deep"]


async def test_n26_900_nested_items_are_refused(api: Api) -> None:
    raw = b'{"name":"deep","schema":{"f":' + b'{"type":"array","items":' * 900 + b'{"type":"string"}' + b"}" * 902
    response = await api.request("POST", "/api/collections", content=raw, headers={"content-type": "application/json"})
    assert {each[-1] for each in violations(response)} == {"too_deep"}
    await declare(api, {})
    change = await api.request(
        "PATCH",
        "/api/collections/things",
        content=raw.replace(b'"name":"deep",', b""),
        headers={"content-type": "application/json"},
    )
    assert change.status_code == 422


async def test_n21_declaring_and_deleting_in_turn_cannot_use_up_the_files_of_mongodb(
    make_api: MakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MongoDB keeps the files of what was dropped: with 60 indexes each, a thousand requests made 60,000."""
    monkeypatch.setattr(made_files, "MADE_FILES", replace(made_files.MADE_FILES, limit=lambda _: 30))
    api, other = await make_api(), await make_api()
    schema: Schema = {f"f{i}": {"type": "integer", "index": True} for i in range(8)}
    body, statuses = {"name": "things", "schema": schema}, []
    for _ in range(4):
        response = await api.request("POST", "/api/collections", json=body)
        statuses.append(response.status_code)
        await api.request("DELETE", "/api/collections/things")
    assert statuses == [201, 201, 429, 429]
    assert response.json()["code"] == "rate_limit_exceeded"
    assert response.json()["detail"] == "The limit of 30 collections and indexes made in five minutes is reached"
    assert 1 <= int(response.headers["retry-after"]) <= 300
    await declare(other, schema)


async def test_n21_an_index_that_a_change_adds_counts_too(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    # The window is a whole day, so that it does not end within the test.
    monkeypatch.setattr(made_files, "MADE_FILES", replace(made_files.MADE_FILES, limit=lambda _: 8, seconds=86_400))
    await declare(api, {"a": {"type": "integer"}})
    statuses = [
        (await change(api, {"a": {"type": "integer", "index": indexed}})).status_code for indexed in (True, False) * 8
    ]
    assert 429 in statuses
    assert statuses.index(429) % 2 == 0, statuses
    assert statuses[statuses.index(429) + 1] == 200, "what makes no index is not refused"

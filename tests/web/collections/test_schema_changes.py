"""Changing a schema with documents in place: all conform afterwards, or nothing has changed. Also while others write."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx2
import pytest
import structlog
from starlette.applications import Starlette

from service.app import create_app
from service.domain.collections.reconcile import Drift, find_drift, reconcile
from service.schema.fields import parse
from service.schema.indexes import indexes
from service.schema.json_schema import both, validator
from service.schema.values import now
from service.settings import Settings
from service.storage import definitions as definitions_module
from service.storage.collections import CollectionStore
from service.storage.definitions import Definitions
from tests.conftest import BASE_URL, Api
from tests.declared import Schema, add, added, change, declare, find, one, violations

TEXT = {"type": "string"}


def stored_schema(api: Api) -> Any:
    (record,) = api.database["collections"].find()
    assert "change" not in record
    return record["schema"]


def in_force(api: Api) -> Any:
    return api.database["c_things"].options()["validator"]


def assert_everything_conforms(api: Api) -> None:
    """The validator and the indexes are those of the stored schema, and no document breaks it."""
    fields = parse(stored_schema(api))
    assert in_force(api) == validator(fields)
    assert api.database["c_things"].count_documents({"$nor": [validator(fields)]}) == 0
    own = {"_id_", "created_at", "data"}
    assert set(api.database["c_things"].index_information()) == own | {index.name for index in indexes(fields)}
    assert [name for name in api.database.list_collection_names() if name.startswith(("scratch", "closed"))] == []


async def send_printed_write(api: Api, refused: httpx2.Response) -> httpx2.Response:
    """Sends the request that the message of a 409 names, as it is printed there."""
    assert (refused.status_code, refused.json()["code"]) == (409, "schema_conflict")
    method, path, body = refused.json()["detail"].rpartition("remove the values: ")[2].split(" ", 2)
    return await api.request(method, path, content=body, headers={"content-type": "application/json"})


async def test_the_conflict_of_a_removed_field_prints_the_write_that_empties_it(api: Api) -> None:
    await declare(api, {"a": TEXT, "b": TEXT, 'say "c"': TEXT})
    for data in ({"a": "x"}, *[{"a": "x", "b": "x", 'say "c"': "x"}] * 2):
        await added(api, data)
    refused = await change(api, {"b": None, 'say "c"': None})
    assert refused.json()["detail"] == (
        "2 documents break the new schema; nothing was changed. First remove the values: "
        'POST /api/collections/things/update {"where": {}, "unset": ["b", "say \\"c\\""], "expect": 3}'
    )
    assert (await send_printed_write(api, refused)).json()["matched"] == 3
    assert (await change(api, {"b": None, 'say "c"': None})).status_code == 200
    other = (await change(api, {"a": {"type": "integer"}})).json()["detail"]
    assert other == "3 documents break the new schema; nothing was changed"
    assert_everything_conforms(api)


async def test_the_conflict_of_a_removed_field_that_an_unset_leaves_says_what_to_declare_first(api: Api) -> None:
    fields = {"needed": {**TEXT, "required": True}, "given": {**TEXT, "default": "x"}}
    await declare(api, fields | {"a": TEXT})
    await added(api, {"needed": "x", "a": "x"})
    refused = await change(api, dict.fromkeys(fields))
    assert 'First declare ["given", "needed"] without required and default. Then remove' in refused.json()["detail"]
    assert (await change(api, dict.fromkeys(fields, TEXT))).status_code == 200
    assert (await send_printed_write(api, refused)).status_code == 200
    assert (await change(api, dict.fromkeys(fields))).status_code == 200
    assert_everything_conforms(api)


async def test_a_change_declares_some_fields_anew_and_leaves_the_others(api: Api) -> None:
    await declare(api, {"a": TEXT, "b": TEXT, "c": TEXT})
    response = await change(api, {"b": {"type": "integer"}, "c": None, "d": TEXT})
    assert response.status_code == 200
    assert response.json()["schema"] == {"a": TEXT, "b": {"type": "integer"}, "d": TEXT}
    assert response.json()["updated_at"] > response.json()["created_at"]
    assert violations(await add(api, {"b": "x", "c": "x"})) == [
        ("body", "data", "b", "int_type"),
        ("body", "data", "c", "extra_forbidden"),
    ]
    assert_everything_conforms(api)


REFUSED: list[tuple[str, Schema, int, list[tuple[Any, ...]]]] = [
    ("a field is required", {"n": {"type": "integer", "required": True}}, 3, [("data", "n", "missing")]),
    ("another type", {"title": {"type": "integer"}}, 3, [("data", "title", "int_type")]),
    ("a bound", {"title": {**TEXT, "max_length": 1}}, 2, [("data", "title", "string_too_long")]),
    ("a field is removed", {"title": None}, 3, [("data", "title", "extra_forbidden")]),
    (
        "a default that repairs only one of two",
        {"n": {"type": "integer", "required": True, "default": 1}, "title": {**TEXT, "max_length": 1}},
        2,
        [("data", "title", "string_too_long")],
    ),
    ("unique", {"title": {**TEXT, "unique": True}}, 2, [("data", "title", "unique")]),
    (
        "unique beside a change that fits",
        {"title": {**TEXT, "unique": True}, "n": {"type": "integer"}},
        2,
        [("data", "title", "unique")],
    ),
]


@pytest.mark.parametrize(("schema", "total", "errors"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
async def test_documents_that_would_break_it_are_counted_and_shown_and_nothing_changes(
    api: Api, schema: Schema, total: int, errors: list[tuple[Any, ...]]
) -> None:
    await declare(api, {"title": TEXT})
    ids = [await added(api, {"title": title}) for title in ("a", "secret", "secret")]
    documents, before = list(api.database["c_things"].find()), in_force(api)
    preview = await change(api, schema, "?dry_run=true")
    response = await change(api, schema)
    assert response.status_code == 409
    body = response.json()
    assert body["code"] == "schema_conflict"
    assert body["detail"].partition(". ")[0] == f"{total} documents break the new schema; nothing was changed"
    assert body["conflicts"]["total"] == total
    shown = body["conflicts"]["documents"]
    assert [document["id"] for document in shown] == ids[-total:]
    assert [(*error["loc"], error["type"]) for error in shown[0]["errors"]] == errors
    assert "secret" not in response.text
    assert preview.status_code == 200
    assert preview.json()["conflicts"] == body["conflicts"]
    assert preview.json()["applies"] is False
    assert (list(api.database["c_things"].find()), in_force(api)) == (documents, before)
    assert_everything_conforms(api)


async def test_only_the_first_documents_are_shown(api: Api) -> None:
    await declare(api, {"title": TEXT})
    ids = [await added(api, {"title": "x"}) for _ in range(15)]
    conflicts = (await change(api, {"title": {"type": "integer"}})).json()["conflicts"]
    assert conflicts["total"] == 15
    assert [document["id"] for document in conflicts["documents"]] == ids[:10]


async def test_defaults_repair_what_they_can_at_every_depth(api: Api) -> None:
    rooms = {"type": "array", "items": {"type": "object", "properties": {"no": {"type": "integer"}}}}
    await declare(api, {"title": TEXT, "rooms": rooms})
    whole = await added(api, {"title": "x", "rooms": [{"no": 1}, {}]})
    empty = await added(api, {})
    level = {"type": "integer", "required": True, "default": 0}
    deeper = {**rooms, "items": {"type": "object", "properties": {"no": {"type": "integer"}, "level": level}}}
    schema = {"on": {"type": "datetime", "required": True, "default": "2026-01-31"}, "rooms": deeper}
    assert (await change(api, schema, "?dry_run=true")).json() == {
        "applies": True,
        "repairs": 2,
        "conflicts": {"total": 0, "documents": []},
    }
    assert (await one(api, "GET", empty)).json()["data"] == {}
    assert (await change(api, schema)).status_code == 200
    on = {"on": "2026-01-31T00:00:00.000Z"}
    assert (await one(api, "GET", empty)).json()["data"] == on
    assert (await one(api, "GET", whole)).json()["data"] == {
        "title": "x",
        "rooms": [{"no": 1, "level": 0}, {"level": 0}],
        **on,
    }
    assert_everything_conforms(api)


async def test_a_default_of_an_optional_field_changes_no_document(api: Api) -> None:
    await declare(api, {"title": TEXT})
    id_ = await added(api, {"title": "x"})
    assert (await change(api, {"done": {"type": "boolean", "default": False}})).status_code == 200
    assert (await one(api, "GET", id_)).json()["data"] == {"title": "x"}
    assert (await one(api, "GET", await added(api, {}))).json()["data"] == {"done": False}
    fill = {"where": {"done_isnull": True}, "data": {"done": False}, "expect": 1}
    assert (await api.request("POST", "/api/collections/things/update", json=fill)).json()["changed"] == 1
    assert (await one(api, "GET", id_)).json()["data"] == {"title": "x", "done": False}


async def test_indexes_follow_the_schema(api: Api) -> None:
    await declare(api, {"a": {**TEXT, "index": True}, "b": {**TEXT, "unique": True}})
    await added(api, {"a": "x", "b": "x"})
    await change(api, {"a": TEXT, "b": {**TEXT, "index": True}, "c": {"type": "integer", "unique": True}})
    assert_everything_conforms(api)
    assert "index a" not in api.database["c_things"].index_information()
    await added(api, {"b": "x", "c": 1})
    assert (await add(api, {"c": 1})).status_code == 409


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"new": {"type": "text"}}, ("body", "schema", "new", "type", "enum")),
        ({"nothing": None}, ("body", "schema", "nothing", "dict_type")),
        ({"new": {**TEXT, "pattern": "("}}, ("body", "schema", "new", "pattern", "value_error")),
        ({"title": {**TEXT, "default": 1}}, ("body", "schema", "title", "default", "string_type")),
    ],
)
async def test_a_bad_definition_is_refused(api: Api, schema: Schema, expected: tuple[str, ...]) -> None:
    await declare(api, {"title": TEXT})
    assert violations(await change(api, schema)) == [expected]
    assert_everything_conforms(api)


async def test_a_reference_to_a_deleted_collection_does_not_stand_in_the_way(api: Api) -> None:
    await declare(api, {}, "makers")
    await declare(api, {"maker_id": {"type": "reference", "collection": "makers"}})
    await api.request("DELETE", "/api/collections/makers")
    assert (await change(api, {"title": TEXT})).status_code == 200
    other = {"other_id": {"type": "reference", "collection": "gone"}}
    assert violations(await change(api, other)) == [
        ("body", "schema", "other_id", "collection", "collection_not_found")
    ]


@pytest.mark.parametrize(
    "query", ["?dry_run=1", "?dry_run=", "?dryrun=true", "?dry_run=true&x=1", "?dry_run=true&dry_run=true"]
)
async def test_a_misspelt_dry_run_changes_nothing(api: Api, query: str) -> None:
    await declare(api, {"title": TEXT})
    assert (await change(api, {"new": TEXT}, query)).status_code == 422
    assert stored_schema(api) == {"title": TEXT}


async def test_of_parallel_changes_each_succeeds_whole_or_is_told_to_try_again(api: Api) -> None:
    await declare(api, {"title": TEXT})
    await added(api, {"title": "x"})
    required = {"type": "integer", "required": True, "default": 1}
    responses = await asyncio.gather(*(change(api, {f"f{number}": required}) for number in range(8)))
    done = [number for number, response in enumerate(responses) if response.status_code == 200]
    assert done
    assert {response.json()["code"] for response in responses if response.status_code != 200} <= {"schema_changing"}
    assert stored_schema(api) == {"title": TEXT} | {f"f{number}": required for number in done}
    assert_everything_conforms(api)


@pytest.fixture
async def other_worker(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A second worker, with what it remembers itself."""
    app: Starlette = create_app(settings)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=BASE_URL) as client,
    ):
        yield client


@pytest.fixture
def elsewhere(api: Api, other_worker: httpx2.AsyncClient) -> Api:
    return Api(api.project, api.key, other_worker, api.database)


async def test_a_worker_with_an_old_definition_writes_by_the_new_one(api: Api, elsewhere: Api) -> None:
    await declare(api, {"title": TEXT, "at": TEXT})
    await added(elsewhere, {"title": "x"})
    level = {"type": "integer", "required": True, "default": 7}
    await change(api, {"level": level, "at": {"type": "datetime"}})
    response = await add(elsewhere, {"title": "y", "at": "2026-01-31"})
    assert response.status_code == 201
    assert response.json()["data"] == {"title": "y", "at": "2026-01-31T00:00:00.000Z", "level": 7}
    assert_everything_conforms(api)


async def test_a_worker_that_knows_a_deleted_collection_cannot_write_to_it(api: Api, elsewhere: Api) -> None:
    await declare(api, {"title": TEXT})
    id_ = await added(elsewhere, {"title": "x"})
    await api.request("DELETE", "/api/collections/things")
    assert (await add(elsewhere, {"title": "y"})).json()["code"] == "collection_not_found"
    assert (await one(elsewhere, "PATCH", id_, {"title": "y"})).status_code == 404
    assert api.database["c_things"].count_documents({}) == 0


async def test_a_collection_is_known_to_every_worker_at_once(api: Api, elsewhere: Api) -> None:
    assert (await find(elsewhere)).status_code == 404
    await declare(api, {"title": TEXT})
    assert (await find(elsewhere)).status_code == 200
    await added(elsewhere, {"title": "x"})


@pytest.mark.parametrize("round_", range(6))
async def test_concurrent_writers_leave_no_document_that_breaks_the_final_schema(
    api: Api, elsewhere: Api, round_: int
) -> None:
    """Two workers write what fits the old schema, the new one, or both, while a third tightens and loosens it."""
    generator = random.Random(round_)  # noqa: S311 - reproducible, not secret
    await declare(api, {"n": {"type": "integer"}})
    stop = asyncio.Event()
    statuses: set[int] = set()

    async def write(through: Api) -> None:
        while not stop.is_set():
            data = generator.choice([{"n": 1}, {"n": 9}, {"n": 1, "level": 2}, {}])
            statuses.add((await add(through, data)).status_code)

    writers = [asyncio.create_task(write(through)) for through in (api, elsewhere) * 3]
    level = {"type": "integer", "required": True, "default": 0}
    changes: list[Schema] = [
        {"level": level},
        {"n": {"type": "integer", "max": 5}},
        {"level": None},
        {"n": {"type": "integer"}},
    ]
    answers = []
    try:
        for schema in changes:
            await asyncio.sleep(0.05)
            answers.append((await change(api, schema)).status_code)
            assert_everything_conforms(api)
    finally:
        stop.set()
        await asyncio.gather(*writers)
    assert_everything_conforms(api)
    assert set(answers) <= {200, 409}
    assert answers[0] == 200
    assert statuses <= {201, 422, 503}
    assert 201 in statuses


OLD: Schema = {"title": TEXT, "n": {"type": "integer", "index": True}}
NEW: Schema = {
    "title": TEXT,
    "level": {"type": "integer", "required": True, "default": 3},
    "n": {"type": "integer", "unique": True},
}


@pytest.mark.parametrize("died_after", ["begin", "validator", "indexes", "commit", "repair"])
async def test_a_change_whose_worker_died_is_settled_one_way_or_the_other(api: Api, died_after: str) -> None:
    await declare(api, OLD)
    id_ = await added(api, {"title": "x", "n": 1})
    await die_in_a_change(api, died_after)
    # While the lease lasts, what fits only one of the two schemas waits.
    assert (await add(api, {"title": "y"})).status_code in {201, 503}
    expire(api)
    body = (await api.request("GET", "/api/collections/things")).json()
    committed = died_after in {"commit", "repair"}
    assert body["schema"] == (NEW if committed else OLD)
    data = {"title": "x", "n": 1} | ({"level": 3} if committed else {})
    assert (await one(api, "GET", id_)).json()["data"] == data
    assert_everything_conforms(api)
    assert (await change(api, {"title": {**TEXT, "index": True}})).status_code == 200


async def die_in_a_change(api: Api, died_after: str) -> None:
    """Takes the steps of a change from OLD to NEW up to one of them."""
    definitions, store = Definitions(api.project.database), CollectionStore(api.project.database)
    record = await definitions.begin("things", "change")
    assert record is not None
    old, new = validator(parse(OLD)), validator(parse(NEW))
    steps: dict[str, Callable[[], Awaitable[object]]] = {
        "begin": lambda: asyncio.sleep(0),
        "validator": lambda: store.set_validator("things", both(old, new)),
        "indexes": lambda: store.add_indexes("things", [*indexes(parse(OLD)), *indexes(parse(NEW))]),
        "commit": lambda: definitions.commit(record, NEW),
        "repair": lambda: store.set_validator("things", new),
    }
    for step, take in steps.items():
        await take()
        if step == died_after:
            return


async def test_a_commit_of_which_nobody_heard_is_settled_on(api: Api) -> None:
    await declare(api, OLD)
    await added(api, {"title": "x", "n": 1})
    definitions = Definitions(api.project.database)
    record = await definitions.begin("things", "change")
    assert record is not None
    await definitions.commit(record, NEW)
    await reconcile(api.project.database, record)
    assert stored_schema(api) == NEW
    assert_everything_conforms(api)


async def test_who_lost_the_lease_settles_and_commits_nothing(api: Api) -> None:
    await declare(api, OLD)
    definitions = Definitions(api.project.database)
    record = await definitions.begin("things", "change")
    assert record is not None
    expire(api)
    await api.request("GET", "/api/collections/things")
    await reconcile(api.project.database, record)
    assert await definitions.commit(record, NEW) is None
    assert stored_schema(api) == OLD
    assert_everything_conforms(api)


def expire(api: Api) -> None:
    past = now() - timedelta(seconds=1)
    assert api.database["collections"].update_one({}, {"$set": {"change.until": past}}).modified_count == 1


async def test_a_change_under_way_keeps_other_changes_away(api: Api) -> None:
    await declare(api, OLD)
    await die_in_a_change(api, "validator")
    assert (await change(api, {"title": None})).json()["code"] == "schema_changing"
    assert (await api.request("DELETE", "/api/collections/things")).json()["code"] == "schema_changing"
    assert (await api.request("GET", "/api/collections/things")).json()["schema"] == OLD


async def test_what_fits_only_one_of_the_two_schemas_waits_for_the_change(api: Api) -> None:
    await declare(api, OLD)
    await die_in_a_change(api, "validator")
    for data in ({"title": "x"}, {"level": 1}):
        response = await add(api, data)
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert response.json()["detail"] == "The schema of this collection is being changed; try again"


@pytest.mark.parametrize("made", [False, True], ids=["before the collection was made", "after"])
async def test_a_creation_whose_worker_died_is_finished(api: Api, made: bool) -> None:
    await Definitions(api.project.database).reserve("things", OLD)
    if made:
        await CollectionStore(api.project.database).set_validator("things", validator(parse(OLD)))
    assert (await add(api, {"title": "x"})).status_code == 404
    expire(api)
    await added(api, {"title": "x"})
    assert_everything_conforms(api)


@pytest.mark.parametrize("closed", [False, True], ids=["before the documents were dropped", "after"])
async def test_a_deletion_whose_worker_died_is_finished(api: Api, closed: bool) -> None:
    await declare(api, OLD)
    await added(api, {"title": "x"})
    await Definitions(api.project.database).begin("things", "delete")
    if closed:
        await CollectionStore(api.project.database).close("things")
    assert (await api.request("GET", "/api/collections/things")).status_code == 404
    expire(api)
    assert (await api.request("GET", "/api/collections")).json()["total"] == 0
    assert api.database["collections"].count_documents({}) == 0
    assert api.database["c_things"].count_documents({}) == 0
    await declare(api, NEW)


async def test_what_somebody_removed_past_the_service_is_put_back_by_a_change_of_nothing(api: Api) -> None:
    await declare(api, {"a": {"type": "string", "unique": True}})
    things = api.database["c_things"]
    things.drop_index("unique string a")
    things.drop_index("data")
    api.database.command("collMod", "c_things", validator={})
    found = await find_drift(api.project.database)
    assert found == {"things": Drift(["its validator", 'the index "data"', 'the index "unique string a"'], [])}
    assert (await change(api, {})).status_code == 200
    assert await find_drift(api.project.database) == {}
    assert_everything_conforms(api)


async def test_a_unique_index_that_cannot_be_put_back_stops_nothing_else(api: Api) -> None:
    await declare(api, {"a": {"type": "string", "unique": True}})
    await added(api, {"a": "same"})
    other = await added(api, {"a": "other"})
    api.database["c_things"].drop_index("unique string a")
    api.database["c_things"].update_one({"_id": other}, {"$set": {"data.a": "same"}})
    with structlog.testing.capture_logs() as lines:
        refused = await change(api, {"b": TEXT})
    assert (refused.status_code, refused.json()["code"], refused.json()["conflicts"]["total"]) == (
        409,
        "schema_conflict",
        2,
    )
    assert [(line["collection"], line["fields"]) for line in lines if line["event"] == "index_not_built"] == [
        ("things", ["data.a"])
    ]
    # No lease holds the collection any more, and it works.
    assert stored_schema(api) == {"a": {"type": "string", "unique": True}}
    assert (await add(api, {"a": "written"})).status_code == 201
    assert list(await find_drift(api.project.database)) == ["things"]


async def test_n39_a_lease_is_told_by_the_clock_of_mongodb(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose clock is an hour ahead dies in a change: for others its lease ends as soon as any."""
    await declare(api, OLD)
    with monkeypatch.context() as patch:
        patch.setattr(definitions_module, "now", lambda: now() + timedelta(hours=1))
        await die_in_a_change(api, "validator")
        # Nor does that worker take over what another one is about.
        assert await Definitions(api.project.database).take_over("things") is None
    stored = api.database["collections"].find_one({"_id": "things"})
    assert stored is not None
    assert timedelta(0) < stored["change"]["until"] - now() <= timedelta(minutes=2)

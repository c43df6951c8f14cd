"""Refused schemas and dry runs make no collection and no file (V9); what earlier versions made is removed (V19)."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from bson import ObjectId

from service.schema.documents import complete
from service.schema.fields import parse
from service.services import Services
from tests.conftest import Api, CommandRecorder
from tests.declared import Schema, added, change, declare, violations

REFUSALS, AT_ONCE = 500, 8
BAD_DEFAULTS = {f"f{number}": {"type": "integer", "default": "x"} for number in range(20)}
# Commands that make files, or remove them.
MAKING = {"create", "createIndexes", "drop", "dropIndexes", "renameCollection", "collMod"}


async def refuse_many(api: Api, method: str, path: str, body: Any, expected: int) -> None:
    for _ in range(REFUSALS // AT_ONCE // 2):
        answers = await asyncio.gather(*(api.request(method, path, json=body) for _ in range(AT_ONCE)))
        assert {answer.status_code for answer in answers} == {expected}


async def test_v9_refused_schemas_and_dry_runs_make_no_collection(api: Api, commands: CommandRecorder) -> None:
    await declare(api, {"n": {"type": "integer"}, "text": {"type": "string"}})
    for number in range(12):
        await added(api, {"n": number, "text": "x"})
    before = sorted(api.database.list_collection_names())
    commands.commands.clear()
    body = {"name": "nope", "schema": BAD_DEFAULTS}
    await refuse_many(api, "POST", "/api/collections", body, 422)
    breaking = {"schema": {"n": {"type": "string"}, "text": None}}
    await refuse_many(api, "PATCH", "/api/collections/things?dry_run=true", breaking, 200)
    assert (await change(api, breaking["schema"])).status_code == 409
    assert sorted(api.database.list_collection_names()) == before
    assert not MAKING.intersection(commands.names)


async def test_v9_a_dry_run_still_says_why_each_document_breaks_the_schema(api: Api) -> None:
    await declare(api, {"n": {"type": "integer"}, "tags": {"type": "array"}})
    ids = [await added(api, {"n": number, "tags": ["a", number]}) for number in range(12)]
    schema = {
        "n": {"type": "integer", "max": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
        "title": {"type": "string", "required": True},
    }
    answer = await change(api, schema, "?dry_run=true")
    conflicts = answer.json()["conflicts"]
    assert (answer.json()["applies"], conflicts["total"]) == (False, 12)
    assert [each["id"] for each in conflicts["documents"]] == ids[:10]
    found = [[(*error["loc"], error["type"]) for error in each["errors"]] for each in conflicts["documents"]]
    item, title = ("data", "tags", 1, "string_type"), ("data", "title", "missing")
    assert found == [[item, title], *[[("data", "n", "less_than_equal"), item, title]] * 9]


async def test_v9_a_document_that_is_too_large_to_be_followed_is_named(api: Api) -> None:
    await declare(api, {"text": {"type": "string"}})
    id_ = await added(api, {"text": "x" * 1_000_000})
    for _ in range(3):
        answer = await api.request(
            "PATCH", f"/api/collections/things/documents/{id_}", json={"data": {"text": "x" * 1_040_000}}
        )
        assert answer.status_code == 200
    api.database["c_things"].update_one({"_id": id_}, {"$set": {"data.text": "x" * 1_048_576}})
    answer = await api.request("PATCH", "/api/collections/things?dry_run=true", json={"realtime": True})
    (conflict,) = answer.json()["conflicts"]["documents"]
    assert (conflict["id"], [error["type"] for error in conflict["errors"]]) == (id_, ["too_large"])


LARGE: Schema = {"type": "array", "default": [1] * 9_000}
MANY: Schema = {
    "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}, "large": LARGE}}}
}


async def test_defaults_are_not_multiplied_by_the_objects_of_an_array(api: Api) -> None:
    """40,000 objects that lack a field with a default of 9,000 numbers would be 360 million numbers."""
    await declare(api, MANY)
    documents, before = "/api/collections/things/documents", time.process_time()
    data: Schema = {"list": [{}] * 40_000}
    id_ = await added(api, {"list": [{"n": 1}]})
    for method, path, body in (
        ("POST", documents, {"data": data}),
        ("PUT", f"{documents}/{id_}", {"data": data}),
        ("PATCH", f"{documents}/{id_}", {"data": data}),
    ):
        answer = await api.request(method, path, json=body)
        assert violations(answer) == [("body", "data", "too_long")]
    batch = {"operations": [{"op": "create", "collection": "things", "data": each} for each in ({}, data)]}
    answer = await api.request("POST", "/api/batch", json=batch)
    assert violations(answer) == [("body", "operations", 1, "data", "too_long")]
    lines = "".join(json.dumps({"data": each}) + "\n" for each in ({}, data, {}))
    for query, created in (("?dry_run=true", 2), ("", 2)):
        headers = {"content-type": "application/x-ndjson"}
        answer = await api.request(
            "POST", f"/api/collections/things/import{query}", content=lines.encode(), headers=headers
        )
        assert (answer.json()["created"], answer.json()["refused"]) == (created, 1)
    schema = {"list": {**MANY["list"], "default": data["list"]}}
    answer = await api.request("POST", "/api/collections", json={"name": "others", "schema": schema})
    assert violations(answer) == [("body", "schema", "list", "default", "too_long")]
    assert api.database["c_things"].count_documents({}) == 3
    assert time.process_time() - before < 10.0


async def test_objects_of_an_array_are_not_multiplied_by_the_fields_that_they_lack() -> None:
    properties = {f"f{number}": {"type": "datetime"} for number in range(490)}
    fields = parse({"list": {"type": "array", "items": {"type": "object", "properties": properties}}})
    before = time.process_time()
    complete({"list": [{}] * 49_000}, fields)
    # Each field of each object was looked at: 0.7 s.
    assert time.process_time() - before < 0.2


async def test_v19_the_sweep_drops_scratch_collections_of_older_versions(api: Api, services: Services) -> None:
    old, new = datetime.now(UTC) - timedelta(minutes=61), datetime.now(UTC) - timedelta(minutes=59)
    names = {moment: f"scratch_{ObjectId.from_datetime(moment)}" for moment in (old, new)}
    for name in (*names.values(), "scratch_", "scratch_notes"):
        api.database[name].insert_one({"_id": "0", "data": {"copied": "from a document that is deleted"}})
    (job,) = (job for job in services.jobs.jobs if job.name == "sweep_collections")
    await job.run()
    left = {name for name in api.database.list_collection_names() if name.startswith("scratch")}
    assert left == {names[new], "scratch_", "scratch_notes"}

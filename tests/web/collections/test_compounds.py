"""Collections with compound unique keys and compound indexes."""

import asyncio
from collections import Counter
from typing import Any

import httpx2
import orjson

from service.bounds import MAX_PROJECT_INDEXES
from tests.conftest import Api
from tests.declared import add, added, change, declare, one, violations
from tests.web.rules.conftest import save

SCHEMA = {
    "board_id": {"type": "string"},
    "user_id": {"type": "string", "nullable": True},
    "status": {"type": "string"},
    "due": {"type": "datetime"},
}
OPTIONS: dict[str, Any] = {"unique": [["board_id", "user_id"]], "indexes": [["status", "-due"]]}
MEMBER = {"board_id": "b", "user_id": "u"}
RACERS = 20


async def declare_with(api: Api, **options: Any) -> dict[str, Any]:
    body = {"name": "things", "schema": SCHEMA, **options}
    answer = await api.request("POST", "/api/collections", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def set_options(api: Api, query: str = "", **options: Any) -> httpx2.Response:
    return await api.request("PATCH", f"/api/collections/things{query}", json=options)


def index_names(api: Api) -> set[str]:
    return {name for name in api.database["c_things"].index_information() if name.startswith("compound")}


async def test_a_compound_is_unique_together_and_the_409_names_its_fields(api: Api) -> None:
    declared = await declare_with(api, **OPTIONS)
    assert {name: declared[name] for name in OPTIONS} == OPTIONS
    await added(api, MEMBER)
    other = await added(api, MEMBER | {"board_id": "c"})
    for free in ({"board_id": "b"}, MEMBER | {"user_id": None}):
        await added(api, free)
        await added(api, free)
    refused = await add(api, MEMBER)
    assert (refused.status_code, refused.json()["code"]) == (409, "duplicate_value")
    assert refused.json()["detail"] == "Another record already has these values of board_id and user_id"
    assert (await one(api, "PATCH", other, {"board_id": "b"})).status_code == 409
    assert (await one(api, "GET", other)).json()["data"]["board_id"] == "c"


async def test_a_409_names_only_fields_that_the_caller_may_read(api: Api) -> None:
    schema = SCHEMA | {"code": {"type": "string", "unique": True}}
    await declare_with(api, schema=schema, unique=OPTIONS["unique"])
    hidden = {"user_id": {"read": False}, "code": {"read": False}}
    rules = {"create": "anyone", "read": "anyone", "update": "anyone", "fields": hidden}
    assert (await save(api, {"collections": {"things": rules}})).status_code == 200
    other = await added(api, MEMBER | {"board_id": "c"})
    await added(api, MEMBER | {"code": "x"})
    path, key = "/api/collections/things/documents", {"x-api-key": api.publishable_key}

    async def refuse(method: str, tail: str, data: dict[str, Any]) -> tuple[int, str, str]:
        answer = await api.http.request(method, path + tail, headers=key, json={"data": data})
        return answer.status_code, answer.json()["code"], answer.json()["detail"]

    taken = "Another record already has this value"
    assert await refuse("POST", "", MEMBER) == (409, "duplicate_value", f"{taken} of board_id")
    assert await refuse("PATCH", f"/{other}", {"board_id": "b"}) == (409, "duplicate_value", f"{taken} of board_id")
    assert await refuse("POST", "", {"code": "x"}) == (409, "duplicate_value", taken)


async def test_of_many_who_create_a_member_at_once_one_succeeds(api: Api) -> None:
    await declare_with(api, unique=OPTIONS["unique"])
    answers = await asyncio.gather(*(add(api, MEMBER) for _ in range(RACERS)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: RACERS - 1}
    assert api.database["c_things"].count_documents({}) == 1


async def test_documents_that_clash_stand_in_the_way_of_a_compound(api: Api) -> None:
    await declare(api, SCHEMA)
    ids = [await added(api, MEMBER) for _ in range(2)]
    await added(api, {"board_id": "b"})
    preview = (await set_options(api, "?dry_run=true", unique=OPTIONS["unique"])).json()
    refused = await set_options(api, unique=OPTIONS["unique"])
    assert refused.json()["code"] == "schema_conflict"
    assert refused.json()["conflicts"] == preview["conflicts"]
    assert (preview["applies"], preview["conflicts"]["total"]) == (False, 2)
    assert [each["id"] for each in preview["conflicts"]["documents"]] == sorted(ids)
    assert [error["loc"] for error in preview["conflicts"]["documents"][0]["errors"]] == [
        ["data", "board_id"],
        ["data", "user_id"],
    ]
    assert index_names(api) == set()
    assert "unique" not in (await api.request("GET", "/api/collections/things")).json()


async def test_indexes_follow_the_options(api: Api) -> None:
    await declare(api, SCHEMA)
    changed = (await set_options(api, **OPTIONS)).json()
    assert {name: changed[name] for name in OPTIONS} == OPTIONS
    assert len(index_names(api)) == 2
    assert (await change(api, {"note": {"type": "string"}})).json()["unique"] == OPTIONS["unique"]
    assert "unique" not in (await set_options(api, unique=[])).json()
    assert index_names(api) == {'compound ["-status", "due"]'}


async def test_a_field_of_a_compound_goes_with_it_or_not_at_all(api: Api) -> None:
    await declare_with(api, **OPTIONS)
    assert violations(await change(api, {"user_id": None})) == [("body", "unique", 0, 1, "value_error")]
    together = {"schema": {"user_id": None}, "unique": []}
    assert (await api.request("PATCH", "/api/collections/things", json=together)).status_code == 200
    assert len(index_names(api)) == 1


async def test_a_compound_index_serves_a_sorted_list(api: Api) -> None:
    await declare_with(api, **OPTIONS)
    find = {"find": "c_things", "filter": {"data.status": "open"}, "sort": {"data.due": -1, "_id": -1}}
    plan = str(api.database.command("explain", find, verbosity="queryPlanner")["queryPlanner"]["winningPlan"])
    assert "'stage': 'SORT'" not in plan
    assert 'compound ["-status", "due"]' in plan


async def test_n21_compounds_count_as_indexes_of_the_project(api: Api) -> None:
    await declare_with(api, **OPTIONS)
    indexed = {f"f{number}": {"type": "string", "index": True} for number in range(58)}
    stored = {"schema": indexed, "created_at": None, "updated_at": None, **OPTIONS}
    api.database["collections"].insert_many({"_id": f"c{number}", **stored} for number in range(4))
    rest = {f"f{number}": {"type": "string", "index": True} for number in range(MAX_PROJECT_INDEXES - 242)}
    await declare(api, rest, "rest")
    refused = await set_options(api, indexes=[*OPTIONS["indexes"], ["due", "status"]])
    assert (refused.status_code, refused.json()["code"]) == (409, "index_limit")
    assert len(index_names(api)) == 2


async def test_rules_advise_no_index_that_a_compound_replaces_and_warn_of_its_values(api: Api) -> None:
    await declare_with(api, unique=OPTIONS["unique"])
    rules = {"collections": {"things": {"read": {"status_eq": "open"}, "create": "users"}}}
    before = (await save(api, rules)).json()
    assert [each["index"] for each in before["advice"]] == [["status", "created_at"]]
    assert [each["msg"].partition(":")[0] for each in before["warnings"]] == [
        "board_id and user_id are unique together"
    ]
    await set_options(api, indexes=[["status", "-created_at"]])
    assert (await save(api, rules)).json()["advice"] == []


async def test_an_ascending_compound_stands_beside_an_index_of_rules(api: Api) -> None:
    await declare_with(api)
    rules = {"collections": {"things": {"read": {"status_eq": "open"}}}}
    assert (await api.request("PUT", "/api/rules?indexes=true", json=rules)).status_code == 200
    assert (await set_options(api, indexes=[["status", "created_at"]])).status_code == 200
    assert "rule status created_at" in api.database["c_things"].index_information()


async def test_a_trial_of_an_import_finds_taken_values_of_a_compound(api: Api) -> None:
    await declare_with(api, **OPTIONS)
    await added(api, MEMBER)
    rows = (MEMBER, MEMBER | {"board_id": "x"}, MEMBER | {"board_id": "x"}, {"status": "s"})
    lines = b"\n".join(orjson.dumps({"data": row}) for row in rows)
    headers = {"content-type": "application/x-ndjson"}
    path = "/api/collections/things/import?dry_run=true"
    report = (await api.request("POST", path, content=lines, headers=headers)).json()
    assert [each["line"] for each in report["errors"]] == [1, 3], report

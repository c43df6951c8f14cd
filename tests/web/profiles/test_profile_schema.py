"""The schema of profiles: reading and replacing it, the users that are there, and two changes at once."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from service.domain.collections.reconcile import Drift, find_drift
from service.domain.profiles import changes
from service.schema.json_schema import profile_validator
from service.schema.profiles import build_profile
from service.schema.values import now
from service.services import Services
from tests.conftest import Api
from tests.declared import violations

URL = "/auth-collections/schema"
TEXT = {"type": "string"}
PLAN = {"plan": {"type": "string", "enum": ["free", "pro"], "default": "free"}}
NOTHING = {"schema": {}, "additional": True, "updated_at": None}


async def put(
    api: Api, schema: dict[str, Any], query: str = "", *, additional: bool = True, if_match: str | None = None
) -> httpx2.Response:
    body = {"schema": schema, "additional": additional}
    headers = {} if if_match is None else {"if-match": if_match}
    return await api.request("PUT", f"{URL}{query}", json=body, headers=headers)


async def declare_profile(api: Api, schema: dict[str, Any], *, additional: bool = True) -> httpx2.Response:
    answer = await put(api, schema, additional=additional)
    assert answer.status_code == 200, answer.text
    return answer


async def make_user(api: Api, name: str = "ann", **data: Any) -> str:
    made = await api.request("POST", "/auth-collections/users", json={"email": f"{name}@example.com", "data": data})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def data_of(api: Api, user_id: str) -> Any:
    record = api.database["users"].find_one({"_id": user_id})
    assert record is not None
    return record["data"]


def assert_conforms(api: Api, schema: dict[str, Any], *, additional: bool = True) -> None:
    """The schema is stored, its validator is in force, no user breaks it, and no change is under way."""
    (record,) = api.database["profile"].find()
    assert (record["schema"], record.get("additional", True)) == (schema, additional)
    assert "change" not in record
    wanted = profile_validator(build_profile(schema, additional=additional), additional=additional)
    assert api.database["users"].options().get("validator", {}) == wanted
    assert api.database["users"].count_documents({"$nor": [wanted]}) == 0


async def test_a_schema_is_read_as_it_was_declared(api: Api) -> None:
    before = await api.request("GET", URL)
    assert before.json() == NOTHING
    saved = await put(api, PLAN, if_match="*")
    assert saved.status_code == 200
    assert saved.json() == {"schema": PLAN, "additional": True, "updated_at": saved.json()["updated_at"]}
    read = await api.request("GET", URL)
    assert (read.json(), read.headers["etag"]) == (saved.json(), saved.headers["etag"])
    assert read.headers["etag"] != before.headers["etag"]
    assert_conforms(api, PLAN)
    emptied = await declare_profile(api, {})
    assert emptied.json()["updated_at"] >= saved.json()["updated_at"]
    assert_conforms(api, {})


async def test_a_change_demands_the_version_that_its_if_match_names(api: Api) -> None:
    tag = (await api.request("GET", URL)).headers["etag"]
    assert (await put(api, PLAN, if_match=tag)).status_code == 200
    for query in ("", "?dry_run=true"):
        refused = await put(api, {}, query, if_match=tag)
        assert (refused.status_code, refused.json()["code"]) == (412, "version_conflict")
        assert refused.headers["etag"] == (await api.request("GET", URL)).headers["etag"]
    assert_conforms(api, PLAN)


async def test_of_two_changes_with_one_version_one_is_made(api: Api) -> None:
    tag = (await declare_profile(api, {})).headers["etag"]
    answers = await asyncio.gather(*(put(api, PLAN, if_match=tag) for _ in range(4)))
    statuses = sorted(each.status_code for each in answers)
    assert statuses[0] == 200
    assert set(statuses[1:]) <= {409, 412}
    assert_conforms(api, PLAN)


async def test_a_refused_definition_leaves_the_schema_as_it_is(api: Api) -> None:
    taken = {"id": TEXT, "a": {**TEXT, "required": True}}
    assert violations(await put(api, taken)) == [
        ("body", "schema", "id", "reserved"),
        ("body", "schema", "a", "required", "extra_forbidden"),
    ]
    found = {"a": {**TEXT, "pattern": "("}, "b": {"type": "integer"}}
    assert violations(await put(api, found)) == [("body", "schema", "a", "pattern", "value_error")]
    late = {"a": {"type": "datetime", "default": "x"}}
    assert violations(await put(api, late)) == [("body", "schema", "a", "default", "datetime_type")]
    assert (await api.request("GET", URL)).json() == NOTHING


async def test_defaults_are_filled_into_users_that_are_there(api: Api) -> None:
    ann, bob = await make_user(api, "ann"), await make_user(api, "bob", plan="pro")
    schema = {**PLAN, "since": {"type": "datetime", "default": "2026-01-31"}}
    preview = await put(api, schema, "?dry_run=true")
    assert preview.json() == {"applies": True, "repairs": 2, "conflicts": {"total": 0, "documents": []}}
    assert data_of(api, ann) == {}
    await declare_profile(api, schema)
    assert data_of(api, ann) == {"plan": "free", "since": "2026-01-31T00:00:00.000Z"}
    assert data_of(api, bob) == {"plan": "pro", "since": "2026-01-31T00:00:00.000Z"}
    assert_conforms(api, schema)


async def test_users_that_break_a_schema_are_counted_and_named_and_nothing_changes(api: Api) -> None:
    await make_user(api, "ann", age=3)
    broken = {
        await make_user(api, "bob", age="x"): ("data", "age", "int_type"),
        await make_user(api, "cat", age=None): ("data", "age", "int_type"),
    }
    schema = {**PLAN, "age": {"type": "integer"}}
    refused = await put(api, schema)
    assert (refused.status_code, refused.json()["code"]) == (409, "schema_conflict")
    assert refused.json()["detail"] == "2 users break the new schema; nothing was changed"
    conflicts = refused.json()["conflicts"]
    named = {each["id"]: (*each["errors"][0]["loc"], each["errors"][0]["type"]) for each in conflicts["documents"]}
    assert (conflicts["total"], named) == (2, broken)
    dry = (await put(api, schema, "?dry_run=true")).json()
    assert dry == {"applies": False, "repairs": 1, "conflicts": conflicts}
    assert (await api.request("GET", URL)).json() == NOTHING
    assert api.database["users"].count_documents({"data.plan": {"$exists": True}}) == 0
    assert "validator" not in api.database["users"].options()


async def test_undeclared_fields_and_times_in_another_form_are_conflicts(api: Api) -> None:
    ann = await make_user(api, "ann", username="ann", nick="a", born="2026-01-31")
    refused = await put(api, {"born": {"type": "datetime"}, "nick": {**TEXT, "pattern": "^b"}}, additional=True)
    (conflict,) = refused.json()["conflicts"]["documents"]
    assert [(each["loc"], each["type"]) for each in conflict["errors"]] == [(["data", "born"], "datetime_type")]
    closed = await put(api, {"born": TEXT}, additional=False)
    assert closed.json()["conflicts"]["documents"] == [
        {"id": ann, "errors": [{"loc": ["data", "nick"], **_undeclared()}]}
    ]
    mismatch = await put(api, {"nick": {**TEXT, "pattern": "^b"}})
    (conflict,) = mismatch.json()["conflicts"]["documents"]
    assert [each["type"] for each in conflict["errors"]] == ["string_pattern_mismatch"]


def _undeclared() -> dict[str, str]:
    return {"msg": "The schema declares no field of this name", "type": "extra_forbidden"}


async def test_a_change_under_way_keeps_others_away_and_is_completed_by_the_next_reader(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = (await api.signup()).json()["user"]["id"]

    class Killed(BaseException):
        pass

    async def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(changes, "reconcile", die)
        with pytest.raises(Killed):
            await changes.replace_profile(services.accounts.profiles, api.project, changes.WantedProfile(PLAN))
    busy = await put(api, {})
    assert (busy.status_code, busy.json()["code"]) == (409, "schema_changing")
    assert data_of(api, ann) == {}
    # A user who lacks a default can still sign in, and the account can be changed.
    assert (await api.login()).status_code == 200
    claimed = await api.request("PATCH", f"/auth-collections/users/{ann}", json={"claims": {"level": 1}})
    assert claimed.status_code == 200, claimed.text
    api.database["profile"].update_one({}, {"$set": {"change.until": now() - timedelta(seconds=1)}})
    assert (await api.request("GET", URL)).json()["schema"] == PLAN
    assert data_of(api, ann) == {"plan": "free"}
    assert_conforms(api, PLAN)


async def test_k25_of_many_users_those_that_break_a_schema_are_named_and_nothing_changes(api: Api) -> None:
    made = [
        {"_id": f"u{number:06}", "email": f"u{number}@example.com", "data": {"age": number % 90}, "version": 1}
        for number in range(5_000)
    ]
    for number in (7, 2_500, 4_999):
        made[number]["data"] = {"age": "old"}
    api.database["users"].insert_many(made)
    schema = {**PLAN, "age": {"type": "integer"}}
    refused = await put(api, schema)
    assert refused.status_code == 409
    conflicts = refused.json()["conflicts"]
    named = [each["id"] for each in conflicts["documents"]]
    assert (conflicts["total"], named) == (3, ["u000007", "u002500", "u004999"])
    assert (
        api.database["users"].count_documents({"$or": [{"version": {"$ne": 1}}, {"data.plan": {"$exists": True}}]}) == 0
    )
    api.database["users"].delete_many({"data.age": "old"})
    assert (await put(api, schema)).status_code == 200
    assert api.database["users"].count_documents({"version": 2, "data.plan": "free"}) == 4_997


async def test_types_and_the_document_show_the_declared_profile(api: Api) -> None:
    python = "/api/types?language=python"
    before = await api.request("GET", python)
    await declare_profile(api, {**PLAN, "born": {"type": "datetime"}})
    after = await api.request("GET", python, headers={"if-none-match": before.headers["etag"]})
    assert after.status_code == 200
    assert '"plan": Literal["free", "pro"]' in after.text
    typescript = await api.request("GET", "/api/types?language=typescript")
    assert 'plan: "free" | "pro";' in typescript.text
    await declare_profile(api, PLAN, additional=False)
    document = (await api.request("GET", "/api/openapi.json")).json()
    user = document["components"]["schemas"]["User"]
    assert (sorted(user["properties"]), user["additionalProperties"]) == (["plan", "username"], False)
    assert user["required"] == ["plan"]
    await declare_profile(api, {})
    assert (await api.request("GET", python)).content == before.content


async def test_a_change_leaves_an_entry_in_the_audit_log(api: Api, services: Services) -> None:
    await declare_profile(api, PLAN)
    await declare_profile(api, PLAN)
    entries = services.base.databases.system["audit"].find({"project_id": api.project.id, "action": "profile.changed"})
    (entry,) = await entries.to_list()
    assert [each["path"] for each in json.loads(entry["changes"])] == [
        ["schema", "plan", "default"],
        ["schema", "plan", "enum"],
        ["schema", "plan", "type"],
    ]
    assert (entry["target"]["type"], entry["target"]["id"]) == ("profile", api.project.id)


async def test_a_validator_that_was_removed_past_the_service_is_put_back_by_a_change_of_nothing(api: Api) -> None:
    await declare_profile(api, PLAN)
    api.database.command("collMod", "users", validator={})
    assert await find_drift(api.project.database) == {"users": Drift(["its validator"], [])}
    await declare_profile(api, PLAN)
    assert await find_drift(api.project.database) == {}
    assert_conforms(api, PLAN)


async def test_concurrent_writers_leave_no_user_that_breaks_the_schema(api: Api) -> None:
    users = [await make_user(api, f"u{number}") for number in range(4)]
    stop, statuses = asyncio.Event(), set[int]()

    async def write(user_id: str, level: Any) -> None:
        while not stop.is_set():
            change = {"data": {"level": level, "seen": True}}
            answer = await api.request("PATCH", f"/auth-collections/users/{user_id}", json=change)
            statuses.add(answer.status_code)

    writers = [asyncio.create_task(write(user_id, level)) for user_id, level in zip(users, (1, 2, 3, 4), strict=True)]
    for schema in ({"level": {"type": "integer", "default": 0}}, {}, {"level": {"type": "number"}, **PLAN}, PLAN):
        await declare_profile(api, schema)
        assert_conforms(api, schema)
    stop.set()
    await asyncio.gather(*writers)
    assert statuses <= {200, 503}
    assert_conforms(api, PLAN)

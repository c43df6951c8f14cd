"""Aggregations run for the secret key; saved ones also for the users and guests they admit, over the records these may
read.
"""

from typing import Any

import pytest

from tests.conftest import Api
from tests.web.rules.conftest import Person, guest_of, save, sign_up

SCHEMAS: dict[str, Any] = {
    "teams": {"name": {"type": "string"}, "secret": {"type": "string"}, "open": {"type": "boolean"}},
    "tasks": {
        "owner_id": {"type": "reference", "collection": "users"},
        "team_id": {"type": "reference", "collection": "teams"},
        "state": {"type": "string"},
        "hours": {"type": "number"},
        "rate": {"type": "number"},
        "note": {"type": "string"},
    },
}
RULES: dict[str, Any] = {
    "users": {"read": "users", "fields": {"data.name": {"read": "users"}, "data.age": {}}},
    "collections": {
        "teams": {"read": {"open_eq": True}, "fields": {"secret": {"read": False}}},
        "tasks": {
            "read": {"or": [{"owner_id_eq": "$user.id"}, {"state_eq": "public"}]},
            "fields": {"rate": {"read": False}, "note": {"read": {"owner_id_eq": "$user.id"}}},
        },
    },
}
HOURS: dict[str, Any] = {"group": {"state": "state"}, "values": {"n": "count", "hours": {"sum": "hours"}}}


async def made(api: Api, name: str, collection: str, aggregate: Any, **more: Any) -> None:
    body = {"collection": collection, "aggregate": aggregate, **more}
    answer = await api.request("PUT", f"/api/aggregations/{name}", json=body)
    assert answer.status_code == 201, answer.text


async def run(person: Person, name: str, query: str = "") -> tuple[int, Any]:
    answer = await person.ask("GET", f"/api/aggregations/{name}{query}")
    found = answer.json()
    return answer.status_code, found.get("rows", found.get("code"))


@pytest.fixture
async def people(api: Api) -> tuple[Person, Person, Person]:
    """Two users and a guest in a project with tasks; the first has two of her own, and one is public."""
    for name, schema in SCHEMAS.items():
        assert (await api.request("POST", "/api/collections", json={"name": name, "schema": schema})).status_code == 201
    assert (await save(api, RULES)).status_code == 200
    ann, bob = await sign_up(api, "ann", "lead", age=30), await sign_up(api, "bob", age=40)

    async def put(collection: str, **data: Any) -> str:
        answer = await api.request("POST", f"/api/collections/{collection}/documents", json={"data": data})
        return str(answer.json()["id"])

    seen, unseen = await put("teams", name="Seen", open=True), await put("teams", name="Unseen", open=False)
    await put("tasks", owner_id=ann.id, state="private", hours=2, rate=9, note="a", team_id=seen)
    await put("tasks", owner_id=ann.id, state="private", hours=3, rate=9, note="a", team_id=unseen)
    await put("tasks", owner_id=bob.id, state="private", hours=10, rate=7, note="b", team_id=seen)
    await put("tasks", owner_id=bob.id, state="public", hours=1, rate=7, note="b", team_id=seen)
    return ann, bob, guest_of(api)


async def test_each_sees_the_rows_of_the_records_that_they_may_read(api: Api, people: tuple[Person, ...]) -> None:
    ann, bob, guest = people
    await made(api, "hours", "tasks", HOURS, run="anyone")
    public = {"state": "public", "n": 1, "hours": 1}
    assert await run(ann, "hours") == (200, [{"state": "private", "n": 2, "hours": 5}, public])
    assert await run(bob, "hours") == (200, [{"state": "private", "n": 1, "hours": 10}, public])
    assert await run(guest, "hours") == (200, [public])
    whole = (await api.request("GET", "/api/aggregations/hours")).json()["rows"]
    assert whole == [{"state": "private", "n": 3, "hours": 15}, public]


async def test_a_record_that_cannot_be_read_is_as_gone_behind_a_relation(api: Api, people: tuple[Person, ...]) -> None:
    ann, *_ = people
    await made(api, "by_team", "tasks", {"group": {"team": "team.name"}, "values": {"n": "count"}}, run="users")
    assert await run(ann, "by_team") == (200, [{"team": None, "n": 1}, {"team": "Seen", "n": 2}])
    narrowed = {"where": {"team.name_eq": "Unseen"}, "values": {"n": "count"}}
    await made(api, "unseen", "tasks", narrowed, run="users")
    assert await run(ann, "unseen") == (200, [{"n": 0}])


HIDDEN: list[dict[str, Any]] = [
    {"group": {"k": "rate"}},
    {"values": {"v": {"sum": "rate"}}},
    {"values": {"v": {"count_distinct": "rate"}}},
    {"group": {"k": "team.secret"}},
    {"where": {"rate_gte": 8}, "values": {"n": "count"}},
    # A field that may be read in some records alone is like one that cannot be sorted by.
    {"group": {"k": "note"}},
    {"values": {"v": {"max": "note"}}},
]


async def test_a_field_that_may_not_be_read_has_no_name(api: Api, people: tuple[Person, ...]) -> None:
    ann, _, guest = people
    for number, aggregate in enumerate(HIDDEN):
        await made(api, f"hidden{number}", "tasks", aggregate, run="anyone")
        for person in (ann, guest):
            answer = await person.ask("GET", f"/api/aggregations/hidden{number}")
            found = answer.json()
            assert (answer.status_code, found["code"], found["errors"]) == (409, "aggregation_conflict", []), aggregate


async def test_a_condition_on_a_field_of_some_records_looks_at_those_alone(
    api: Api, people: tuple[Person, ...]
) -> None:
    ann, bob, _ = people
    await made(api, "noted", "tasks", {"where": {"not": {"note_eq": "x"}}, "values": {"n": "count"}}, run="users")
    assert await run(ann, "noted") == (200, [{"n": 2}])
    assert await run(bob, "noted") == (200, [{"n": 2}])


async def test_run_says_who(api: Api, people: tuple[Person, ...]) -> None:
    ann, bob, guest = people
    await made(api, "users_only", "tasks", HOURS, run="users")
    await made(api, "leads", "tasks", HOURS, run={"$user.roles_eq": "lead"})
    await made(api, "nobody", "tasks", HOURS, run=False)
    await made(api, "servers", "tasks", HOURS)
    assert (await run(guest, "users_only"))[:2] == (401, "unauthorized")
    assert (await run(bob, "users_only"))[0] == 200
    assert (await run(ann, "leads"))[0] == 200
    assert await run(bob, "leads") == (403, "forbidden")
    assert await run(guest, "leads") == (401, "unauthorized")
    assert await run(ann, "nobody") == (403, "forbidden")
    # One that is for servers is like one that is not there.
    for person in (ann, guest):
        for name in ("servers", "nothing"):
            assert await run(person, name) == (404, "aggregation_not_found")


async def test_a_collection_that_the_rules_do_not_open_is_closed(api: Api, people: tuple[Person, ...]) -> None:
    ann, _, guest = people
    assert (await save(api, {"collections": {"teams": RULES["collections"]["teams"]}})).status_code == 200
    await made(api, "closed", "tasks", HOURS, run="anyone")
    await made(api, "of_users", "users", {"values": {"n": "count"}}, run="anyone")
    for person in (ann, guest):
        assert await run(person, "closed") == (404, "collection_not_found")
        assert await run(person, "of_users") == (401, "invalid_api_key")
    assert (await save(api, {})).status_code == 200
    assert await run(ann, "closed") == (401, "invalid_api_key")
    assert await run(guest, "closed") == (401, "invalid_api_key")


async def test_users_are_aggregated_as_far_as_they_may_be_read(api: Api, people: tuple[Person, ...]) -> None:
    ann, _, guest = people
    names = {"group": {"name": "name"}, "values": {"n": "count"}}
    await made(api, "names", "users", names, run="anyone")
    await made(api, "ages", "users", {"group": {"age": "age"}, "values": {"m": {"max": "email"}}}, run="anyone")
    assert await run(ann, "names") == (200, [{"name": "ann", "n": 1}, {"name": "bob", "n": 1}])
    # A user's own field counts as a field that no user has.
    assert await run(ann, "ages") == (200, [{"age": None, "m": None}])
    assert await run(guest, "names") == (401, "unauthorized")


async def test_the_rest_is_for_the_secret_key(api: Api, people: tuple[Person, ...]) -> None:
    ann, _, guest = people
    path = "/api/aggregations/mine"
    for method, url in (("GET", "/api/aggregations"), ("PUT", path), ("DELETE", path)):
        json: dict[str, Any] = {"json": {}} if method == "PUT" else {}
        refused, other = await guest.ask(method, url, **json), await ann.ask(method, url, **json)
        assert (refused.status_code, refused.json()["code"]) == (403, "secret_key_required")
        assert (other.status_code, other.json()["code"]) == (401, "invalid_api_key")

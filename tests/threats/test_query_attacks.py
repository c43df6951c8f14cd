"""Rows Q1 to Q8: operators, names and sizes that a query or a body must not get through."""

import asyncio
from typing import Any

import pytest

from service.services import Services
from tests.threats.conftest import Victim, assert_refused

SIGNUP, LOGIN, USERS = "/auth-collections/signup", "/auth-collections/login", "/auth-collections/users"
NON_STRINGS: list[Any] = [{"$gt": ""}, {"$ne": None}, ["a@b.co"], 5, 1.5, True, None, {}]
EVIL_NAMES = ["$gt", "a.b", "", "nul\0", "x" * 10_000, "$where"]


@pytest.mark.parametrize("path", [SIGNUP, LOGIN])
@pytest.mark.parametrize("name", ["email", "password"])
@pytest.mark.parametrize("value", NON_STRINGS)
async def test_q1_operators_and_non_strings_in_string_fields(victim: Victim, path: str, name: str, value: Any) -> None:
    body = {"email": "victim@example.com", "password": "victim's password", name: value}
    assert_refused(await victim.api.request("POST", path, json=body), 422)


async def test_q1_operators_in_both_fields_at_once(victim: Victim) -> None:
    body = {"email": {"$gt": ""}, "password": {"$gt": ""}}
    assert_refused(await victim.api.request("POST", LOGIN, json=body), 422)


@pytest.mark.parametrize(
    "query",
    [
        *("filters[email][$ne]=x", "filters[$where]=1", "filters[email[$ne]]=x", "filters[limit]=1"),
        *("email[$ne]=x", "$where=sleep(1)", "where[$gt]=1", "filter={}", "email=x", "q=x", "fields=$x", "fields="),
        *("name_eq=a&name_eq=b", "limit=1&limit=2", "_eq=1", "$ne_eq=1", "select=*", "x-api-key=ac_a_b"),
        *("limit", "name_eq", "=", "%00=1", "a%00_eq=1", "a_eq=%ff%fe", "populate=", "populate=$x", "sort_by=$natural"),
    ],
)
async def test_q2_unknown_repeated_and_operator_parameters(victim: Victim, query: str) -> None:
    assert_refused(await victim.api.users(query), 422)


async def test_q2_the_hash_of_a_password_is_no_field(victim: Victim) -> None:
    """The names in `fields` are those of `data`, which are free for users: one that no user has is left out."""
    answer = await victim.api.users("fields=password,token_version,id")
    assert [user["data"] for user in answer.json()["users"]] == [{}]


@pytest.mark.parametrize("method_path", [("POST", SIGNUP), ("POST", LOGIN)])
async def test_q2_an_endpoint_without_parameters_takes_none(victim: Victim, method_path: tuple[str, str]) -> None:
    method, path = method_path
    body = {"email": "new@example.com", "password": "long enough"}
    assert_refused(await victim.api.request(method, f"{path}?x=1", json=body), 422)
    assert_refused(await victim.as_user("GET", params={"fields": "password"}), 422)


@pytest.mark.parametrize("name", EVIL_NAMES, ids=range(len(EVIL_NAMES)))
@pytest.mark.parametrize("nest", ["top", "nested", "array", "after a sibling"])
async def test_q3_names_that_mongodb_reads_otherwise(victim: Victim, name: str, nest: str) -> None:
    shapes: dict[str, dict[str, Any]] = {
        "top": {name: 1},
        "nested": {"a": {"b": {name: 1}}},
        "array": {"a": [1, {name: 1}]},
        "after a sibling": {"a": {"ok": 1}, "b": {"c": {}}, "d": {name: {"x": 1}}},
    }
    paths: dict[str, list[Any]] = {"top": [], "nested": ["a", "b"], "array": ["a", 1], "after a sibling": ["d"]}
    body = {"email": "new@example.com", "password": "long enough", **shapes[nest]}
    for response in (
        await victim.api.request("POST", SIGNUP, json=body),
        await victim.as_user("PUT", json=shapes[nest]),
    ):
        assert_refused(response, 422)
        (error,) = response.json()["detail"]
        assert error["loc"][:-1] == ["body", *paths[nest]]
        assert len(response.content) < 500


@pytest.mark.parametrize(
    "hidden",
    [
        "password_contains=$2b",
        "password_icontains=a",
        "oauth_id_eq=x",
        "oauth_id_isnull=false",
        "token_version_gt=0",
        "_id_isnull=false",
        "data.password_contains=$2b",
    ],
)
@pytest.mark.parametrize("hop", ["", "friend.", "friend.friend."])
async def test_q4_hidden_fields_answer_as_fields_that_do_not_exist(fresh_victim: Victim, hidden: str, hop: str) -> None:
    users = fresh_victim.api.database["users"]
    users.update_one({}, {"$set": {"data.friend_id": fresh_victim.user["id"], "oauth_id": "x"}})
    name, _, rest = hidden.rpartition("_")
    probe = await fresh_victim.api.users(f"{hop}{hidden}")
    nothing = await fresh_victim.api.users(f"{hop}{name}xyz_{rest}")
    assert (probe.status_code, probe.content) == (nothing.status_code, nothing.content)
    assert probe.json()["total"] == 0


@pytest.mark.parametrize("name", ["password", "oauth_id", "token_version", "data.password"])
async def test_q4_hidden_fields_do_not_move_the_order(fresh_victim: Victim, services: Services, name: str) -> None:
    for letter in "dbca":
        await fresh_victim.api.signup(f"{letter}@example.com")
    await services.sessions.sightings.write()
    for order in ("asc", "desc"):
        probe = await fresh_victim.api.users(f"sort_by={name}&sort_order={order}")
        nothing = await fresh_victim.api.users(f"sort_by=nothing&sort_order={order}")
        assert probe.content == nothing.content


@pytest.mark.parametrize("name", ["password", "oauth", "oauth_id", "token_version"])
async def test_q4_hidden_fields_cannot_be_populated(fresh_victim: Victim, name: str) -> None:
    fresh_victim.api.database["users"].update_one({}, {"$set": {"oauth_id": fresh_victim.user["id"]}})
    probe = await fresh_victim.api.users(f"populate={name}")
    assert probe.content == (await fresh_victim.api.users("populate=nothing")).content
    assert "password" not in probe.text


async def test_q5_populate_shows_public_fields_only_and_stops(fresh_victim: Victim) -> None:
    """A chain back to oneself ends where it was asked to end."""
    fresh_victim.api.database["users"].update_one({}, {"$set": {"data.friend_id": fresh_victim.user["id"]}})
    for populate in ("friend", "*", "friend.friend", "friend.friend.friend"):
        response = await fresh_victim.api.users(f"populate={populate}")
        (user,) = response.json()["users"]
        for _ in populate.split("."):
            user = user["data"]["friend"]
            assert user.keys() == {"id", "email", "data"}
        assert "friend" not in user["data"]
        assert "password" not in response.text
    assert_refused(await fresh_victim.api.users("populate=friend.friend.friend.friend"), 422)
    assert_refused(await fresh_victim.api.users("populate=a,b,c,d,e,f"), 422)


@pytest.mark.parametrize(
    "text", ["(a%2B)%2B$", ".*", "[", "\\", "a{1,9999}", "(?i)vic", "^V", "$", "|", "\\Q", "%23", "a" * 256]
)
async def test_q6_patterns_are_literal_text(fresh_victim: Victim, text: str) -> None:
    await fresh_victim.api.signup("long@example.com", name="a" * 50_000 + "!")
    searches = [fresh_victim.api.users(f"name_{operator}={text}") for operator in ("contains", "icontains")]
    *found, other = await asyncio.gather(*searches, fresh_victim.as_user("GET"))
    assert [response.json()["total"] for response in found] == [1 if text == "a" * 256 else 0] * 2
    assert other.status_code == 200


async def test_q6_a_long_pattern_is_refused(victim: Victim) -> None:
    assert_refused(await victim.api.users("name_contains=" + "a" * 257), 422)


LIMITS = {
    "51 conditions": ("&".join(f"f{n}_eq=1" for n in range(50)), "&".join(f"f{n}_eq=1" for n in range(51))),
    "501 values": ("x_in=" + ",".join("1" * 500), "x_in=" + ",".join("1" * 501)),
    "limit": ("limit=1000", "limit=1001"),
    "relations": ("a.b.c.x_eq=1", "a.b.c.d.x_eq=1"),
    "populate": ("populate=a,b,c,d,e", "populate=a,b,c,d,e,f"),
    "query bytes": ("x_eq=" + "1" * 4091, "x_eq=" + "1" * 4092),
    "offset": ("offset=9223372036854775807", "offset=9223372036854775808"),
    "name": (f"{'x' * 128}_eq=1", f"{'x' * 129}_eq=1"),
}


@pytest.mark.parametrize(("within", "beyond"), LIMITS.values(), ids=LIMITS.keys())
async def test_q7_sizes_at_the_limit_and_past_it(victim: Victim, within: str, beyond: str) -> None:
    assert (await victim.api.users(within)).status_code == 200
    assert_refused(await victim.api.users(beyond), 422)


@pytest.mark.parametrize(
    "query",
    [
        "x_in=" + ",".join(["1"] * 30_000),
        ".".join("a" * 200) + "_eq=1",
        "&".join(f"f{n}_eq=1" for n in range(500)),
        *(f"limit={text}" for text in ("1e9", "-1", "1.5", "9" * 20, "0x10", "%2B5", "%EF%BC%95")),
    ],
)
async def test_q7_absurd_sizes(victim: Victim, query: str) -> None:
    assert_refused(await victim.api.users(query), 422)


async def test_q8_ids_of_another_project_find_nothing(victim: Victim) -> None:
    theirs = victim.other.database["users"].find_one()
    assert theirs is not None
    for query in (f"id_in={theirs['_id']}", f"id_eq={theirs['_id']}", "email_eq=other@example.com"):
        assert (await victim.api.users(query)).json()["total"] == 0


async def test_q8_a_planted_relation_to_another_project_resolves_to_nothing(fresh_victim: Victim) -> None:
    theirs = fresh_victim.other.database["users"].find_one()
    assert theirs is not None
    fresh_victim.api.database["users"].update_one({}, {"$set": {"data.friend_id": theirs["_id"]}})
    (user,) = (await fresh_victim.api.users("populate=friend")).json()["users"]
    assert user["data"]["friend"] is None
    (user,) = (await fresh_victim.api.users("populate=*")).json()["users"]
    assert "friend" not in user["data"]
    assert (await fresh_victim.api.users("friend.email_eq=other@example.com")).json()["total"] == 0

"""Saving, reading and explaining rules over HTTP."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.conftest import Api
from tests.rules.examples import COLLECTIONS, RULES
from tests.web.rules.conftest import declare, save, server_of, sign_up

EMPTY: dict[str, Any] = {"sets": {}, "users": {}, "assign": {}, "tests": [], "collections": {}}
TEST = {
    "name": "an author sees a draft",
    "as": {"id": "1" * 24},
    "sets": {"blocked": []},
    "action": "read",
    "collection": "posts",
    "given": {"status": "draft", "author_id": "1" * 24},
    "expect": "allowed",
}


async def test_a_project_begins_with_five_empty_parts(api: Api) -> None:
    answer = await api.request("GET", "/api/rules")
    assert answer.status_code == 200
    assert answer.json() == EMPTY
    assert answer.headers["etag"]


async def test_rules_come_back_as_they_were_sent(declared: Api) -> None:
    saved = await save(declared, RULES)
    assert saved.status_code == 200, saved.text
    assert saved.json()["rules"] == EMPTY | RULES
    found = await declared.request("GET", "/api/rules")
    assert found.json() == EMPTY | RULES
    assert found.headers["etag"] == saved.headers["etag"]


async def test_a_mistake_is_named_with_its_place_and_nothing_changes(declared: Api) -> None:
    answer = await save(
        declared, {"collections": {"posts": {"update": {"before": {"state_eq": "x"}, "after": "users"}}}}
    )
    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [
        ["body", "collections", "posts", "update", "before", "state_eq"]
    ]
    assert (await declared.request("GET", "/api/rules")).json() == EMPTY


async def test_rules_are_replaced_only_over_the_version_that_was_read(declared: Api) -> None:
    first = await save(declared, RULES, **{"if-match": (await declared.request("GET", "/api/rules")).headers["etag"]})
    assert first.status_code == 200
    second = await save(declared, {}, **{"if-match": '"0"'})
    assert second.status_code == 412
    assert second.json()["code"] == "version_conflict"
    assert second.headers["etag"] == first.headers["etag"]
    assert (await save(declared, {}, "?dry_run=true", **{"if-match": '"0"'})).status_code == 412
    assert (await save(declared, {}, **{"if-match": first.headers["etag"]})).status_code == 200


async def test_a_dry_run_changes_nothing(declared: Api) -> None:
    answer = await save(declared, RULES, "?dry_run=true")
    assert answer.status_code == 200
    assert answer.json()["rules"]["collections"] == COLLECTIONS
    assert (await declared.request("GET", "/api/rules")).json() == EMPTY


async def test_a_stored_test_that_fails_keeps_the_rules_as_they_are(declared: Api) -> None:
    assert (await save(declared, {**RULES, "tests": [TEST]})).status_code == 200
    tightened = {
        **RULES,
        "collections": {**COLLECTIONS, "posts": {"read": {"status_eq": "published"}}},
        "tests": [TEST],
    }
    answer = await save(declared, tightened)
    assert answer.status_code == 409
    assert answer.json()["code"] == "rule_tests_failed"
    assert answer.json()["failed"] == [{"name": TEST["name"], "expected": "allowed", "got": "refused"}]
    assert (await declared.request("GET", "/api/rules")).json()["collections"] == COLLECTIONS


async def test_indexes_are_advised_and_built_where_asked_for(declared: Api) -> None:
    advice = (await save(declared, RULES, "?indexes=true")).json()["advice"]
    assert {"collection": "tasks", "index": ["team_id", "created_at"]} in [
        {name: each[name] for name in ("collection", "index")} for each in advice
    ]
    keys = [tuple(index["key"]) for index in declared.database["c_tasks"].list_indexes()]
    assert ("data.team_id", "created_at", "_id") in keys


async def test_a_warning_names_what_means_more_than_it_seems(api: Api) -> None:
    await declare(api, "posts", "reports")
    rules = {"collections": {"posts": {"read": {"status_ne": "draft"}, "create": "anyone"}}}
    warnings = {each["type"] for each in (await save(api, rules)).json()["warnings"]}
    assert warnings == {"absent_field", "public_write"}


async def test_explain_says_which_condition_refused(declared: Api) -> None:
    await save(declared, RULES)
    body = {"as": "anyone", "action": "read", "collection": "notes"}
    answer = await declared.request("POST", "/api/rules/explain", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "allowed": False,
        "because": [{"at": ["read", "owner_id_eq"], "wanted": None, "found": None, "holds": False}],
        "sets": {},
    }


async def test_explain_judges_a_stored_record_and_its_change(declared: Api) -> None:
    await save(declared, RULES)
    user = (await declared.signup("me@x.com")).json()["user"]["id"]
    made = await declared.request(
        "POST", "/api/collections/articles/documents", json={"data": {"status": "draft", "author_id": user}}
    )
    question = {"as": {"user_id": user}, "action": "update", "collection": "articles", "id": made.json()["id"]}
    allowed = await declared.request("POST", "/api/rules/explain", json={**question, "data": {"status": "submitted"}})
    assert allowed.json()["allowed"] is True
    refused = (
        await declared.request("POST", "/api/rules/explain", json={**question, "data": {"status": "published"}})
    ).json()
    assert refused["allowed"] is False
    assert {
        "at": ["update", 0, "after", "status_in"],
        "wanted": ["draft", "submitted"],
        "found": "published",
        "holds": False,
    } in refused["because"]


async def test_explain_shows_how_a_list_would_be_found(declared: Api) -> None:
    await save(declared, RULES)
    user = (await declared.signup("me@x.com")).json()["user"]["id"]
    body = {"as": {"user_id": user}, "action": "read", "collection": "notes"}
    answer = (await declared.request("POST", "/api/rules/explain", json=body)).json()
    assert answer["allowed"] is True
    assert answer["plan"].keys() == {"index", "keys", "docs"}


async def test_d26_explain_of_what_is_not_there(declared: Api) -> None:
    await save(declared, RULES)
    for question, code in (
        ({"as": {"user_id": "0" * 24}, "action": "read", "collection": "notes"}, "user_not_found"),
        ({"as": "anyone", "action": "read", "collection": "nothing"}, "collection_not_found"),
        ({"as": "anyone", "action": "delete", "collection": "posts", "id": "0" * 24}, "document_not_found"),
    ):
        answer = await declared.request("POST", "/api/rules/explain", json=question)
        assert (answer.status_code, answer.json()["code"]) == (404, code)


async def test_rules_are_for_the_secret_key(api: Api) -> None:
    token = (await api.signup()).json()["access_token"]
    for method, path in (("GET", "/api/rules"), ("PUT", "/api/rules"), ("POST", "/api/rules/explain")):
        answer = await api.as_user(token, method, path)
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key")


@pytest.mark.parametrize("where", [False, "users", "anyone"])
async def test_the_where_of_a_set_is_an_object_of_entries(declared: Api, where: Any) -> None:
    sets = {"my_teams": {"from": "memberships", "where": where, "take": "team_id"}}
    answer = await save(declared, {"sets": sets})
    assert answer.status_code == 422
    (violation,) = answer.json()["detail"]
    assert violation["loc"] == ["body", "sets", "my_teams"]


async def test_a_refused_variable_is_answered_with_each_of_those_there_are_once(declared: Api) -> None:
    answer = await save(declared, {"collections": {"notes": {"read": {"owner_id_eq": "$user.name"}}}})
    (violation,) = answer.json()["detail"]
    known = "$user.id, $user.email, $user.roles, $user.anonymous, $now"
    assert violation["msg"] == f"There is no variable $user.name; there are {known}"


async def test_rules_of_earlier_versions_may_have_a_set_without_entries(declared: Api) -> None:
    sets = {"my_teams": {"from": "memberships", "where": False, "take": "team_id"}}
    text = json.dumps({"sets": sets, "collections": {"tasks": {"read": {"not": {"team_id_in": "$sets.my_teams"}}}}})
    declared.database["rules"].insert_one({"_id": "rules", "version": "older", "schemas": "", "text": text})
    ann = await sign_up(declared, "ann")
    assert (await ann.list("tasks")).status_code == 403


@pytest.mark.parametrize(
    ("as_", "allowed"),
    [
        ({"roles": ["moderator"]}, True),
        ({"roles": ["editor"]}, False),
        ({"roles": []}, False),
        ({}, False),
        ("anyone", False),
    ],
)
async def test_explain_judges_by_roles_of_nobody_in_particular(api: Api, as_: Any, allowed: bool) -> None:
    await declare(api, "reports", "memberships")
    staff = {"from": "memberships", "where": {"role_in": "$user.roles"}, "take": "team_id"}
    mine = {"from": "memberships", "where": {"user_id_eq": "$user.id"}, "take": "team_id"}
    reports = {"read": {"$user.roles_eq": "moderator"}, "delete": "users", "create": {"text_in": "$sets.staff"}}
    reports["update"] = {"text_in": "$sets.mine"}
    await save(api, {"sets": {"staff": staff, "mine": mine}, "collections": {"reports": reports}})
    question = {"as": as_, "collection": "reports"}
    explained = await api.request("POST", "/api/rules/explain", json={**question, "action": "read"})
    assert explained.status_code == 200, explained.text
    body = explained.json()
    assert (body["allowed"], body["because"][0]["holds"]) == (allowed, allowed)
    known = isinstance(as_, dict) and "roles" in as_
    assert body["because"][0]["found"] == (as_["roles"] if known else None)
    unknown = {"unknown": "missing_variable"}
    assert body["sets"] == {"mine": unknown, "staff": [] if known else unknown}


async def test_d14_a_user_that_a_rule_lets_be_read_shows_its_times_and_has_roles_where_there_are_any(api: Api) -> None:
    await save(api, {"users": {"read": "users"}})
    ann, bob = await sign_up(api, "ann"), await sign_up(api, "bob")
    path = f"/auth-collections/users/{ann.id}"
    seen = (await bob.ask("GET", path)).json()
    assert seen.keys() == {"id", "data", "created_at", "updated_at"}
    # A list shows what it is specified to show.
    listed = (await bob.ask("GET", "/auth-collections/users")).json()["users"]
    assert all("updated_at" not in each for each in listed)
    for roles in (["editor"], []):
        given = await api.request("PUT", f"{path}/roles", json={"roles": roles})
        assert given.json() == {"id": ann.id, "roles": roles}
        own, by_server = (await ann.ask("GET", path)).json(), (await api.request("GET", path)).json()
        profile = (await ann.ask("GET", "/auth-collections/user")).json()
        assert [each.get("roles") for each in (own, by_server, profile)] == [roles or None] * 3
    stored = api.database["users"].find_one({"_id": ann.id}) or {}
    assert "roles" not in stored
    # Records of earlier versions have an empty list.
    api.database["users"].update_one({"_id": ann.id}, {"$set": {"roles": []}})
    for shown in (await ann.ask("GET", path), await api.request("GET", path)):
        assert "roles" not in shown.json()


async def test_rules_take_the_operators_of_queries_on_fields(api: Api) -> None:
    tagged = {"tags": {"type": "array", "items": {"type": "string"}}, "path": {"type": "string"}}
    assert (await api.request("POST", "/api/collections", json={"name": "pages", "schema": tagged})).status_code == 201
    wanted = {"path_startswith": "/public/", "tags_hasall": ["a", "$$b"]}
    create = {"not": {"path_startswith": "/draft/"}}
    saved = await save(api, {"collections": {"pages": {"read": wanted, "create": create, "update": wanted}}})
    assert saved.status_code == 200, saved.text
    for path, tags in (("/public/1", ["$b", "c", "a"]), ("/public/2", ["a"]), ("/private/", ["a", "$b"])):
        await server_of(api).create("pages", path=path, tags=tags)
    ann = await sign_up(api, "ann")
    (page,) = (await ann.list("pages")).json()["documents"]
    assert page["data"]["path"] == "/public/1"
    assert (await ann.create("pages", path="/draft/1")).status_code == 403
    assert (await ann.create("pages", path="/other/1")).status_code == 201
    assert (await ann.merge("pages", page["id"], path="/away/")).status_code == 403
    assert (await ann.merge("pages", page["id"], path="/public/3")).status_code == 200


@pytest.mark.parametrize(
    "rule",
    [
        {"text_startswith": ""},
        {"text_startswith": 5},
        {"text_startswith": ["x"]},
        {"text_startswith": "x" * 257},
        {"text_startswith": "$user.id"},
        {"text_hasall": []},
        {"text_hasall": "x"},
        {"text_hasall": ["x"] * 51},
        {"text_hasall": ["$user.id"]},
        {"text_hasall": "$user.roles"},
        {"text_hasall": [5]},
        {"owner_id_startswith": 1},
        {"created_at_startswith": "2020"},
        {"$user.email_startswith": "boss@"},
        {"$user.roles_hasall": ["a", "b"]},
    ],
)
async def test_rules_refuse_what_such_an_operator_does_not_take(declared: Api, rule: Any) -> None:
    answer = await save(declared, {"collections": {"notes": {"read": rule}}})
    (violation,) = answer.json()["detail"]
    assert (answer.status_code, violation["loc"]) == (422, ["body", "collections", "notes", "read", next(iter(rule))])


async def test_the_log_names_the_rule_that_refused(api: Api) -> None:
    await declare(api, "notes", "reports", "tasks")
    rules = {
        "notes": {"read": "users", "create": "users", "update": {"text_eq": "open"}, "delete": {"text_eq": "open"}},
        "reports": {},
        "tasks": {"read": "users", "create": {"team_id_eq": "t"}},
    }
    await save(api, {"collections": rules, "users": {"read": {"$user.roles_eq": "admin"}}})
    ann = await sign_up(api, "ann")
    note = (await ann.create("notes", text="closed")).json()["id"]
    operations = [{"op": "create", "collection": "tasks", "data": {"team_id": "x"}}]
    asked: dict[str, Callable[[], Awaitable[Any]]] = {
        "collections.notes.update": lambda: ann.merge("notes", note, text="x"),
        "collections.notes.delete": lambda: ann.delete("notes", note),
        "collections.reports.read": lambda: ann.list("reports"),
        "collections.tasks.create": lambda: ann.create("tasks", team_id="x"),
        "users.read": lambda: ann.ask("GET", "/auth-collections/users"),
    }
    for rule, ask in asked.items():
        with capture_logs() as logs:
            assert (await ask()).status_code == 403
        (line,) = [each for each in logs if each["event"] == "request"]
        assert line["refused_by"] == rule
    with capture_logs() as logs:
        assert (await ann.ask("POST", "/api/batch", json={"operations": operations})).status_code == 403
        assert (await ann.get("notes", "0" * 24)).status_code == 404
    assert [each.get("refused_by") for each in logs if each["event"] == "request"] == ["collections.tasks.create", None]

"""Rules and schemas hold each other: neither changes so that rules name what is not declared, also with two changes at once."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from service.bounds import MAX_INDEXES
from service.domain.access import agreement
from service.domain.access.agreement import begin_deletion, commit_schema
from service.domain.collections.reconcile import find_drift
from service.domain.limits import made_files
from service.errors import RuleConflict
from service.schema.collection_options import NO_OPTIONS
from service.schema.values import now
from service.services import Services
from service.storage.definitions import Definitions
from service.storage.rules import put_rules
from tests.conftest import Api, CommandRecorder
from tests.declared import added, change, declare
from tests.web.rules.conftest import save

TEXT = {"type": "string"}
AUTHORS = {"name": TEXT, "team": TEXT, "born": {"type": "integer"}}
POSTS = {
    "title": TEXT,
    "status": TEXT,
    "team": TEXT,
    "author_id": {"type": "reference", "collection": "authors"},
}
NO_FIELD = "There is no"


async def declare_both(api: Api) -> None:
    await declare(api, AUTHORS, "authors")
    await declare(api, POSTS, "posts")


def on_posts(**rules: Any) -> dict[str, Any]:
    return {"collections": {"posts": rules}}


TEAMS = {"from": "authors", "where": {"name_eq": "$user.email"}, "take": "team"}
TEST = {"name": "drafts only", "as": {}, "action": "create", "collection": "posts", "data": {}, "expect": "refused"}
TAKEN_AWAY: list[tuple[str, dict[str, Any], str, dict[str, Any], list[Any]]] = [
    ("dropped", on_posts(read={"status_eq": "x"}), "posts", {"status": None}, ["read", "status_eq"]),
    ("renamed", on_posts(read={"status_eq": "x"}), "posts", {"status": None, "state": TEXT}, ["read", "status_eq"]),
    ("retyped", on_posts(read={"status_eq": "x"}), "posts", {"status": {"type": "integer"}}, ["read", "status_eq"]),
    (
        "in an update",
        on_posts(update=[{"before": "users", "after": {"not": {"status_eq": "x"}}}]),
        "posts",
        {"status": None},
        ["update", 0, "after", "not", "status_eq"],
    ),
    ("in fields", on_posts(fields={"title": {"write": "server"}}), "posts", {"title": None}, ["fields", "title"]),
    (
        "of a related collection",
        on_posts(read={"author.name_eq": "$user.email"}),
        "authors",
        {"name": None},
        ["read", "author.name_eq"],
    ),
    (
        "the reference itself",
        {"collections": {"posts": {"read": {"author.$can": "read"}}, "authors": {"read": "users"}}},
        "posts",
        {"author_id": None},
        ["read", "author.$can"],
    ),
]


@pytest.mark.parametrize(
    ("rules", "name", "schema", "place"), [row[1:] for row in TAKEN_AWAY], ids=[row[0] for row in TAKEN_AWAY]
)
async def test_x8_a_field_that_a_rule_names_stays_as_it_is(
    api: Api, rules: dict[str, Any], name: str, schema: dict[str, Any], place: list[Any]
) -> None:
    await declare_both(api)
    assert (await save(api, rules)).status_code == 200
    before = (await api.request("GET", f"/api/collections/{name}")).json()
    for query in ("", "?dry_run=true"):
        refused = await change(api, schema, query, name)
        assert (refused.status_code, refused.json()["code"]) == (409, "rule_conflict")
        assert refused.json()["rules"][0]["loc"] == ["body", "collections", "posts", *place]
        assert ".".join(map(str, place)) in refused.json()["detail"]
    assert (await api.request("GET", f"/api/collections/{name}")).json() == before
    # The same paths as saving these rules afterwards would be refused with.
    assert (await save(api, {})).status_code == 200
    assert (await change(api, schema, name=name)).status_code == 200
    assert (await save(api, rules)).json()["detail"] == refused.json()["rules"]


@pytest.mark.parametrize(("field", "place"), [("name", "where"), ("team", "take")])
async def test_x8_a_field_that_a_set_names_stays_as_it_is(api: Api, field: str, place: str) -> None:
    await declare_both(api)
    rules = {"sets": {"teams": TEAMS}, **on_posts(read={"team_in": "$sets.teams"})}
    assert (await save(api, rules)).status_code == 200
    refused = await change(api, {field: None}, name="authors")
    assert (refused.status_code, refused.json()["code"]) == (409, "rule_conflict")
    assert refused.json()["rules"][0]["loc"][:4] == ["body", "sets", "teams", place]


async def test_x8_a_field_is_not_dropped_and_made_anew_while_a_rule_names_it(api: Api) -> None:
    await declare_both(api)
    assert (await save(api, on_posts(read={"status_eq": "x"}))).status_code == 200
    assert (await change(api, {"status": None}, name="posts")).status_code == 409
    assert (await save(api, on_posts(read="users"))).status_code == 200
    assert (await change(api, {"status": None}, name="posts")).status_code == 200
    assert (await change(api, {"status": TEXT}, name="posts")).status_code == 200


async def test_what_no_rule_names_changes_as_ever_and_the_rules_keep_their_version(api: Api) -> None:
    await declare_both(api)
    saved = await save(api, on_posts(read={"status_eq": "x"}))
    assert (await change(api, {"title": None, "text": TEXT}, name="posts")).status_code == 200
    assert (await change(api, {"name": None}, name="authors")).status_code == 200
    assert (await api.request("GET", "/api/rules")).headers["etag"] == saved.headers["etag"]


async def test_a_stored_test_that_a_schema_makes_fail_keeps_the_schema_as_it_is(api: Api) -> None:
    await declare_both(api)
    rules = {**on_posts(create={"status_eq": "draft"}), "tests": [TEST]}
    assert (await save(api, rules)).status_code == 200
    defaulted = {"status": {**TEXT, "default": "draft"}}
    refused = await change(api, defaulted, name="posts")
    assert (refused.status_code, refused.json()["code"]) == (409, "rule_tests_failed")
    assert refused.json()["failed"] == [{"name": TEST["name"], "expected": "refused", "got": "allowed"}]
    assert (await api.request("GET", "/api/collections/posts")).json()["schema"] == POSTS


async def test_rules_are_judged_by_the_schema_in_force(api: Api) -> None:
    """The literal of a rule is read by the type of its field, so a field of another type makes it another value."""
    await declare(api, {"on": TEXT}, "events")
    assert (await save(api, {"collections": {"events": {"read": {"on_eq": "2026-01-31"}}}})).status_code == 200
    question = {"as": "anyone", "action": "read", "collection": "events"}
    assert (await api.request("POST", "/api/rules/explain", json=question)).json()["allowed"] is True
    assert (await change(api, {"on": {"type": "datetime"}}, name="events")).status_code == 200
    question["id"] = await added(api, {"on": "2026-01-31"}, "events")
    assert (await api.request("POST", "/api/rules/explain", json=question)).json()["allowed"] is True


async def test_d21_a_collection_that_others_rules_name_is_not_deleted(api: Api) -> None:
    await declare_both(api)
    for rules, place in (
        ({"sets": {"teams": TEAMS}, **on_posts(read={"team_in": "$sets.teams"})}, ["sets", "teams", "from"]),
        (on_posts(read={"author.name_eq": "x"}), ["collections", "posts", "read", "author.name_eq"]),
        (
            {"collections": {"posts": {"read": {"author.$can": "read"}}, "authors": {"read": "users"}}},
            ["collections", "posts", "read", "author.$can"],
        ),
    ):
        assert (await save(api, rules)).status_code == 200
        refused = await api.request("DELETE", "/api/collections/authors")
        assert (refused.status_code, refused.json()["code"]) == (409, "rule_conflict")
        assert refused.json()["rules"][0]["loc"] == ["body", *place]
        assert (await api.request("GET", "/api/collections/authors")).status_code == 200


async def test_d21_the_rules_of_a_collection_go_with_it(api: Api) -> None:
    await declare_both(api)
    rules = {"collections": {"posts": {"read": "users"}, "authors": {"read": "anyone"}}, "tests": [TEST]}
    assert (await save(api, rules)).status_code == 200
    assert (await api.request("DELETE", "/api/collections/posts")).status_code == 204
    left = (await api.request("GET", "/api/rules")).json()
    assert (left["collections"], left["tests"]) == ({"authors": {"read": "anyone"}}, [])


async def silent(*_: object) -> None:
    """In the place of the audit entry."""


async def test_d21_rules_and_collection_go_in_one_step_though_the_worker_dies(api: Api) -> None:
    await declare_both(api)
    assert (await save(api, on_posts(read="users"))).status_code == 200
    assert await begin_deletion(api.project.database, "posts", silent) is not None
    assert (await api.request("GET", "/api/rules")).json()["collections"] == {}
    assert (await save(api, on_posts(read="users"))).status_code == 422
    past = now() - timedelta(seconds=1)
    api.database["collections"].update_one({"_id": "posts"}, {"$set": {"change.until": past}})
    assert (await api.request("GET", "/api/collections")).json()["total"] == 1
    await declare(api, {"title": TEXT}, "posts")
    assert (await api.request("GET", "/api/rules")).json()["collections"] == {}


async def test_rules_that_are_saved_while_a_change_is_under_way_are_not_overrun(api: Api) -> None:
    await declare_both(api)
    record = await Definitions(api.project.database).begin("posts", "change")
    assert record is not None
    assert (await save(api, on_posts(read={"status_eq": "x"}))).status_code == 200
    with pytest.raises(RuleConflict):
        await commit_schema(api.project.database, record, {"title": TEXT}, options=NO_OPTIONS, note=silent)


@pytest.mark.parametrize("attempt", range(6))
async def test_x8_of_rules_and_a_schema_at_once_that_do_not_go_together_one_is_refused(api: Api, attempt: int) -> None:
    await declare_both(api)
    rules = on_posts(read={"status_eq": "x"})
    if attempt % 2:
        assert (await save(api, on_posts(read="users"))).status_code == 200

    async def save_late() -> Any:
        await asyncio.sleep(attempt * 0.004)
        return await save(api, rules)

    saved, changed = await asyncio.gather(save_late(), change(api, {"status": None}, name="posts"))
    answers = (saved.text, changed.text)
    assert sorted((saved.status_code, changed.status_code)) in ([200, 409], [200, 422]), answers
    await assert_they_agree(api)


@pytest.mark.parametrize(
    ("step", "is_saving", "expected"),
    [("find_rules", True, 422), ("check_rules", True, 422), ("check_schema", False, 409)],
)
async def test_x8_who_comes_between_the_steps_of_a_save_or_of_a_change(
    api: Api, monkeypatch: pytest.MonkeyPatch, step: str, is_saving: bool, expected: int
) -> None:
    """The first is held in its transaction after `step` until the other has happened, and then begins again."""
    await declare_both(api)
    reached, go_on, original = asyncio.Event(), asyncio.Event(), getattr(agreement, step)

    async def hold_first(*arguments: Any) -> Any:
        found = await original(*arguments)
        if not reached.is_set():
            reached.set()
            await go_on.wait()
        return found

    def saving() -> Any:
        return save(api, on_posts(read={"status_eq": "x"}))

    def changing() -> Any:
        return change(api, {"status": None}, name="posts")

    first, second = (saving, changing) if is_saving else (changing, saving)
    monkeypatch.setattr(agreement, step, hold_first)
    held = asyncio.create_task(first())
    await reached.wait()
    assert (await second()).status_code == 200
    go_on.set()
    assert (await held).status_code == expected
    await assert_they_agree(api)


async def test_x8_the_first_rules_are_written_where_everybody_sees_them_at_once(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection that a transaction makes is seen later than its other writes: schemas changed as if there were no rules."""
    api.database.drop_collection("rules")
    await declare_both(api)
    seen, original = list[list[str]](), put_rules

    async def look(*arguments: Any) -> Any:
        seen.append(api.database.list_collection_names())
        return await original(*arguments)

    monkeypatch.setattr(agreement, "put_rules", look)
    for _ in range(2):
        assert (await save(api, on_posts(read={"status_eq": "x"}))).status_code == 200
    assert ["rules" in names for names in seen] == [True, True]


@pytest.mark.parametrize("attempt", range(4))
async def test_x8_of_two_schemas_at_once_that_do_not_go_together_one_is_refused(api: Api, attempt: int) -> None:
    """Each goes with the rules and the other schema as it was: a reference that leads elsewhere, and a field there."""
    await declare(api, {"name": TEXT}, "authors")
    await declare(api, {"name": TEXT, "n": TEXT}, "editors")
    await declare(api, POSTS, "posts")
    assert (await save(api, on_posts(read={"author.name_eq": "x"}))).status_code == 200
    elsewhere = {"author_id": {"type": "reference", "collection": "editors"}}

    async def drop_late() -> Any:
        await asyncio.sleep(attempt * 0.004)
        return await change(api, {"name": None}, name="editors")

    changed, dropped = await asyncio.gather(change(api, elsewhere, name="posts"), drop_late())
    assert sorted((changed.status_code, dropped.status_code)) == [200, 409]
    await assert_they_agree(api)


async def assert_they_agree(api: Api) -> None:
    rules = (await api.request("GET", "/api/rules")).json()
    assert (await save(api, rules, "?dry_run=true")).status_code == 200


async def test_without_rules_a_change_looks_for_them_and_at_nothing_else(api: Api, commands: CommandRecorder) -> None:
    await declare_both(api)
    commands.commands.clear()
    assert (await change(api, {"status": None}, name="posts")).status_code == 200
    about_rules = [name for name, command in commands.commands if "rules" in command.values()]
    # Three for the agreement of both, and one for whether sets of users are taken from the collection.
    assert about_rules == ["find"] * 4
    assert not [name for name, command in commands.commands if name == "aggregate" and command[name] == "collections"]


def rule_indexes(api: Api, name: str = "posts") -> list[str]:
    return sorted(index for index in api.database[f"c_{name}"].index_information() if index.startswith("rule "))


async def test_indexes_of_rules_stay_through_changes_of_the_schema(api: Api) -> None:
    await declare_both(api)
    assert (await save(api, on_posts(read={"status_eq": "x"}), "?indexes=true")).status_code == 200
    assert rule_indexes(api) == ["rule status created_at"]
    assert (await change(api, {"title": None}, name="posts")).status_code == 200
    assert (await change(api, {}, name="posts")).status_code == 200
    assert rule_indexes(api) == ["rule status created_at"]
    assert await find_drift(api.project.database) == {}


async def test_indexes_of_rules_go_with_the_rules_that_asked_for_them(api: Api) -> None:
    await declare_both(api)
    both = {"or": [{"status_eq": "x"}, {"team_eq": "x"}]}
    assert (await save(api, on_posts(read=both), "?indexes=true")).status_code == 200
    assert rule_indexes(api) == ["rule status created_at", "rule team created_at"]
    assert (await save(api, on_posts(read={"team_eq": "y"}))).status_code == 200
    assert rule_indexes(api) == ["rule team created_at"]
    assert (await save(api, {})).status_code == 200
    assert rule_indexes(api) == []


async def test_n21_indexes_of_rules_and_of_the_schema_count_together(api: Api) -> None:
    """MongoDB takes 64 of a collection, the service's own three among them."""
    await declare(
        api, {f"f{n}": {"type": "string", "index": n < MAX_INDEXES - 2} for n in range(MAX_INDEXES + 3)}, "posts"
    )
    rules = [on_posts(read={"or": [{f"f{n}_eq": "x"} for n in range(count)]}) for count in (3, 2)]
    refused = await save(api, rules[0], "?indexes=true")
    assert (refused.status_code, refused.json()["code"]) == (409, "index_limit")
    assert refused.json()["detail"] == "The schema of a collection and the rules for it may ask for 60 indexes together"
    assert (await api.request("GET", "/api/rules")).json()["collections"] == {}, "nothing was saved"
    assert (await save(api, rules[1], "?indexes=true")).status_code == 200
    more = {
        f"f{MAX_INDEXES - 2}": {"type": "string", "index": True},
        f"f{MAX_INDEXES - 1}": {"type": "string", "index": True},
    }
    refused = await change(api, more, name="posts")
    assert (refused.status_code, refused.json()["code"]) == (409, "index_limit")
    assert await find_drift(api.project.database) == {}


async def test_n21_a_project_cannot_build_and_drop_indexes_of_rules_for_ever(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await declare_both(api)
    await services.base.databases.system["counters"].delete_many({})
    monkeypatch.setattr(made_files, "MADE_FILES", replace(made_files.MADE_FILES, limit=lambda _: 2))
    reads = [{"status_eq": "x"}, {"team_eq": "x"}] * 2
    statuses = [(await save(api, on_posts(read=read), "?indexes=true")).status_code for read in reads]
    assert statuses == [200, 200, 429, 429]
    assert rule_indexes(api) == ["rule team created_at"]
    assert (await api.request("GET", "/api/rules")).json()["collections"]["posts"]["read"] == {"team_eq": "x"}


async def test_an_index_of_rules_goes_with_its_field(api: Api) -> None:
    """The worker died before it dropped the index with the rules."""
    await declare_both(api)
    assert (await save(api, on_posts(read={"status_eq": "x"}), "?indexes=true")).status_code == 200
    api.database["rules"].delete_many({})
    assert (await change(api, {"status": None}, name="posts")).status_code == 200
    assert rule_indexes(api) == []

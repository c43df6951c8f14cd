"""Threat rows V2, V26 and V31: what the rules of a project may cost, and rules that never hold."""

import json
from typing import Any

import pytest

from service.bounds import MAX_FIELD_CONDITIONS, MAX_TRANSITIONS
from service.domain.access.agreement import find_outgrown
from service.storage.rules import put_rules
from tests.conftest import Api
from tests.declared import added, declare, violations
from tests.threats.conftest import assert_refused
from tests.web.rules.conftest import save, sign_up

SCHEMA = {"state": {"type": "string"}, "note": {"type": "string"}, "more": {"type": "string"}}
MOVE = {"before": {"state_eq": "draft"}, "after": {"state_in": ["draft", "sent"]}}


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, SCHEMA)
    return api


def of_things(**rules: Any) -> dict[str, Any]:
    return {"collections": {"things": {"read": "users", "create": "users", **rules}}}


def conditions(count: int) -> dict[str, Any]:
    return {"or": [{"state_eq": f"s{number}"} for number in range(count)]}


def fields_of(*counts: int) -> dict[str, Any]:
    """Fields whose rules, of reading and of writing, have so many conditions."""
    keys = (("note", "read"), ("note", "write"), ("more", "read"), ("more", "write"))
    fields: dict[str, Any] = {"note": {}, "more": {}}
    for (name, key), count in zip(keys, counts, strict=True):
        fields[name][key] = conditions(count)
    return fields


async def store_past_bounds(api: Api, document: dict[str, Any]) -> None:
    """Rules as a version without these bounds has saved them."""
    await put_rules(api.project.database, json.dumps(document))


async def test_v26_an_update_rule_has_few_transitions(things: Api) -> None:
    assert (await save(things, of_things(update=[MOVE] * MAX_TRANSITIONS))).status_code == 200
    before = (await things.request("GET", "/api/rules")).json()
    refused = await save(things, of_things(update=[MOVE] * (MAX_TRANSITIONS + 1)))
    assert violations(refused) == [("body", "collections", "things", "update", "too_long")]
    assert_refused(refused, 422)
    assert (await things.request("GET", "/api/rules")).json() == before


async def test_v26_stored_transitions_past_the_bound_stay_in_force(things: Api) -> None:
    never = {"before": {"state_eq": "never"}, "after": "users"}
    await store_past_bounds(things, of_things(update=[never] * MAX_TRANSITIONS + [MOVE]))
    ann = await sign_up(things, "ann")
    id_ = await added(things, {"state": "draft"})
    assert (await ann.merge("things", id_, state="sent")).status_code == 200
    assert (await ann.merge("things", id_, state="draft")).status_code == 403
    changed = await things.request("PATCH", "/api/collections/things", json={"schema": {"new": {"type": "string"}}})
    assert changed.status_code == 200, changed.text


async def test_v2_the_rules_of_all_fields_have_few_conditions_together(things: Api) -> None:
    assert (await save(things, of_things(fields=fields_of(30, 30, 30, 10)))).status_code == 200
    refused = await save(things, of_things(fields=fields_of(30, 30, 30, 11)))
    assert violations(refused) == [("body", "collections", "things", "fields", "too_long")]
    assert_refused(refused, 422)
    assert str(MAX_FIELD_CONDITIONS) in refused.json()["detail"][0]["msg"]


async def test_v2_the_rules_of_the_fields_of_users_have_few_conditions_together(api: Api) -> None:
    def users(count: int) -> dict[str, Any]:
        rule = {"or": [{"data.a_eq": f"s{number}"} for number in range(25)]}
        last = {"or": [{"data.a_eq": f"s{number}"} for number in range(count)]}
        fields = {f"data.f{number}": {"read": rule} for number in range(3)}
        return {
            "users": {"read": "users", "fields": {**fields, "data.last": {"read": last}, "data.w": {"read": "users"}}}
        }

    assert (await save(api, users(25))).status_code == 200
    assert violations(await save(api, users(26))) == [("body", "users", "fields", "too_long")]


async def test_v2_stored_rules_of_fields_past_the_bound_stay_in_force(things: Api) -> None:
    fields = fields_of(30, 30, 30, 30)
    fields["note"]["read"] = {"or": [*conditions(29)["or"], {"state_eq": "open"}]}
    await store_past_bounds(things, of_things(fields=fields))
    ann = await sign_up(things, "ann")
    id_ = await added(things, {"state": "open", "note": "n", "more": "m"})
    assert (await ann.get("things", id_)).json()["data"] == {"state": "open", "note": "n"}
    violation = (await find_outgrown(things.project.database))[0]
    assert violation.loc == ("body", "collections", "things", "fields")


async def test_v31_a_rule_of_assign_names_no_set(things: Api) -> None:
    sets = {"mine": {"from": "things", "where": {"state_eq": "$user.id"}, "take": "note"}}
    document = {**of_things(), "sets": sets, "assign": {"moderator": {"$sets.mine_eq": "admins"}}}
    refused = await save(things, document)
    assert violations(refused) == [("body", "assign", "moderator", "$sets.mine_eq", "unknown_variable")]
    assert_refused(refused, 422)
    assert (await things.request("GET", "/api/rules")).json()["assign"] == {}


HIDDEN_LENGTHS = (1_000, 100_000, 900_000)


@pytest.mark.parametrize("way", ["set", "push"])
async def test_v18_how_much_is_taken_does_not_depend_on_a_hidden_field(api: Api, way: str) -> None:
    """The longest text that is taken would tell the length of the hidden one to the byte."""
    text = {"type": "string"}
    await declare(api, {"secret": text, "note": text, "key": text, "tags": {"type": "array"}}, "vault")
    rules = {"read": "users", "update": "users", "fields": {"secret": {"read": False, "write": "server"}}}
    assert (await save(api, {"collections": {"vault": rules}})).status_code == 200
    ann, taken = await sign_up(api, "ann"), list[list[int]]()
    for length in HIDDEN_LENGTHS:
        id_ = await added(api, {"note": "n" * 1_040_000}, "vault")
        path = f"/api/collections/vault/documents/{id_}"
        filled = await api.request("PATCH", path, json={"data": {"secret": "s" * length}})
        assert filled.status_code == 200, filled.text
        statuses = []
        for size in (100_000, 900_000, 1_047_000):
            change = {"data": {"key": "k" * size}} if way == "set" else {"push": {"tags": "k" * size}}
            statuses.append((await ann.ask("PATCH", path, json=change)).status_code)
        taken.append(statuses)
    assert taken[0] == taken[1] == taken[2], taken
    assert 200 in taken[0]


async def test_v18_what_others_hide_together_is_not_revealed(api: Api) -> None:
    """A server fills two fields that ann does not see, and bob, with sight of a third, makes it grow."""
    text = {"type": "string"}
    await declare(api, {"secret": text, "more": text, "bobs": text, "key": text}, "vault")
    ann, bob = await sign_up(api, "ann"), await sign_up(api, "bob")
    server, bobs = {"read": False, "write": "server"}, {"read": {"$user.id_eq": bob.id}}
    rules = {"read": "users", "update": "users", "fields": {"secret": server, "more": server, "bobs": bobs}}
    assert (await save(api, {"collections": {"vault": rules}})).status_code == 200
    taken = list[list[int]]()
    for length in (1_000, 1_000_000):
        id_ = await added(api, {"key": "k"}, "vault")
        path, hidden = f"/api/collections/vault/documents/{id_}", "h" * length
        for name in ("secret", "more"):
            assert (await api.request("PATCH", path, json={"data": {name: hidden}})).status_code == 200
        assert (await bob.ask("PATCH", path, json={"data": {"bobs": hidden}})).status_code == 200
        changes = [{"data": {"key": "k" * size}} for size in (100_000, 1_040_000)]
        taken.append([(await ann.ask("PATCH", path, json=change)).status_code for change in changes])
    assert taken == [[200, 200]] * 2


async def test_v18_what_a_user_sees_is_bounded_all_the_same(api: Api) -> None:
    await declare(api, {"secret": {"type": "string"}, "tags": {"type": "array"}}, "vault")
    rules = {"read": "users", "update": "users", "fields": {"secret": {"read": False, "write": "server"}}}
    assert (await save(api, {"collections": {"vault": rules}})).status_code == 200
    ann, id_ = await sign_up(api, "ann"), await added(api, {"secret": "s"}, "vault")
    path, change = f"/api/collections/vault/documents/{id_}", {"push": {"tags": "k" * 900_000}}
    assert [(await ann.ask("PATCH", path, json=change)).status_code for _ in range(4)] == [200, 200, 413, 413]
    assert_refused(await ann.ask("PATCH", path, json=change), 413)
    assert len(api.database.c_vault.find_one({"_id": id_}, {"data.tags": 1})["data"]["tags"]) == 2  # type: ignore[index]

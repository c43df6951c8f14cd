"""Arrays of references: what they may name, and the relation that they make."""

from typing import Any

import httpx2
import pytest

from service.bounds import MAX_REFERENCES
from tests.conftest import Api, CommandRecorder
from tests.declared import add, added, declare, find, one, violations
from tests.web.rules.conftest import guest_of, save

GONE = "0" * 24
POSTS = {
    "title": {"type": "string"},
    "tag_ids": {"type": "array", "items": {"type": "reference", "collection": "tags"}},
}
TAGS = {"name": {"type": "string"}, "color": {"type": "string"}, "public": {"type": "boolean", "default": True}}


@pytest.fixture
async def tags(api: Api) -> dict[str, str]:
    """The id of each tag by its name."""
    await declare(api, TAGS, "tags")
    await declare(api, POSTS, "posts")
    colors = {"novel": "red", "french": "blue", "long": "red"}
    return {name: await added(api, {"name": name, "color": color}, "tags") for name, color in colors.items()}


async def post(api: Api, title: str, *ids: str) -> str:
    return await added(api, {"title": title, "tag_ids": list(ids)}, "posts")


def titles(answer: httpx2.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return sorted(each["data"]["title"] for each in answer.json()["documents"])


async def ask(api: Api, **query: Any) -> httpx2.Response:
    return await api.request("POST", "/api/collections/posts/query", json=query)


async def test_every_item_names_a_record_however_it_is_written(api: Api, tags: dict[str, str]) -> None:
    novel, at = tags["novel"], ("body", "data", "tag_ids", 1, "reference_not_found")
    assert violations(await add(api, {"tag_ids": [novel, GONE, GONE]}, "posts")) == [at]
    id_ = await post(api, "a", novel)
    assert violations(await one(api, "PATCH", id_, {"tag_ids": [novel, GONE]}, "posts")) == [at]
    assert violations(await one(api, "PUT", id_, {"tag_ids": [novel, GONE]}, "posts")) == [at]
    for operator in ("push", "add"):
        path = f"/api/collections/posts/documents/{id_}"
        refused = await api.request("PATCH", path, json={operator: {"tag_ids": GONE}})
        assert violations(refused) == [("body", operator, "tag_ids", 0, "reference_not_found")]
        pushed = await api.request("PATCH", path, json={operator: {"tag_ids": tags["long"]}})
        assert pushed.json()["data"]["tag_ids"] == [novel, tags["long"]], pushed.text
        await one(api, "PATCH", id_, {"tag_ids": [novel]}, "posts")
    lines = f'{{"data": {{"tag_ids": ["{novel}"]}}}}\n{{"data": {{"tag_ids": ["{GONE}"]}}}}\n'
    headers = {"content-type": "application/x-ndjson"}
    imported = await api.request("POST", "/api/collections/posts/import", content=lines, headers=headers)
    assert (imported.json()["created"], imported.json()["refused"]) == (1, 1), imported.text
    assert (await one(api, "GET", id_, name="posts")).json()["data"]["tag_ids"] == [novel]


async def test_an_array_holds_at_most_100_references(api: Api, tags: dict[str, str]) -> None:
    assert (await add(api, {"tag_ids": [tags["novel"]] * MAX_REFERENCES}, "posts")).status_code == 201
    refused = await add(api, {"tag_ids": [tags["novel"]] * (MAX_REFERENCES + 1)}, "posts")
    assert violations(refused) == [("body", "data", "tag_ids", "too_long")]


async def test_a_relation_holds_where_one_related_record_satisfies_all_its_conditions(
    api: Api, tags: dict[str, str]
) -> None:
    await post(api, "red novel", tags["novel"], tags["french"])
    await post(api, "blue", tags["french"])
    await post(api, "none")
    assert titles(await find(api, f"tag_ids_eq={tags['french']}", "posts")) == ["blue", "red novel"]
    assert titles(await find(api, f"tag_ids_hasall={tags['french']},{tags['novel']}", "posts")) == ["red novel"]
    assert titles(await find(api, "tags.name_eq=french", "posts")) == ["blue", "red novel"]
    assert titles(await ask(api, where={"tags.name_eq": "french", "tags.color_eq": "red"})) == []
    assert titles(await ask(api, where={"tags.name_eq": "novel", "tags.color_eq": "red"})) == ["red novel"]
    assert titles(await ask(api, where={"not": {"tags.color_eq": "red"}})) == ["blue", "none"]
    either = {"or": [{"tags.color_eq": "red"}, {"title_eq": "none"}]}
    assert titles(await ask(api, where=either)) == ["none", "red novel"]
    assert (await ask(api, where={"tags.color_eq": "blue"}, limit=1)).json()["total"] == 2


async def test_a_relation_of_many_records_is_streamed_to_the_same_answer(
    api: Api, tags: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.query.commands.PROBE_LIMIT", 1)
    await post(api, "a", tags["novel"], tags["french"])
    await post(api, "b", tags["french"])
    answer = await ask(api, where={"tags.color_eq": "red"})
    assert (titles(answer), answer.json()["total"]) == (["a"], 1)
    assert titles(await ask(api, where={"or": [{"not": {"tags.color_eq": "red"}}]})) == ["b"]


async def test_populate_gives_the_records_in_order_without_those_that_are_gone(api: Api, tags: dict[str, str]) -> None:
    await post(api, "a", tags["long"], tags["novel"], tags["french"])
    await one(api, "DELETE", tags["novel"], name="tags")
    for populate in ("tags", "*"):
        (found,) = (await find(api, f"populate={populate}", "posts")).json()["documents"]
        assert [each["data"]["name"] for each in found["data"]["tags"]] == ["long", "french"]
        assert found["data"]["tag_ids"] == [tags["long"], tags["novel"], tags["french"]]
    (chosen,) = (await find(api, "populate=tags&fields=tags.name", "posts")).json()["documents"]
    assert chosen["data"] == {"tags": [{"id": tags[name], "data": {"name": name}} for name in ("long", "french")]}


async def test_a_caller_sees_and_names_only_related_records_that_it_may_read(api: Api, tags: dict[str, str]) -> None:
    hidden = await added(api, {"name": "secret", "public": False}, "tags")
    rules = {
        "tags": {"read": {"public_eq": True}},
        "posts": {"read": {"tags.color_eq": "red"}, "create": "anyone"},
    }
    await save(api, {"collections": rules})
    await post(api, "shown", hidden, tags["novel"])
    await post(api, "not shown", tags["french"])
    guest = guest_of(api)
    (found,) = (await guest.list("posts", "?populate=tags")).json()["documents"]
    assert [each["data"]["name"] for each in found["data"]["tags"]] == ["novel"]
    assert (await guest.list("posts", "?tags.name_eq=secret")).json()["documents"] == []
    refused = await guest.create("posts", tag_ids=[tags["novel"], hidden])
    assert violations(refused) == [("body", "data", "tag_ids", 1, "reference_not_found")]
    assert (await guest.create("posts", title="by a guest", tag_ids=[tags["novel"]])).status_code == 201


async def test_can_read_holds_where_one_of_the_related_records_can_be_read(api: Api, tags: dict[str, str]) -> None:
    hidden = await added(api, {"name": "secret", "public": False}, "tags")
    rules = {"tags": {"read": {"public_eq": True}}, "posts": {"read": {"tags.$can": "read"}}}
    await save(api, {"collections": rules})
    await post(api, "hidden", hidden)
    await post(api, "shown", hidden, tags["novel"])
    assert titles(await guest_of(api).list("posts")) == ["shown"]


async def test_the_records_named_in_an_array_are_asked_for_in_one_command(
    api: Api, tags: dict[str, str], commands: CommandRecorder
) -> None:
    await post(api, "before", tags["novel"])
    commands.commands.clear()
    await post(api, "a", *tags.values())
    assert [name for name in commands.names if name != "insert"] == ["aggregate"]


async def test_a_group_follows_no_array_of_references(api: Api, tags: dict[str, str]) -> None:
    await post(api, "a", tags["novel"])
    path = "/api/collections/posts/aggregate"
    refused = await api.request("POST", path, json={"group": {"tag": "tags.name"}, "values": {"n": "count"}})
    assert violations(refused) == [("body", "group", "tag", "value_error")]
    each = {"field": "tag_ids", "each": True}
    rows = await api.request("POST", path, json={"group": {"tag": each}, "values": {"n": "count"}})
    assert rows.json()["rows"] == [{"tag": tags["novel"], "n": 1}]


async def test_the_target_of_an_array_is_a_collection_that_exists(api: Api) -> None:
    answer = await api.request("POST", "/api/collections", json={"name": "posts", "schema": POSTS})
    assert violations(answer) == [("body", "schema", "tag_ids", "items", "collection", "collection_not_found")]

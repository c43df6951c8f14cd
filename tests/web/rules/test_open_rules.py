"""Users whom the rules of a collection allow everything: they take the short ways of a secret key, and stay under limits."""

from typing import Any

from service.bounds import MAX_CONFLICTS
from tests.conftest import Api, CommandRecorder
from tests.web.rules.conftest import Person, save, sign_up

PAGES = {"slug": {"type": "string", "unique": True}, "text": {"type": "string"}}
OPEN = {"read": "users", "create": "users", "update": "users", "delete": "users"}
BATCH = "/api/batch"


async def made(api: Api, rules: dict[str, Any], **fields: Any) -> Person:
    """A user of a project with `pages` under these rules."""
    body = {"name": "pages", "schema": {**PAGES, **fields}}
    assert (await api.request("POST", "/api/collections", json=body)).status_code == 201
    assert (await save(api, {"collections": {"pages": rules}})).status_code == 200
    return await sign_up(api, "ann")


def upsert(person: Person, **data: Any) -> Any:
    return person.ask("PUT", "/api/collections/pages/documents?by=slug", json={"data": data})


def creations(*slugs: str) -> dict[str, Any]:
    return {"operations": [{"op": "create", "collection": "pages", "data": {"slug": slug}} for slug in slugs]}


def on_pages(commands: CommandRecorder) -> list[str]:
    return [name for name, command in commands.commands if command.get(name) == "c_pages"]


async def test_an_upsert_is_one_command(api: Api, commands: CommandRecorder) -> None:
    ann = await made(api, OPEN)
    first = await upsert(ann, slug="a", text="1")
    commands.commands.clear()
    second = await upsert(ann, slug="a", text="2")
    assert on_pages(commands) == ["findAndModify"]
    assert (first.status_code, second.status_code) == (201, 200)
    assert (second.json()["id"], second.json()["data"]) == (first.json()["id"], {"slug": "a", "text": "2"})


async def test_creations_of_a_batch_are_one_command(api: Api, commands: CommandRecorder) -> None:
    ann = await made(api, OPEN)
    commands.commands.clear()
    answer = await ann.ask("POST", BATCH, json=creations("a", "b", "c"))
    assert on_pages(commands) == ["insert"]
    shown = [result["document"]["data"]["slug"] for result in answer.json()["results"]]
    assert shown == ["a", "b", "c"]


async def test_a_batch_shows_nothing_that_its_writer_may_not_read(api: Api) -> None:
    ann = await made(api, {**OPEN, "read": {"text_eq": "public"}})
    results = (await ann.ask("POST", BATCH, json=creations("a", "b"))).json()["results"]
    assert [set(result["document"]) for result in results] == [{"id"}] * 2


async def test_a_batch_refers_to_no_record_that_its_writer_may_not_read(api: Api) -> None:
    ann = await made(api, OPEN, of_id={"type": "reference", "collection": "users"})
    operation = {"op": "create", "collection": "pages", "data": {"of_id": (await sign_up(api, "eve")).id}}
    refused = await ann.ask("POST", BATCH, json={"operations": [operation, operation]})
    assert (refused.status_code, refused.json()["detail"][0]["type"]) == (422, "reference_not_found")
    own = {"operations": [{**operation, "data": {"of_id": ann.id}}] * 2}
    assert (await ann.ask("POST", BATCH, json=own)).status_code == 200


async def test_x10_creations_of_a_batch_count_the_values_that_are_taken(api: Api) -> None:
    ann = await made(api, OPEN)
    assert (await ann.create("pages", slug="taken")).status_code == 201
    for number in range(MAX_CONFLICTS):
        taken = await ann.ask("POST", BATCH, json=creations(f"free {number}", "taken"))
        assert (taken.status_code, taken.json()["operation"]) == (409, 1)
    limited = await ann.ask("POST", BATCH, json=creations("free", "taken"))
    assert (limited.status_code, limited.json()["code"]) == (429, "rate_limit_exceeded")

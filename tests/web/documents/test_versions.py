"""Versions of documents and of one's own record: entity tags, and writes that no other write came before."""

import asyncio
from typing import Any

import httpx2
import pytest

from service.domain.access.caller import SecretKeyCaller
from service.domain.documents.documents import Documents
from service.schema.json_schema import validator
from service.services import Services
from service.storage.migrations import PROJECT_MIGRATIONS
from service.storage.validator_migrations import allow_versions
from service.web.openapi.endpoint import ApiRoute, KeyUse
from service.web.routes import ROUTES
from tests.conftest import Api
from tests.declared import add, added, change, declare, find, one, violations
from tests.rules.examples import RULES
from tests.web.rules.conftest import declare as declare_examples
from tests.web.rules.conftest import save, sign_up

CHANGED = {"detail": "This was changed meanwhile; read it again", "code": "version_conflict"}
GONE = "0" * 24
THINGS = "/api/collections/things"


@pytest.fixture
async def id_(api: Api) -> str:
    await declare(api, {"n": {"type": "integer"}, "code": {"type": "string", "unique": True}})
    return await added(api, {"n": 1})


async def send(api: Api, method: str, id_: str, if_match: str, data: Any = None) -> httpx2.Response:
    body = {} if method == "DELETE" else {"json": {"data": data if data is not None else {"n": 2}}}
    path = f"/api/collections/things/documents/{id_}"
    return await api.request(method, path, headers={"if-match": if_match}, **body)


async def test_each_write_adds_one(api: Api, id_: str) -> None:
    assert (await one(api, "GET", id_)).headers["etag"] == '"v1"'
    for version, method in enumerate(("PUT", "PATCH", "PATCH"), start=2):
        answer = await one(api, method, id_, {"n": 2})
        assert (answer.json()["version"], answer.headers["etag"]) == (version, f'"v{version}"')
    assert [each["version"] for each in (await find(api)).json()["documents"]] == [4]
    created = await add(api, {"n": 5})
    assert (created.json()["version"], created.headers["etag"]) == (1, '"v1"')


async def test_what_another_program_wrote_has_the_version_0(api: Api, id_: str) -> None:
    things = api.database["c_things"]
    things.update_one({"_id": id_}, {"$unset": {"version": 1}})
    answer = await one(api, "GET", id_)
    assert (answer.json()["version"], answer.headers["etag"]) == (0, '"v0"')
    assert (await send(api, "PATCH", id_, '"v1"')).headers["etag"] == '"v0"'
    assert (await send(api, "PATCH", id_, '"v0"')).json()["version"] == 1


@pytest.mark.parametrize("known", ['"v1"', 'W/"v1"', '"x", "v1"', "*"])
async def test_a_client_that_has_it_is_told_so(api: Api, id_: str, known: str) -> None:
    path = f"/api/collections/things/documents/{id_}"
    answer = await api.request("GET", path, headers={"if-none-match": known})
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", '"v1"')
    await one(api, "PATCH", id_, {"n": 2})
    assert (await api.request("GET", path, headers={"if-none-match": '"v1"'})).json()["data"] == {"n": 2}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("tag", ['"v2"', 'W/"v1"', "v1", '"v01"', '"1"', "", '"v1', '"v99999999999999999999"'])
async def test_another_version_is_not_written_over(api: Api, id_: str, method: str, tag: str) -> None:
    answer = await send(api, method, id_, tag)
    assert (answer.status_code, answer.json(), answer.headers["etag"]) == (412, CHANGED, '"v1"')
    assert (await one(api, "GET", id_)).json()["data"] == {"n": 1}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("tag", ['"v1"', '"v7", "v1"', "*", '"x,y" , "v1"'])
async def test_the_version_that_was_read_is_written_over(api: Api, id_: str, method: str, tag: str) -> None:
    answer = await send(api, method, id_, tag)
    assert answer.status_code == (204 if method == "DELETE" else 200)
    assert answer.headers.get("etag") == (None if method == "DELETE" else '"v2"')


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("tag", ['"v1"', "*", "garbage"])
async def test_a_document_that_is_not_there_has_no_version(api: Api, id_: str, method: str, tag: str) -> None:
    answer = await send(api, method, GONE, tag)
    assert (answer.status_code, answer.json()["code"]) == (404, "document_not_found")


@pytest.mark.parametrize("data", [{"n": "x"}, {"a.b": 1}, {"code": "taken"}])
async def test_the_version_is_looked_at_before_what_is_sent(api: Api, id_: str, data: Any) -> None:
    await added(api, {"code": "taken"})
    for method in ("PUT", "PATCH"):
        assert (await send(api, method, GONE, '"v1"', data)).status_code == 404
        assert (await send(api, method, id_, '"v2"', data)).json() == CHANGED
        assert (await send(api, method, id_, '"v1"', data)).status_code in {409, 422}
    assert (await one(api, "GET", id_)).json()["version"] == 1


async def test_of_racing_writes_to_one_version_one_succeeds(api: Api, id_: str) -> None:
    answers = await asyncio.gather(*(send(api, "PATCH", id_, '"v1"', {"n": n}) for n in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200, *[412] * 19]
    (winner,) = (answer for answer in answers if answer.status_code == 200)
    assert (await one(api, "GET", id_)).json() == winner.json()


async def test_a_repaired_document_has_another_version(api: Api, id_: str) -> None:
    await one(api, "PATCH", id_, {"n": 2})
    answer = await change(api, {"kind": {"type": "string", "required": True, "default": "x"}})
    assert answer.status_code == 200, answer.text
    assert (await one(api, "GET", id_)).json()["version"] == 3


def _as_before(api: Api, *, name: str = "things") -> dict[str, Any]:
    """Puts a validator from before there were versions in force, as a worker of then does that changes a schema."""
    found = api.database["collections"].find_one({"_id": name})
    assert found is not None
    ((_, options),) = [
        (each["name"], each["options"]) for each in api.database.list_collections(filter={"name": f"c_{name}"})
    ]
    before: dict[str, Any] = options["validator"]
    before["$jsonSchema"]["properties"].pop("version")
    api.database.command({"collMod": f"c_{name}", "validator": before})
    return before


def _validator(api: Api) -> Any:
    (found,) = api.database.list_collections(filter={"name": "c_things"})
    return found["options"]["validator"]


async def test_validators_from_before_are_migrated(api: Api, id_: str) -> None:
    assert allow_versions in [step.run for step in PROJECT_MIGRATIONS]
    before = _as_before(api)
    await allow_versions(api.project.database)
    await allow_versions(api.project.database)
    assert _validator(api) != before
    assert (await one(api, "PATCH", id_, {"n": 2})).json()["version"] == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_a_write_mends_a_validator_that_an_older_worker_put_back(api: Api, id_: str, method: str) -> None:
    api.database["c_things"].update_one({"_id": id_}, {"$unset": {"version": 1}})
    _as_before(api)
    answer = await (add(api, {"n": 2}) if method == "POST" else one(api, method, id_, {"n": 2}))
    assert answer.json()["version"] == 1, answer.text
    _as_before(api)
    assert violations(await add(api, {"n": "x"})) == [("body", "data", "n", "int_type")]


async def test_a_batch_mends_it_too(api: Api, id_: str, services: Services) -> None:
    _as_before(api)
    first, second = await Documents(services.documents.of_server(SecretKeyCaller(api.project), "things")).create_each(
        [{"n": 1}, {"n": "x"}]
    )
    assert getattr(first, "version", first) == 1
    assert getattr(second, "status", second) == 422


async def test_a_validator_is_not_mended_while_the_schema_is_changed(api: Api, id_: str) -> None:
    before = _as_before(api)
    api.database["collections"].update_one(
        {"_id": "things"},
        [{"$set": {"change": {"token": "x", "kind": "change", "until": {"$add": ["$$NOW", 60_000]}}}}],
    )
    await allow_versions(api.project.database)
    assert _validator(api) == before
    answer = await add(api, {"n": 2})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "being changed" in answer.json()["detail"]


async def test_a_user_writes_over_what_he_read_only(api: Api) -> None:
    await declare_examples(api, "notes", "posts")
    await save(api, {"collections": {"notes": RULES["collections"]["notes"]}})
    ann, bob = await sign_up(api, "ann"), await sign_up(api, "bob")
    made = await ann.create("notes", text="mine")
    assert made.headers["etag"] == '"v1"'
    path = f"/api/collections/notes/documents/{made.json()['id']}"
    body = {"json": {"data": {"text": "new"}}}
    assert (await ann.ask("GET", path, headers={"if-none-match": '"v1"'})).status_code == 304
    for method in ("PUT", "PATCH", "DELETE"):
        sent = {} if method == "DELETE" else body
        assert (await bob.ask(method, path, headers={"if-match": '"v9"'}, **sent)).status_code == 404
        refused = await ann.ask(method, path, headers={"if-match": '"v9"'}, **sent)
        assert (refused.status_code, refused.headers["etag"]) == (412, '"v1"')
    assert (await ann.ask("PATCH", path, headers={"if-match": '"v1"'}, **body)).headers["etag"] == '"v2"'
    assert (await ann.ask("DELETE", path, headers={"if-match": '"v2"'})).status_code == 204


async def test_who_may_not_read_what_he_wrote_is_not_told_its_version(api: Api) -> None:
    await declare_examples(api, "reports")
    await save(api, {"collections": {"reports": {"create": "users"}}})
    made = await (await sign_up(api, "ann")).create("reports", text="x")
    assert made.json().keys() == {"id"}
    assert "etag" not in made.headers


async def test_what_a_role_shows_is_not_taken_for_the_same(api: Api) -> None:
    """A field that a new role lets be read is missing in what the client has, though the version is the same."""
    await declare_examples(api, "reports")
    fields = {"text": {"read": {"$user.roles_eq": "moderator"}}}
    await save(api, {"collections": {"reports": {"create": "users", "read": "users", "fields": fields}}})
    ann = await sign_up(api, "ann", "moderator")
    made = await ann.create("reports", text="x")
    path = f"/api/collections/reports/documents/{made.json()['id']}"
    assert (await ann.ask("GET", path, headers={"if-none-match": '"v1"'})).status_code == 200


async def test_ones_own_record_has_its_version_in_the_header_only(api: Api) -> None:
    token = (await api.signup()).json()["access_token"]
    path = "/auth-collections/user"
    first = await api.as_user(token, "GET", path)
    assert (first.headers["etag"], "version" in first.json()) == ('"v1"', False)
    assert (await api.as_user(token, "GET", path, headers={"if-none-match": '"v1"'})).status_code == 304
    changed = await api.as_user(token, "PUT", path, json={"name": "Ann"}, headers={"if-match": '"v1"'})
    assert (changed.status_code, changed.headers["etag"], "version" in changed.json()) == (200, '"v2"', False)
    for body in ({"name": "Eve"}, {"id": "x"}, {"email": "x@example.com"}):
        refused = await api.as_user(token, "PUT", path, json=body, headers={"if-match": '"v1"'})
        assert (refused.status_code, refused.json(), refused.headers["etag"]) == (412, CHANGED, '"v2"')
    api.database["users"].update_one({}, {"$unset": {"version": 1}})
    assert (await api.as_user(token, "GET", path)).headers["etag"] == '"v0"'
    user_id = first.json()["id"]
    await api.request("PUT", f"/auth-collections/users/{user_id}/roles", json={"roles": ["x"]})
    assert (await api.as_user(token, "GET", path)).headers["etag"] == '"v1"'


def test_the_validator_takes_records_with_and_without_a_version() -> None:
    schema = validator({})["$jsonSchema"]
    assert schema["properties"]["version"] == {"bsonType": ["int", "long"]}
    assert "version" not in schema["required"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", f"{THINGS}/update", {"where": {}, "data": {"n": 2}, "expect": 1}),
        ("POST", f"{THINGS}/delete", {"where": {}, "expect": 1}),
        ("PUT", f"{THINGS}/documents?by=sku", {"data": {"sku": "a"}}),
        ("POST", f"{THINGS}/documents", {"data": {"n": 2}}),
        ("POST", "/api/batch", {"operations": [{"op": "create", "collection": "things", "data": {}}]}),
        ("POST", f"{THINGS}/import", {}),
        ("PATCH", THINGS, {"schema": {}}),
    ],
    ids=["update", "delete", "upsert", "create", "batch", "import", "schema"],
)
async def test_a_write_that_compares_no_version_refuses_if_match(api: Api, method: str, path: str, body: Any) -> None:
    await declare(api, {"n": {"type": "integer"}, "sku": {"type": "string", "unique": True}})
    await added(api, {"n": 1})
    for tag in ('"v1"', "*"):
        answer = await api.request(method, path, json=body, headers={"if-match": tag})
        assert violations(answer) == [("header", "if-match", "extra_forbidden")]
    assert answer.json()["detail"][0]["msg"] == ("This write compares no version; send it without If-Match")
    assert [each["data"] for each in api.database["c_things"].find()] == [{"n": 1}]


def test_only_writes_of_one_record_and_of_the_rules_compare_versions() -> None:
    writes = [each for each in ROUTES if isinstance(each, ApiRoute) and each.idempotency_key is not KeyUse.IGNORED]
    compare = {each.operation.id for each in writes if not each.refuses_if_match}
    assert compare == {
        "replaceDocument",
        "mergeDocument",
        "deleteDocument",
        "updateProfile",
        "saveRules",
        "replaceProfileSchema",
    }

"""Answers that are kept for an `Idempotency-Key` take little room, and a replay reads large ones again (V10)."""

from typing import Any

import httpx2
import pytest

from service.bounds import MAX_KEPT_ANSWER_BYTES
from service.services import Services
from tests.conftest import Api
from tests.declared import added, declare, one
from tests.web.rules.conftest import Person, save, sign_up

KEY = {"idempotency-key": "k"}
REPLAYED = "idempotency-replayed"
DOCUMENTS = "/api/collections/things/documents"
LARGE = "x" * 300_000
OPEN: dict[str, Any] = {"read": "users", "create": "users", "update": "users", "delete": "users"}


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, {"text": {"type": "string"}, "secret": {"type": "string"}, "n": {"type": "integer"}})
    await save(api, {"collections": {"things": OPEN}})
    return api


def kept_bytes(api: Api) -> int:
    (size,) = api.database["kept_answers"].aggregate(
        [{"$group": {"_id": None, "n": {"$sum": {"$bsonSize": "$$ROOT"}}}}]
    )
    return int(size["n"])


async def batch(asking: Api | Person, *operations: dict[str, Any]) -> httpx2.Response:
    ask = asking.request if isinstance(asking, Api) else asking.ask
    answer = await ask("POST", "/api/batch", json={"operations": list(operations)}, headers=KEY)
    assert answer.status_code == 200, answer.text
    return answer


async def test_v10_a_batch_that_only_reads_keeps_nothing(things: Api) -> None:
    id_ = await added(things, {"text": "x" * 80_000})
    ann = await sign_up(things, "ann")
    reads = [{"op": "get", "collection": "things", "id": id_}] * 100
    answers = [await batch(ann, *reads) for _ in range(3)]
    assert [answer.headers.get(REPLAYED) for answer in answers] == [None] * 3
    assert things.database["kept_answers"].count_documents({}) == 0


async def test_v10_a_batch_is_kept_by_ids_and_read_again(things: Api) -> None:
    id_ = await added(things, {"text": "x" * 80_000})
    ann = await sign_up(things, "ann")
    create = {"op": "create", "collection": "things", "data": {"n": 1}}
    operations: list[dict[str, Any]] = [create, *[{"op": "get", "collection": "things", "id": id_}] * 99]
    first, again = await batch(ann, *operations), await batch(ann, *operations)
    assert len(first.content) > 7_000_000
    assert (again.json(), again.headers[REPLAYED]) == (first.json(), "true")
    assert kept_bytes(things) < 16_384
    assert things.database["c_things"].count_documents({}) == 2


@pytest.mark.parametrize("asks", ["server", "user"])
async def test_v10_a_replayed_batch_shows_its_documents_as_they_are_now(things: Api, asks: str) -> None:
    asking = things if asks == "server" else await sign_up(things, "ann")
    operations = [{"op": "create", "collection": "things", "data": {"n": number}} for number in range(3)]
    operations.append({"op": "delete", "collection": "things", "id": await added(things, {})})
    first = (await batch(asking, *operations)).json()["results"]
    ids = [result["document"]["id"] for result in first[:3]]
    await one(things, "PATCH", ids[0], {"n": 7})
    await one(things, "DELETE", ids[1])
    again = await batch(asking, *operations)
    changed = (await one(things, "GET", ids[0])).json()
    assert (changed["data"], changed["version"]) == ({"n": 7}, 2)
    gone = {"status": 201, "document": {"id": ids[1]}}
    assert again.json()["results"] == [{"status": 201, "document": changed}, gone, first[2], {"status": 204}]
    assert again.headers[REPLAYED] == "true"
    assert things.database["c_things"].count_documents({}) == 2


async def test_v10_a_replayed_batch_answers_no_more_than_a_batch_may(things: Api) -> None:
    operations = [{"op": "create", "collection": "things", "data": {"n": number}} for number in range(40)]
    await batch(things, *operations)
    things.database["c_things"].update_many({}, {"$set": {"data.text": "x" * 1_000_000}})
    answer = await things.request("POST", "/api/batch", json={"operations": operations}, headers=KEY)
    assert (answer.status_code, answer.json()["code"], answer.json()["operation"]) == (413, "too_large", 17)


async def test_v10_a_user_in_a_batch_is_read_again(things: Api) -> None:
    ann = await sign_up(things, "ann")
    update = {"op": "update", "collection": "users", "id": ann.id, "data": {"name": "Ann"}}
    first = await batch(ann, update)
    assert (await batch(ann, update)).json() == first.json()
    await things.request("PATCH", f"/auth-collections/users/{ann.id}", json={"data": {"name": "Anna"}})
    again = (await batch(ann, update)).json()["results"][0]
    assert (again["status"], again["document"]["data"]["name"]) == (200, "Anna")


@pytest.mark.parametrize("asks", ["server", "user"])
async def test_v10_a_large_document_is_kept_by_id_and_version(things: Api, asks: str) -> None:
    asking = things.request if asks == "server" else (await sign_up(things, "ann")).ask

    async def create() -> httpx2.Response:
        return await asking("POST", DOCUMENTS, json={"data": {"text": LARGE, "secret": "s"}}, headers=KEY)

    first, again = await create(), await create()
    assert (first.status_code, again.status_code, again.headers[REPLAYED]) == (201, 201, "true")
    assert (again.json(), again.headers["etag"]) == (first.json(), first.headers["etag"])
    assert kept_bytes(things) < 1_024
    id_ = first.json()["id"]
    await one(things, "PATCH", id_, {"n": 1})
    changed = await create()
    now = await one(things, "GET", id_)
    assert (changed.json(), changed.headers["etag"]) == (now.json(), now.headers["etag"])
    hidden = {"fields": {"secret": {"read": False}}}
    await save(things, {"collections": {"things": OPEN | hidden}})
    assert ("secret" in (await create()).json()["data"]) == (asks == "server")
    await one(things, "DELETE", id_)
    gone = await create()
    assert (gone.status_code, gone.json(), "etag" in gone.headers) == (201, {"id": id_}, False)
    await things.request("DELETE", "/api/collections/things")
    if asks == "server":
        assert (await create()).json() == {"id": id_}


async def test_v10_no_kept_answer_is_larger_than_its_bound(things: Api) -> None:
    """The largest that is kept whole, and the next larger one, which is not."""
    for length, is_whole in ((196_000, True), (197_000, False)):
        answer = await things.request("POST", DOCUMENTS, json={"data": {"text": "x" * length}}, headers=KEY)
        assert answer.status_code == 201
        size = kept_bytes(things)
        assert (size > MAX_KEPT_ANSWER_BYTES // 2) == is_whole
        assert size <= MAX_KEPT_ANSWER_BYTES + 512
        things.database["kept_answers"].delete_many({})


async def test_v10_the_signup_of_a_large_user_is_kept_by_its_id(api: Api) -> None:
    body = {"email": "ann@example.com", "password": "correct horse", "text": LARGE}
    first, again = [await api.request("POST", "/auth-collections/signup", json=body, headers=KEY) for _ in range(2)]
    assert (again.status_code, again.headers[REPLAYED]) == (201, "true")
    assert again.json()["user"] == first.json()["user"]
    assert kept_bytes(api) < 1_024


async def test_v10_answers_that_an_earlier_version_kept_are_replayed(things: Api, services: Services) -> None:
    operations = [{"op": "create", "collection": "things", "data": {"n": 1}}]
    first = await batch(things, *operations)
    created = await things.request("POST", DOCUMENTS, json={"data": {"n": 2}}, headers={"idempotency-key": "j"})
    kept = things.database["kept_answers"].find()
    for record in kept:
        place = f"{things.project.id}/kept_answers/{record['_id']}"
        whole = created.text if record["status"] == 201 else first.text
        sealed = services.idempotency._secret_box.seal(whole, place)  # noqa: SLF001 - as that version sealed it
        things.database["kept_answers"].update_one({"_id": record["_id"]}, {"$set": {"body": sealed}})
    assert (await batch(things, *operations)).json() == first.json()
    again = await things.request("POST", DOCUMENTS, json={"data": {"n": 2}}, headers={"idempotency-key": "j"})
    assert (again.content, again.headers["etag"]) == (created.content, created.headers["etag"])
    assert things.database["c_things"].count_documents({}) == 2

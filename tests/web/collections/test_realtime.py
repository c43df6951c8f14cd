"""`realtime` of a collection: whether what its documents become can be followed."""

from typing import Any

from tests.conftest import Api

PATH = "/api/collections/notes"
DOCUMENTS = f"{PATH}/documents"
SCHEMA: dict[str, Any] = {"text": {"type": "string"}, "number": {"type": "integer", "max": 9}, "lines": {"type": "any"}}
MANY = "x" * 1_000_000


async def declare(api: Api, **more: Any) -> dict[str, Any]:
    answer = await api.request("POST", "/api/collections", json={"name": "notes", "schema": SCHEMA, **more})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def has_images(api: Api) -> bool:
    (options,) = [each["options"] for each in api.database.list_collections(filter={"name": "c_notes"})]
    return bool(options.get("changeStreamPreAndPostImages", {}).get("enabled", False))


async def test_a_collection_is_not_live_unless_it_is_said(api: Api) -> None:
    assert (await declare(api))["realtime"] is False
    assert (await api.request("GET", PATH)).json()["realtime"] is False
    assert [each["realtime"] for each in (await api.request("GET", "/api/collections")).json()["collections"]] == [
        False
    ]
    assert not has_images(api)


async def test_one_from_before_says_that_it_is_not_live(api: Api) -> None:
    await declare(api, realtime=True)
    api.database["collections"].update_one({"_id": "notes"}, {"$unset": {"realtime": 1}})
    assert (await api.request("GET", PATH)).json()["realtime"] is False


async def test_a_collection_becomes_live_and_ceases_to_be(api: Api) -> None:
    await declare(api)
    for wanted in (True, False, True):
        answer = await api.request("PATCH", PATH, json={"realtime": wanted})
        assert (answer.status_code, answer.json()["realtime"]) == (200, wanted)
        assert answer.json()["schema"] == (await api.request("GET", PATH)).json()["schema"]
        assert has_images(api) is wanted
    answer = await api.request("PATCH", PATH, json={"schema": {"more": {"type": "string"}}})
    assert (answer.json()["realtime"], "more" in answer.json()["schema"]) == (True, True)
    answer = await api.request("PATCH", PATH, json={"schema": {"more": None}, "realtime": False})
    assert (answer.json()["realtime"], "more" in answer.json()["schema"]) == (False, False)


async def test_what_is_no_boolean_is_refused(api: Api) -> None:
    await declare(api)
    for body in ({"realtime": 1}, {"realtime": "true"}, {"realtime": None}):
        answer = await api.request("PATCH", PATH, json=body)
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["loc"] == ["body", "realtime"]
    assert (await api.request("PATCH", PATH, json={})).json()["detail"][0]["loc"] == ["body", "schema"]


async def test_a_document_of_a_live_collection_is_small_enough_for_an_event(api: Api) -> None:
    await declare(api, realtime=True)
    made = await api.request("POST", DOCUMENTS, json={"data": {"text": MANY, "lines": []}})
    assert made.status_code == 201
    path = f"{DOCUMENTS}/{made.json()['id']}"
    answer = await api.request("PATCH", path, json={"push": {"lines": "y" * 60_000}})
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["detail"]
    assert (error["loc"], error["type"]) == (["body", "data"], "too_large")
    assert (await api.request("PATCH", path, json={"push": {"lines": "y" * 40_000}})).status_code == 200
    answer = await api.request("PATCH", path, json={"data": {"number": 10}})
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", "data", "number"]]
    answer = await api.request("POST", DOCUMENTS, json={"data": {"what": 1, "number": "x"}})
    assert sorted(each["loc"][-1] for each in answer.json()["detail"]) == ["number", "what"]


async def test_a_collection_with_a_larger_document_does_not_become_live(api: Api) -> None:
    await declare(api)
    made = await api.request("POST", DOCUMENTS, json={"data": {"text": MANY, "lines": []}})
    grown = await api.request("PATCH", f"{DOCUMENTS}/{made.json()['id']}", json={"push": {"lines": "y" * 60_000}})
    assert grown.status_code == 200
    found = (await api.request("PATCH", f"{PATH}?dry_run=true", json={"realtime": True})).json()
    assert (found["applies"], found["conflicts"]["total"]) == (False, 1)
    answer = await api.request("PATCH", PATH, json={"realtime": True})
    assert (answer.status_code, answer.json()["code"]) == (409, "schema_conflict")
    (conflict,) = answer.json()["conflicts"]["documents"]
    assert conflict["id"] == made.json()["id"]
    assert conflict["errors"][0]["loc"] == ["data"]
    assert not has_images(api)
    assert (await api.request("GET", PATH)).json()["realtime"] is False
    assert (await api.request("POST", DOCUMENTS, json={"data": {"text": "x"}})).status_code == 201


async def test_a_live_collection_that_is_made_again_is_not_live(api: Api) -> None:
    await declare(api, realtime=True)
    assert (await api.request("DELETE", PATH)).status_code == 204
    await declare(api)
    assert not has_images(api)

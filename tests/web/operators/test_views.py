"""Saved views: private and shared ones, versions, bounds, and names that a page could stumble over."""

import asyncio
from typing import Any

import pytest
from pymongo import MongoClient

from service.bounds import MAX_VIEW_BYTES, MAX_VIEW_DEPTH, MAX_VIEWS
from service.domain.views import measure_depth
from service.schema.values import now
from service.services import Services
from tests.conftest import Api, MakeApi
from tests.web.operators.conftest import Console, Join

Json = dict[str, Any]
GRID = {"kind": "grid", "of": "books", "name": "New", "state": {"sort": "-year"}}


def place(api: Api, view_id: str = "") -> str:
    return f"/admin/v1/projects/{api.project.id}/views{view_id and '/'}{view_id}"


async def save(console: Console, api: Api, **fields: Any) -> Json:
    answer = await console.post(place(api), GRID | fields)
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    return found


async def names(console: Console, api: Api, query: str = "") -> list[str]:
    return [each["name"] for each in (await console.get(place(api) + query)).json()["views"]]


async def test_private_views_are_their_makers_and_shared_ones_everybodys(owner: Console, join: Join, api: Api) -> None:
    viewer = await join("viewer@example.com", **{api.project.id: "viewer"})
    editor = await join("editor@example.com", **{api.project.id: "editor"})
    own = await save(viewer, api, name="b own")
    shared = await save(editor, api, name="a shared", shared=True)
    await save(editor, api, name="c chart", kind="chart", of="by_year")
    assert await names(viewer, api) == ["a shared", "b own"]
    assert await names(editor, api, "?kind=grid&of=books") == ["a shared"]
    assert (await viewer.get(place(api))).json()["views"][0] == shared | {"own": False}
    assert own["own"]

    needs = {"needs": f"{api.project.id}:data:write"}
    for refused in (
        await viewer.post(place(api), GRID | {"shared": True}),
        await viewer.request("PATCH", place(api, own["id"]), json={"shared": True}),
        await viewer.request("PATCH", place(api, shared["id"]), json={"name": "x"}),
        await viewer.delete(place(api, shared["id"])),
    ):
        assert (refused.status_code, refused.json()["needs"]) == (403, needs["needs"])
    for absent in (
        await editor.request("PATCH", place(api, own["id"]), json={"name": "x"}),
        await editor.delete(place(api, own["id"])),
        await editor.delete(place(api, "0" * 24)),
    ):
        assert (absent.status_code, absent.json()["code"]) == (404, "view_not_found")
    assert (await viewer.delete(place(api, own["id"]))).status_code == 204
    private = await editor.request("PATCH", place(api, shared["id"]), json={"shared": False})
    assert private.json()["shared"] is False
    assert await names(viewer, api) == []


async def test_c21_the_second_of_two_changes_gets_412(owner: Console, api: Api) -> None:
    view = await save(owner, api, shared=True)
    first, second = await asyncio.gather(
        *(
            owner.request("PATCH", place(api, view["id"]), json={"name": name}, headers={"if-match": '"v1"'})
            for name in ("one", "two")
        )
    )
    assert sorted((first.status_code, second.status_code)) == [200, 412]
    done, late = (first, second) if first.status_code == 200 else (second, first)
    assert (done.json()["version"], done.headers["etag"], late.headers["etag"]) == (2, '"v2"', '"v2"')
    assert await names(owner, api) == [done.json()["name"]]
    same = await owner.request("PATCH", place(api, view["id"]), json={})
    assert (same.status_code, same.json()["version"]) == (200, 2)


async def test_c8_a_view_of_another_project_is_not_found(owner: Console, api: Api, make_api: MakeApi) -> None:
    view, other = await save(owner, api, shared=True), await make_api()
    absent = await owner.delete(place(other, "0" * 24))
    for answer in (
        await owner.delete(place(other, view["id"])),
        await owner.request("PATCH", place(other, view["id"]), json={"name": "x"}),
    ):
        assert (answer.status_code, answer.content) == (404, absent.content)
    assert await names(owner, other) == []


async def test_c18_hostile_names_are_kept_and_what_is_too_much_is_refused(owner: Console, api: Api) -> None:
    state: Json = {
        "__proto__": {"x": 1},
        "escaped": "\\u0000",
        "constructor": [],
        "$where": "1",
        "a.b": None,
        "": {"<img>": "\u202e"},
    }
    view = await save(owner, api, state=state, name="<script>")
    assert (await owner.get(place(api))).json()["views"][0]["state"] == state
    deep: Any = {}
    for _ in range(MAX_VIEW_DEPTH):
        deep = {"a": [deep]}
    for body, status in (
        ({"state": {"a": "x" * MAX_VIEW_BYTES}}, 413),
        ({"state": deep}, 422),
        ({"state": {"a": "\0"}}, 422),
        ({"state": {"a\0": 1}}, 422),
        ({"state": []}, 422),
        ({"name": ""}, 422),
        ({"name": "x" * 101}, 422),
        ({"of": "\0"}, 422),
        ({"kind": "other"}, 422),
        ({"more": 1}, 422),
    ):
        assert (await owner.post(place(api), GRID | body)).status_code == status, str(body)[:80]
        if "kind" not in body:
            assert (await owner.request("PATCH", place(api, view["id"]), json=body)).status_code == status
    # 200,000 names are too many bytes.
    many = {"state": {f"n{number}": 1 for number in range(80_000)}}
    assert (await owner.post(place(api), GRID | many)).status_code in {413, 422}
    for query in ("?kind=other", "?of=", "?x=1", "?kind=grid&kind=grid"):
        assert (await owner.get(place(api) + query)).status_code == 422


async def test_a_project_has_so_many_views(
    owner: Console, api: Api, mongo: MongoClient[Any], database_prefix: str, services: Services
) -> None:
    views = mongo[f"{database_prefix}system"]["views"]
    others = {"project_id": api.project.id, "kind": "grid", "of": "x", "name": "y", "state": "{}", "shared": False}
    dates = {"owner_id": "another", "version": 1, "created_at": now(), "updated_at": now()}
    views.insert_many([{"_id": f"{number:024}", **others, **dates} for number in range(MAX_VIEWS - 1)])
    answers = await asyncio.gather(*(owner.post(place(api), GRID) for _ in range(4)))
    assert sorted(each.status_code for each in answers) == [201, 409, 409, 409]
    assert {each.json().get("code") for each in answers} == {None, "view_limit"}
    await services.base.store.remove_rest(api.project.id)
    assert not views.count_documents({"project_id": api.project.id})


@pytest.mark.parametrize(("value", "depth"), [(1, 0), ({}, 1), ({"a": [{}]}, 3), ([[], {"a": 1}], 2)])
def test_depth_counts_objects_and_arrays(value: object, depth: int) -> None:
    assert measure_depth(value) == depth

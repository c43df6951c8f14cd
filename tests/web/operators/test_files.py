"""The list of a project's files, and the ways in which a user signs in, as operators see them."""

from typing import Any

import pytest

from faults.commands import Shell
from faults.samples import FORM_TYPE, data_part, file_part, form
from tests.conftest import BASE_URL, Api, MakeApi
from tests.web.operators.conftest import Console, Join

Json = dict[str, Any]
SCHEMA = {"title": {"type": "string"}, "scan": {"type": "file", "protected": True}, "stamp": {"type": "file"}}


@pytest.fixture
async def letters(api: Api) -> list[str]:
    """Three documents with two files each."""
    await api.request("POST", "/api/collections", json={"name": "letters", "schema": SCHEMA})
    ids = []
    for number in range(3):
        body = form(data_part({"title": f"t{number}"}), file_part("scan"), file_part("stamp"))
        made = await api.request("POST", "/api/collections/letters/documents", content=body, headers=FORM_TYPE)
        assert made.status_code == 201, made.text
        ids.append(made.json()["id"])
    return ids


async def files(console: Console, api: Api, query: str = "") -> Json:
    answer = await console.get(f"/admin/v1/projects/{api.project.id}/files{query}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def test_files_are_listed_with_their_owners_and_urls_that_open(
    owner: Console, api: Api, letters: list[str]
) -> None:
    found = (await files(owner, api))["files"]
    assert len(found) == 6
    assert {each["owner"]["id"] for each in found} == set(letters)
    assert {(each["type"], each["owner"]["collection"]) for each in found} == {("image/png", "letters")}
    for each in found:
        assert ("signature=" in each["url"]) == (each["owner"]["field"] == "scan")
        opened = await api.http.get(each["url"].removeprefix(BASE_URL))
        assert (opened.status_code, len(opened.content)) == (200, each["bytes"])
    times = [each["created_at"] for each in found]
    assert times == sorted(times, reverse=True)


async def test_filters_orders_and_pages(owner: Console, api: Api, letters: list[str]) -> None:
    for query, number in (
        (f"?owner={letters[0]}", 2),
        ("?owner=none", 0),
        ("?type=image/png", 6),
        ("?type=image", 6),
        ("?type=application/pdf", 0),
    ):
        assert len((await files(owner, api, query))["files"]) == number, query
    for sort in ("created_at", "-created_at", "bytes", "-bytes", "name", "-name"):
        page = await files(owner, api, f"?sort_by={sort}&limit=4")
        rest = await files(owner, api, f"?sort_by={sort}&limit=4&cursor={page['next']}")
        seen = [each["name"] for each in page["files"] + rest["files"]]
        assert (len(set(seen)), rest["next"]) == (6, None), sort
        if sort.endswith("name"):
            assert seen == sorted(seen, reverse=sort.startswith("-"))
        else:
            other = "name" if "bytes" in sort else "bytes"
            mixed = f"/admin/v1/projects/{api.project.id}/files?sort_by={other}&cursor={page['next']}"
            assert (await owner.get(mixed)).status_code == 422
    for query in ("type=x", "sort_by=x", "limit=0", "cursor=x", "cursor=WzEsMV0", "owner=", "x=1", "cursor=bnVsbA"):
        refused = await owner.get(f"/admin/v1/projects/{api.project.id}/files?{query}")
        assert refused.status_code == 422, query


async def test_c8_a_project_lists_its_own_files_only(
    owner: Console, join: Join, api: Api, letters: list[str], make_api: MakeApi
) -> None:
    other = await make_api()
    assert (await files(owner, other, f"?owner={letters[0]}"))["files"] == []
    viewer = await join("viewer@example.com", **{other.project.id: "viewer"})
    assert (await viewer.get(f"/admin/v1/projects/{api.project.id}/files")).json()["code"] == "project_not_found"


async def test_the_ways_in_which_a_user_signs_in_have_no_secret(owner: Console, api: Api, make_api: MakeApi) -> None:
    user = (await api.signup()).json()["user"]
    path = f"/admin/v1/projects/{api.project.id}/users/{user['id']}/sign-in"
    answer = await owner.get(path)
    assert (answer.status_code, answer.json()) == (
        200,
        {"password": True, "factors": [], "recovery_codes_left": 0, "identities": [], "mails": []},
    )
    api.database["users"].update_one(
        {"_id": user["id"]},
        {
            "$set": {
                "totp": {"id": "1" * 24, "name": "Phone", "sealed": "hidden", "step": 1, "created_at": None},
                "recovery": ["hidden"],
                "password": "",
            }
        },
    )
    found = await owner.get(path)
    assert "hidden" not in found.text
    assert (found.json()["password"], found.json()["recovery_codes_left"]) == (False, 1)
    assert [each["name"] for each in found.json()["factors"]] == ["Phone"]
    other = await make_api()
    absent = await owner.get(path.replace(api.project.id, other.project.id))
    assert (absent.status_code, absent.json()["code"]) == (404, "user_not_found")


def test_the_command_lists_files(shell: Shell) -> None:
    shell.json("project", "create", "P", "--id", "p")
    assert shell.json("files", "list", "p") == {"files": [], "next": None}
    assert shell.run("files", "list", "p", "--type", "x").returncode == 1

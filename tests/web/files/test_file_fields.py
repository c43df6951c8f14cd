"""File fields: records keep names, answers make URLs; what names a file keeps it. Rows N2, N31 and N41."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from faults.samples import FORM_TYPE, PNG, account, data_part, file_part, form, stored
from service.app import create_app
from service.settings import Settings
from tests.conftest import BASE_URL, Api, CommandRecorder
from tests.declared import declare

SIGNUP, USER = "/auth-collections/signup", "/auth-collections/user"
MOVED = "https://moved.example.com"


async def signed_up(api: Api, *parts: bytes, email: str = "ann@example.com", **data: Any) -> tuple[str, dict[str, Any]]:
    """A token and the user."""
    body = form(account(email, **data), *parts)
    answer = await api.request("POST", SIGNUP, content=body, headers=FORM_TYPE)
    assert answer.status_code == 201, answer.text
    return answer.json()["access_token"], answer.json()["user"]


async def changed(api: Api, token: str, **data: Any) -> dict[str, Any]:
    """The `data` of a user after an update."""
    answer = await api.as_user(token, "PUT", USER, json=data)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


async def status(api: Api, url: str) -> int:
    return (await api.http.get(url.removeprefix(BASE_URL).removeprefix(MOVED))).status_code


@pytest.fixture
async def moved(api: Api, settings: Settings) -> AsyncIterator[Api]:
    """The same project, served from another address of its files."""
    app = create_app(settings.model_copy(update={"storage_url": MOVED}))
    transport = httpx2.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url=BASE_URL) as http:
        yield Api(api.project, api.key, http, api.database)


PLACES: dict[str, Any] = {
    "in an array": lambda url: [url],
    "in an object": lambda url: {"images": {"large": url}},
    "deep": lambda url: [[{"x": [{"y": url}]}]],
    "in a text": lambda url: f"![me]({url}) and more",
    "as it is": lambda url: url,
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
async def test_n31_a_file_that_is_named_elsewhere_stays(api: Api, place: Any) -> None:
    token, user = await signed_up(api, file_part("avatar"))
    url = user["data"]["avatar"]
    await changed(api, token, gallery=place(url))
    assert await changed(api, token, avatar=None) == {"avatar": None, "gallery": place(url)}
    assert await status(api, url) == 200


async def test_n31_a_file_that_the_same_update_names_elsewhere_stays(api: Api) -> None:
    token, user = await signed_up(api, file_part("avatar"))
    await changed(api, token, avatar=None, gallery=[user["data"]["avatar"]])
    assert await status(api, user["data"]["avatar"]) == 200


async def test_n31_a_file_goes_when_the_update_takes_its_last_name(api: Api) -> None:
    token, user = await signed_up(api, file_part("avatar"))
    await changed(api, token, gallery=[user["data"]["avatar"]])
    await changed(api, token, avatar=None, gallery=[])
    assert await status(api, user["data"]["avatar"]) == 404
    assert stored(api.database) == {"users": 1}


async def test_n31_another_users_record_does_not_keep_a_file(api: Api) -> None:
    token, ann = await signed_up(api, file_part("avatar"))
    await signed_up(api, email="bob@example.com", friends=[ann["data"]["avatar"]])
    await changed(api, token, avatar=None)
    assert await status(api, ann["data"]["avatar"]) == 404


async def test_n41_records_keep_names(api: Api) -> None:
    _, user = await signed_up(api, file_part("avatar"), name="Ann")
    (record,) = api.database["users"].find()
    name = user["data"]["avatar"].removeprefix(f"{BASE_URL}/files/")
    assert record["files"] == {"avatar": name}
    assert record["data"] == {"name": "Ann", "avatar": name}


async def test_n41_every_answer_makes_urls_of_the_address_in_force(api: Api, moved: Api) -> None:
    token, ann = await signed_up(api, file_part("avatar"))
    await signed_up(api, email="bob@example.com", friend_id=ann["id"])
    await declare(api, {"user_id": {"type": "reference", "collection": "users"}})
    await api.request("POST", "/api/collections/things/documents", json={"data": {"user_id": ann["id"]}})
    url = ann["data"]["avatar"].replace(BASE_URL, MOVED)
    login = (await moved.login()).json()
    assert login["user"]["data"] == {"avatar": url}
    assert (await moved.as_user(token, "GET", USER)).json()["data"] == {"avatar": url}
    assert (await changed(moved, token, name="Ann"))["avatar"] == url
    first, second = (await moved.users("populate=friend")).json()["users"]
    assert first["data"]["avatar"] == url
    assert second["data"]["friend"] == {"id": ann["id"], "email": ann["email"], "data": {"avatar": url, "name": "Ann"}}
    every = (await moved.users("populate=*&email_eq=bob@example.com")).json()["users"]
    assert every[0]["data"]["friend"]["data"]["avatar"] == url
    documents = await moved.request("GET", "/api/collections/things/documents?populate=user")
    assert documents.json()["documents"][0]["data"]["user"]["data"]["avatar"] == url
    assert await status(moved, url) == 200


@pytest.mark.parametrize("old", [True, False], ids=["under the old address", "under the new one"])
async def test_n41_what_was_read_may_be_sent_back(api: Api, moved: Api, old: bool) -> None:
    token, user = await signed_up(api, file_part("avatar"), name="Ann")
    read = user if old else (await moved.as_user(token, "GET", USER)).json()
    answer = await changed(moved, token, **read["data"])
    assert answer == {"avatar": user["data"]["avatar"].replace(BASE_URL, MOVED), "name": "Ann"}
    assert await status(moved, answer["avatar"]) == 200
    await changed(moved, token, avatar=None)
    assert stored(api.database) == {"users": 1}


async def test_f10_a_url_of_somebody_elses_file_follows_the_address_but_not_the_file(api: Api, moved: Api) -> None:
    _, bob = await signed_up(api, file_part("a"), email="bob@example.com")
    token, ann = await signed_up(api, a=bob["data"]["a"])
    assert ann["data"] == bob["data"]
    assert (await moved.as_user(token, "GET", USER)).json()["data"]["a"].startswith(MOVED)
    await changed(moved, token, a=None)
    assert await status(api, bob["data"]["a"]) == 200


@pytest.mark.parametrize(
    "text",
    [
        "https://elsewhere.example.com/files/p-00000000000000000000000000000000.png",
        f"{BASE_URL}/files/p-00000000000000000000000000000000.png?x=1",
        f"{BASE_URL}/files/../p-00000000000000000000000000000000.png",
        f"{BASE_URL}/files/",
        "p-00000000000000000000000000000000.png",
    ],
)
async def test_n41_other_texts_stay_as_they_were_written(api: Api, moved: Api, text: str) -> None:
    token, user = await signed_up(api, a=text)
    assert user["data"] == {"a": text}
    assert (await moved.as_user(token, "GET", USER)).json()["data"] == {"a": text}


async def test_filters_find_a_file_by_its_url_and_by_its_parts(api: Api) -> None:
    _, ann = await signed_up(api, file_part("picture"), name="Ann")
    await signed_up(api, email="bob@example.com", name="Bob", picture=None, gallery=[ann["data"]["picture"]])
    url = ann["data"]["picture"]
    name = url.rpartition("/")[2]

    async def emails(query: str) -> list[str]:
        return [user["email"][:3] for user in (await api.users(query)).json()["users"]]

    assert await emails(f"picture_eq={url}") == ["ann"]
    assert await emails(f"picture_ne={url}") == ["bob"]
    assert await emails(f"picture_in={url},x") == ["ann"]
    assert await emails("picture_isnull=false") == ["ann"]
    assert await emails("picture_isnull=true") == ["bob"]
    for part in (url, name, name[:9], ".png", "/files/", f"iles/{name[:7]}", "http", f"test/files/{name}"):
        assert await emails(f"picture_contains={part}") == ["ann"], part
        assert await emails(f"picture_icontains={part.upper()}") == ["ann"], part
    for part in ("/filez/", f"files{name}", f"/files/x{name}", "FILES"):
        assert await emails(f"picture_contains={part}") == [], part
    assert await emails(f"gallery_eq={url}") == ["bob"]
    assert await emails("gallery_contains=/files/") == ["bob"]


class TestFromBefore:
    """A record from before `files`, with whole URLs in `data`."""

    @pytest.fixture
    async def token(self, api: Api) -> str:
        token, user = await signed_up(api, file_part("a"), file_part("b"), name="Ann")
        old = {name: value.replace(BASE_URL, "https://old.example.com") for name, value in user["data"].items()}
        api.database["users"].update_one({}, {"$set": {"data": old}, "$unset": {"files": 1}})
        return token

    async def test_it_is_read(self, api: Api, token: str) -> None:
        data = (await api.as_user(token, "GET", USER)).json()["data"]
        assert data["a"].startswith("https://old.example.com/files/")
        assert (await api.users("a_contains=old.example")).json()["total"] == 1

    @pytest.mark.parametrize("value", [None, "text", ["x"]], ids=str)
    async def test_its_file_is_removed_when_it_is_replaced(self, api: Api, token: str, value: Any) -> None:
        data = await changed(api, token, a=value)
        assert data["b"].startswith(f"{BASE_URL}/files/")
        assert stored(api.database) == {"users": 1, "files.files": 1, "files.chunks": 1}

    async def test_any_change_makes_it_a_record_with_names(self, api: Api, token: str) -> None:
        data = await changed(api, token, name="Anna")
        (record,) = api.database["users"].find()
        assert record["files"].keys() == {"a", "b"}
        assert data["a"] == f"{BASE_URL}/files/{record['files']['a']}"
        assert await status(api, data["a"]) == 200
        await changed(api, token, a=None, b=None)
        assert stored(api.database) == {"users": 1}

    async def test_the_file_of_somebody_else_is_text(self, api: Api, token: str) -> None:
        _, bob = await signed_up(api, file_part("a"), email="bob@example.com")
        url = bob["data"]["a"].replace(BASE_URL, "https://old.example.com")
        api.database["users"].update_one({"data.name": "Ann"}, {"$set": {"data.a": url}})
        assert (await changed(api, token, name="Anna"))["a"] == url
        await changed(api, token, a=None)
        assert await status(api, bob["data"]["a"]) == 200


async def test_n2_an_update_beside_files_is_one_command_with_one_condition(api: Api, commands: CommandRecorder) -> None:
    token, _ = await signed_up(api, file_part("avatar"))
    await changed(api, token, warm=1)
    commands.commands.clear()
    await changed(api, token, **{f"f{number}": number for number in range(999)})
    ((name, command),) = commands.commands
    assert name == "findAndModify"
    assert command["query"].keys() == {"_id", "token_version", "ended.sid", "$expr"}


async def test_of_a_file_and_a_gallery_at_once_what_is_named_is_there(api: Api) -> None:
    """One of two concurrent updates takes a file's field, and the other names the file elsewhere."""
    for _ in range(5):
        token, user = await signed_up(api, file_part("avatar"))
        url = user["data"]["avatar"]
        await asyncio.gather(changed(api, token, gallery=[url]), changed(api, token, avatar=None))
        data = (await api.as_user(token, "GET", USER)).json()["data"]
        assert data == {"avatar": None, "gallery": [url]}
        api.database["users"].delete_many({})


async def test_a_field_that_another_program_wrote_is_shown_as_it_wrote_it(api: Api) -> None:
    token, _ = await signed_up(api, file_part("avatar"))
    api.database["users"].update_one({}, {"$set": {"data.avatar": "theirs"}})
    assert (await api.as_user(token, "GET", USER)).json()["data"] == {"avatar": "theirs"}
    assert await changed(api, token, avatar="mine") == {"avatar": "mine"}
    assert stored(api.database) == {"users": 1}


async def test_a_form_may_replace_a_file_and_send_back_another(api: Api) -> None:
    token, user = await signed_up(api, file_part("a"), file_part("b"))
    body = form(data_part({"b": user["data"]["b"]}), file_part("a"))
    answer = await api.as_user(token, "PUT", USER, content=body, headers=FORM_TYPE)
    data = answer.json()["data"]
    assert data["b"] == user["data"]["b"]
    assert (await api.http.get(data["a"].removeprefix(BASE_URL))).content == PNG
    assert stored(api.database) == {"users": 1, "files.files": 2, "files.chunks": 2}

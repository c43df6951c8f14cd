"""Users from before there were `files` and `identities`."""

from typing import Any

import pytest
from pymongo import IndexModel

from faults.samples import file_part, stored
from service.storage import migrations
from service.storage.migrations import allow_shared_subjects, name_files
from tests.conftest import BASE_URL, Api
from tests.web.files.test_file_fields import changed, signed_up

OLD = "https://old.example.com"


def make_old(api: Api, *names: str) -> None:
    """Puts whole URLs into the fields `names` of all users, as they were before."""
    users = api.database["users"]
    for user in users.find():
        urls = {f"data.{name}": f"{OLD}/files/{user['data'][name]}" for name in names if name in user["files"]}
        users.update_one({"_id": user["_id"]}, {"$unset": {"files": 1}, **({"$set": urls} if urls else {})})


def records(api: Api) -> list[dict[str, Any]]:
    return list(api.database["users"].find({}, {"last_sign_in_at": 0}).sort("_id", 1))


@pytest.mark.parametrize("batch", [1, 2, 500])
async def test_users_get_the_names_of_their_files(api: Api, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(migrations, "BATCH", batch)
    token, ann = await signed_up(api, file_part("a"), file_part("b"), name="Ann")
    await signed_up(api, email="bob@example.com", a="text", friend=ann["data"]["a"])
    await signed_up(api, file_part("a"), email="eve@example.com")
    before = records(api)
    make_old(api, "a", "b", "friend")
    await name_files(api.project.database)
    after = records(api)
    for old, new in zip(before, after, strict=True):
        if old["email"] != "bob@example.com":
            assert new == old
    # The URL of another user's file is a plain text.
    bob = next(user for user in after if user["email"] == "bob@example.com")
    assert bob["files"] == {}
    assert bob["data"]["friend"].startswith(OLD)
    assert (await api.as_user(token, "GET", "/auth-collections/user")).json()["data"] == ann["data"]
    await changed(api, token, a=None, b=None)
    assert stored(api.database) == {"users": 3, "files.files": 1, "files.chunks": 1}


async def test_a_second_run_changes_nothing(api: Api) -> None:
    await signed_up(api, file_part("a"))
    make_old(api, "a")
    await name_files(api.project.database)
    before = records(api)
    await name_files(api.project.database)
    assert records(api) == before
    assert before[0]["data"]["a"] == before[0]["files"]["a"]


async def test_a_user_who_was_changed_meanwhile_stays(api: Api) -> None:
    token, _ = await signed_up(api, file_part("a"))
    make_old(api, "a")
    await changed(api, token, a="text")
    await name_files(api.project.database)
    assert (await api.as_user(token, "GET", "/auth-collections/user")).json()["data"] == {"a": "text"}
    assert stored(api.database) == {"users": 1}


async def test_two_providers_may_use_one_subject(api: Api) -> None:
    users = api.database["users"]
    filter_ = {"oauth_id": {"$exists": True}}
    users.create_indexes([IndexModel([("oauth_id", 1)], name="oauth_id", unique=True, partialFilterExpression=filter_)])
    await api.project.database.ensure_indexes()
    for _ in range(2):
        await allow_shared_subjects(api.project.database)
    for number in range(2):
        identity = {"issuer": f"https://{number}.example.com", "subject": "s"}
        users.insert_one({"email": f"{number}@example.com", "oauth_id": "s", "identities": [identity]})
    assert "oauth_id" not in users.index_information()


async def test_a_user_from_before_is_shown_with_urls_after_the_migration(api: Api) -> None:
    token, user = await signed_up(api, file_part("a"))
    make_old(api, "a")
    await name_files(api.project.database)
    data = (await api.as_user(token, "GET", "/auth-collections/user")).json()["data"]
    assert data == user["data"]
    assert data["a"].startswith(f"{BASE_URL}/files/")

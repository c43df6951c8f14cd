"""`verify --deep`: records are judged by their definitions, references and files."""

from typing import Any

import pytest

from service.domain.portable.deep_check import RecordFindings, check_records
from service.services import Services
from tests.conftest import Api
from tests.declared import declare
from tests.domain.portable.site import opened, portable_of, take, use_fully

Row = dict[str, Any]


async def judge(api: Api, services: Services, *without: str) -> RecordFindings:
    content, _ = await take(portable_of(services), api.project.id, *without)
    with opened(content) as backup:
        return check_records(backup)


@pytest.mark.parametrize("without", [(), ("files",)])
async def test_a_project_in_full_use_has_no_findings(api: Api, services: Services, without: tuple[str, ...]) -> None:
    await use_fully(api)
    assert (await judge(api, services, *without)) == RecordFindings()


async def test_each_kind_of_damage_is_found_and_named(api: Api, services: Services) -> None:
    await use_fully(api)
    book = {"type": "reference", "collection": "books"}
    books = {"type": "array", "items": book}
    await declare(api, {"writer": {"type": "string"}, "book_id": book, "book_ids": books}, "notes")
    database = api.database
    user, book = (database[name].find_one({"data": {"$exists": True}}) or {} for name in ("users", "c_books"))
    named = [each["data"]["cover"] for each in database["c_books"].find({"data.cover": {"$exists": True}})]
    for name in ("users", "c_books", "c_notes"):
        database.command("collMod", name, validator={})
    database["users"].update_one({"_id": user["_id"]}, {"$set": {"data.plan": 7}})
    lost = f"{api.project.id}-{'0' * 32}.png"
    database["c_books"].insert_one({**book, "_id": "b-lost", "data": {"title": "Lost", "cover": lost}})
    note = {"created_at": book["created_at"], "updated_at": book["updated_at"]}
    database["c_notes"].insert_many(
        [
            {"_id": "n1", "data": {"book_id": book["_id"]}, **note},
            {"_id": "n2", "data": {"book_ids": [book["_id"], "gone"]}, **note},
            {"_id": "n3", "data": {"writer": "x", "other": 1}, **note},
        ]
    )
    database["files.chunks"].delete_many({"files_id": named[0]})
    # The first chunk of the user's photo is missing, and its bytes are all there.
    database["files.chunks"].update_one({}, {"$set": {"n": 1}})
    found = await judge(api, services)
    assert found.counts == {"broken": 2, "dangling": 1, "missing_files": 1, "incomplete_files": 2}
    assert found.is_damaged
    text = "\n".join(found.sentences)
    for part in (
        "c_notes n3 breaks its definition at data.other",
        f"users {user['_id']} breaks its definition at data.plan",
        "c_notes n2 refers to c_books gone, which is not in the backup",
        f"c_books b-lost names the file {lost}, which is not in the backup",
        f"the file {named[0]} lacks chunks",
    ):
        assert part in text


def test_a_dangling_reference_is_no_damage_and_only_the_first_hundred_are_named() -> None:
    findings = RecordFindings()
    for number in range(150):
        findings.add("dangling", str(number))
    assert (findings.is_damaged, findings.counts["dangling"], len(findings.sentences)) == (False, 150, 100)

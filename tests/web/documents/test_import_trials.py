"""An import that is tried first, files of spreadsheets, and errors by their kind."""

from typing import Any

import httpx2
import pytest

from faults.samples import FORM_TYPE, data_part, file_part, form
from tests.conftest import Api, CommandRecorder
from tests.declared import add, added, declare, violations

SCHEMA: dict[str, Any] = {
    "sku": {"type": "string", "unique": True, "required": True, "pattern": "^[a-z0-9]+$"},
    "code": {"type": "integer", "unique": True},
    "n": {"type": "integer", "max": 100},
    "made": {"type": "datetime", "required": True, "default": "2026-01-01"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "part_of_id": {"type": "reference", "collection": "things"},
    "scan": {"type": "file"},
}
IMPORT = "/api/collections/things/import"
NDJSON, CSV = "application/x-ndjson", "text/csv"
FILE = f"http://service.test/files/x-{'0' * 32}.png"
MIXED = "\n".join(
    [
        "sku,code,n,made,tags,part_of_id,scan",
        "a1,1,1,2026-01-31,,,",
        "a2,1,2,,,,",
        "taken,3,2,,,,",
        "a3,9,2,,,,",
        "A4,4,2,,,,",
        "a5,5,many,,,,",
        "a6,6,101,soon,,,",
        'a7,7,7,,"[""x"", 2, 3]",,',
        'a8,8,7,,"[1]",,',
        f"a10,10,1,,,{'0' * 24},",
        f"a11,11,1,,,,{FILE}",
        "a12,12,1",
        ",13,1,,,,",
        "a1,14,3,,,,",
        "a15,15,3,,,,",
    ]
)


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, SCHEMA)
    await added(api, {"sku": "taken", "code": 9})
    return api


async def send(api: Api, body: str, query: str = "", type_: str = CSV) -> httpx2.Response:
    return await api.request("POST", f"{IMPORT}{query}", content=body.encode(), headers={"content-type": type_})


@pytest.mark.parametrize("query", ["", "mode=upsert&by=sku", "mode=upsert&by=code"])
async def test_a_dry_run_says_what_the_import_would_do(things: Api, query: str, commands: CommandRecorder) -> None:
    # In an upsert the row before frees this value, which a dry run does not see.
    body = MIXED.replace("a3,9,2,,,,\n", "") if query else MIXED
    before = list(things.database["c_things"].find())
    commands.commands.clear()
    tried = await send(things, body, f"?{query}&dry_run=true")
    assert not {"insert", "update", "findAndModify", "bulkWrite"}.intersection(commands.names)
    assert list(things.database["c_things"].find()) == before
    done = await send(things, body, f"?{query}")
    assert (tried.status_code, tried.json()) == (200, done.json())
    assert tried.json()["created"] > 0
    assert tried.json()["refused"] > 5
    assert things.database["c_things"].count_documents({}) == 1 + done.json()["created"]


async def test_a_dry_run_keeps_the_files_of_documents_that_are_there(things: Api) -> None:
    body = form(data_part({"sku": "pic"}), file_part("scan"))
    made = await things.request("POST", "/api/collections/things/documents", content=body, headers=FORM_TYPE)
    line = f"sku,scan\npic,{made.json()['data']['scan']}\n"
    tried = await send(things, line, "?mode=upsert&by=sku&dry_run=true")
    assert (tried.json()["updated"], tried.json()["refused"]) == (1, 0)
    assert (await send(things, line, "?mode=upsert&by=sku")).json() == tried.json()


async def test_errors_are_counted_by_their_kind(things: Api) -> None:
    rows = [f"k{number},{'many' if number % 3 else number}" for number in range(1_200)]
    answer = (await send(things, "sku,n\n" + "\n".join(rows), "?dry_run=true")).json()
    assert (answer["created"], answer["refused"], len(answer["errors"])) == (34, 1_166, 100)
    number = {"loc": ["body", "data", "n"], "msg": "Must be a whole number", "type": "int_type"}
    most = {"loc": ["body", "data", "n"], "msg": "Must be at most 100", "type": "less_than_equal"}
    assert answer["groups"] == [
        {"count": 800, "line": 3, "error": number},
        {"count": 366, "line": 104, "error": most},
    ]


async def test_the_kinds_of_errors_are_bounded(things: Api) -> None:
    rows = [f'{{"data": {{"sku": "k{number}", "x{number}": 1}}}}' for number in range(150)]
    answer = (await send(things, "\n".join(rows), type_=NDJSON)).json()
    assert (answer["refused"], len(answer["groups"]), len(answer["errors"])) == (150, 100, 100)


async def test_an_answer_lists_a_hundred_errors_and_one_of_each_further_row_behind_the_groups(things: Api) -> None:
    rows = "\n".join(f"k{number},many,many" for number in range(300))
    answer = (await send(things, f"sku,code,n\n{rows}", "?dry_run=true")).json()
    assert list(answer) == ["created", "updated", "refused", "groups", "errors"]
    assert [group["count"] for group in answer["groups"]] == [300, 300]
    assert [len(row["errors"]) for row in answer["errors"]] == [2] * 50 + [1] * 50


@pytest.mark.parametrize(("sent", "mark"), [("%2C", ","), ("%3B", ";"), (";", ";"), ("%09", "\t"), ("tab", "\t")])
async def test_a_file_of_a_spreadsheet_names_its_delimiter(things: Api, sent: str, mark: str) -> None:
    body = f'sku{mark}tags\na{mark}"[""x,y;z"",\n""w""]"\n'
    answer = await send(things, body, f"?delimiter={sent}")
    assert (answer.json()["created"], answer.json()["refused"]) == (1, 0)
    stored = things.database["c_things"].find_one({"data.sku": "a"})
    assert stored is not None
    assert stored["data"]["tags"] == ["x,y;z", "w"]


async def test_options_that_no_import_takes_are_refused(things: Api) -> None:
    for query, expected in (
        ("?delimiter=|", ("query", "delimiter", "enum")),
        ("?delimiter=", ("query", "delimiter", "enum")),
        ("?dry_run=yes", ("query", "dry_run", "bool_parsing")),
    ):
        assert violations(await send(things, "sku\na\n", query)) == [expected]
    answer = await send(things, '{"data": {"sku": "a"}}', "?delimiter=%3B", NDJSON)
    assert violations(answer) == [("query", "delimiter", "extra_forbidden")]
    assert (await add(things, {"sku": "a"})).status_code == 201

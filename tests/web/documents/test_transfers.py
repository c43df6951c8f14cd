"""Import and export: what goes out comes in again, and a bad line stops no other."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from service.domain.access.caller import SecretKeyCaller
from service.domain.documents import import_rows
from service.domain.documents.exports import open_export
from service.query.nodes import Count, ListQuery, SortKey
from service.services import Services
from tests.conftest import Api
from tests.declared import add, added, declare, find, violations
from tests.web.rules.conftest import guest_of, save, sign_up

SCHEMA = {
    "sku": {"type": "string", "unique": True, "required": True},
    "n": {"type": "integer"},
    "price": {"type": "number", "nullable": True},
    "made": {"type": "datetime"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "place": {"type": "object", "properties": {"city": {"type": "string"}}},
    "on": {"type": "boolean", "default": True},
    "part_of_id": {"type": "reference", "collection": "things"},
}
COLLECTION = "/api/collections/things"
EVERYTHING = ListQuery(sort=(SortKey(("id",)),), count=Count.NONE)
NDJSON, CSV = "application/x-ndjson", "text/csv"


@pytest.fixture
async def things(api: Api) -> Api:
    await declare(api, SCHEMA)
    return api


async def send(
    api: Api, body: str | bytes | AsyncIterator[bytes], query: str = "", type_: str = NDJSON
) -> httpx2.Response:
    content = body.encode() if isinstance(body, str) else body
    return await api.request("POST", f"{COLLECTION}/import{query}", content=content, headers={"content-type": type_})


async def export(api: Api, query: str = "") -> httpx2.Response:
    return await api.request("GET", f"{COLLECTION}/export{query}")


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps({"data": row}) + "\n" for row in rows)


def refused(answer: httpx2.Response) -> list[tuple[Any, ...]]:
    """Each violation as (line, *loc, type)."""
    assert answer.status_code == 200, answer.text
    return [(each["line"], *e["loc"], e["type"]) for each in answer.json()["errors"] for e in each["errors"]]


async def test_an_export_is_the_documents_one_a_line(things: Api) -> None:
    for number in range(3):
        await add(things, {"sku": f"a{number}", "n": number, "made": "2026-01-31T12:00:00Z"})
    answer = await export(things)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == NDJSON
    assert "things.ndjson" in answer.headers["content-disposition"]
    listed = (await find(things, "sort_by=id")).json()["documents"]
    assert [json.loads(line) for line in answer.text.splitlines()] == listed


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?n_gte=1", ["a1", "a2"]),
        ('?where={"or":[{"n_eq":0},{"sku_eq":"a2"}]}', ["a0", "a2"]),
        ("?part_of.sku_eq=a0", ["a1"]),
        ("?n_gt=9", []),
    ],
)
async def test_an_export_takes_filters(things: Api, query: str, expected: list[str]) -> None:
    first = await added(things, {"sku": "a0", "n": 0})
    await add(things, {"sku": "a1", "n": 1, "part_of_id": first})
    await add(things, {"sku": "a2", "n": 2})
    answer = await export(things, query)
    assert [json.loads(line)["data"]["sku"] for line in answer.text.splitlines()] == expected


async def test_an_export_by_a_relation_that_many_satisfy(things: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.query.commands.PROBE_LIMIT", 1)
    ids = [await added(things, {"sku": f"a{number}", "n": 1}) for number in range(3)]
    for number, id_ in enumerate(ids):
        await add(things, {"sku": f"b{number}", "part_of_id": id_})
    answer = await export(things, "?part_of.n_eq=1")
    assert [json.loads(line)["data"]["sku"] for line in answer.text.splitlines()] == ["b0", "b1", "b2"]


async def test_an_export_is_of_one_moment(things: Api, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write during the export is not in it, and removes nothing from it."""
    monkeypatch.setattr("service.storage.snapshots.BATCH", 10)
    await send(things, lines(*({"sku": f"a{number:03}", "n": 0} for number in range(40))))
    opened = await open_export(services.documents, SecretKeyCaller(things.project), "things", EVERYTHING)
    seen = [(await anext(opened.documents)).data["sku"]]
    things.database["c_things"].update_many({}, {"$set": {"data.n": 1}})
    things.database["c_things"].delete_many({"data.sku": {"$gte": "a030"}})
    rest = [document async for document in opened.documents]
    await opened.close()
    assert [*seen, *(each.data["sku"] for each in rest)] == [f"a{number:03}" for number in range(40)]
    assert {each.data["n"] for each in rest} == {0}


async def test_csv_goes_out_and_comes_in_again(things: Api) -> None:
    rows: list[dict[str, Any]] = [
        {"sku": 'a "quoted", one\r\nof two lines', "n": 3, "price": 1.5, "tags": ["x,y", "é"], "on": False},
        {"sku": "plain", "made": "2026-01-31T12:00:00.000Z", "place": {"city": "Bonn"}, "on": True},
        {"sku": " spaces ", "n": -1, "price": 2, "on": True},
    ]
    assert (await send(things, lines(*rows))).json()["created"] == 3
    answer = await export(things, "?format=csv")
    assert answer.headers["content-type"].startswith(CSV)
    assert answer.text.splitlines()[0] == ",".join(SCHEMA)
    things.database["c_things"].delete_many({})
    again = await send(things, answer.content, type_=CSV)
    assert again.json() == {"created": 3, "updated": 0, "refused": 0, "errors": [], "groups": []}
    assert [each["data"] for each in (await find(things, "sort_by=id")).json()["documents"]] == rows


async def test_an_export_can_be_imported(things: Api) -> None:
    await send(things, lines({"sku": "a", "n": 1}, {"sku": "b"}))
    out = (await export(things)).text
    things.database["c_things"].delete_many({})
    assert (await send(things, out)).json()["created"] == 2
    again = (await export(things)).text
    without = [[json.loads(line)["data"] for line in text.splitlines()] for text in (out, again)]
    assert without[0] == without[1]
    assert json.loads(out.splitlines()[0])["id"] not in again


async def test_each_bad_line_is_named_and_stops_no_other(things: Api) -> None:
    await add(things, {"sku": "taken"})
    body = "\n".join(
        [
            '{"data": {"sku": "a"}}',
            "",
            '{"data": {"sku": "b", "n": "one"}}',
            "{broken",
            "[]",
            '{"data": 1}',
            '{"id": "x"}',
            '{"data": {}, "more": 1}',
            '{"data": {"sku": "taken"}}',
            '{"data": {"sku": "c", "part_of_id": "' + "0" * 24 + '"}}',
            '{"data": {"sku": "d", "x.y": 1}}',
            '{"id": "x", "data": {"sku": "e"}, "version": 3, "created_at": 1, "updated_at": 1}\r',
            '{"data": {"sku": "f"}}',
        ]
    )
    answer = await send(things, body)
    assert refused(answer) == [
        (3, "body", "data", "n", "int_type"),
        (4, "body", "json_invalid"),
        (5, "body", "dict_type"),
        (6, "body", "data", "dict_type"),
        (7, "body", "data", "missing"),
        (8, "body", "more", "extra_forbidden"),
        (9, "body", "data", "sku", "duplicate_value"),
        (10, "body", "data", "part_of_id", "reference_not_found"),
        (11, "body", "data", "x.y", "field_name"),
    ]
    assert (answer.json()["created"], answer.json()["refused"]) == (3, 9)


async def test_bad_records_of_csv(things: Api) -> None:
    body = 'sku,n,tags\r\n"a\nb",1,"[""x""]"\r\nc\r\n\r\nd,one,[\r\n"e"f,1,\r\ng,1,\r\n"never closed,1\r\n'
    answer = await send(things, body, type_=CSV)
    assert refused(answer) == [
        (4, "body", "csv_ragged"),
        (6, "body", "data", "n", "int_type"),
        (6, "body", "data", "tags", "list_type"),
        (7, "body", "csv_invalid"),
        (9, "body", "csv_invalid"),
    ]
    assert {each["data"]["sku"] for each in things.database["c_things"].find()} == {"a\nb", "g"}


@pytest.mark.parametrize("type_", [NDJSON, CSV])
async def test_a_line_that_is_too_long_is_refused_alone(
    things: Api, type_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.schema.lines.MAX_ROW_BYTES", 100)
    rows = ["a", "x" * 200, "b"]
    body = "sku\n" + "\n".join(rows) if type_ == CSV else lines(*({"sku": row} for row in rows))
    answer = await send(things, body, type_=type_)
    assert [each["line"] for each in answer.json()["errors"]] == [3 if type_ == CSV else 2]
    assert answer.json()["created"] == 2


async def test_a_csv_header_of_another_delimiter_is_refused_with_that(things: Api) -> None:
    for header, proposed in (
        ("sku;n", "; send delimiter=%3B for this header"),
        ("sku\tn", "; send delimiter=%09 for this header"),
        *((header, "") for header in ("sku;x", "sku|n", "skun", "sku;n,sku")),
    ):
        answer = await send(things, f"{header}\na;1\n", type_=CSV)
        assert answer.json()["detail"][0]["msg"] == f"The collection has no such field{proposed}", header


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("sku,x\na,b\n", [("body", "x", "unknown_column")]),
        ("sku,n,sku\na,1,b\n", [("body", "sku", "repeated")]),
        ("", [("body", "missing")]),
        ("\n", [("body", "missing")]),
        ('"sku\n', [("body", "csv_invalid")]),
    ],
)
async def test_a_csv_header_names_fields(things: Api, body: str, expected: list[tuple[Any, ...]]) -> None:
    answer = await send(things, body, type_=CSV)
    assert violations(answer) == expected
    assert answer.headers["connection"] == "close"


async def test_an_upsert_replaces_what_is_there_and_creates_the_rest(things: Api) -> None:
    id_ = await added(things, {"sku": "a", "n": 1, "price": 2.5})
    rows: list[dict[str, Any]] = [
        {"sku": "a", "n": 2},
        {"sku": "b"},
        {"sku": "b", "n": 7},
        {"n": 1},
        {"sku": {"$gt": ""}},
        {"sku": "c", "n": "x"},
    ]
    answer = await send(things, lines(*rows), "?mode=upsert&by=sku")
    assert refused(answer) == [
        (4, "body", "data", "sku", "missing"),
        (5, "body", "data", "sku", "value_error"),
        (6, "body", "data", "n", "int_type"),
    ]
    counts = {name: answer.json()[name] for name in ("created", "updated", "refused")}
    assert counts == {"created": 1, "updated": 2, "refused": 3}
    stored = (await find(things, "sort_by=sku")).json()["documents"]
    assert [each["data"] for each in stored] == [{"sku": "a", "n": 2, "on": True}, {"sku": "b", "n": 7, "on": True}]
    assert (stored[0]["id"], stored[0]["version"]) == (id_, 2)


async def test_upserts_at_once_make_one_document_of_each_value(things: Api) -> None:
    body = lines(*({"sku": f"a{number}"} for number in range(30)))
    answers = await asyncio.gather(*(send(things, body, "?mode=upsert&by=sku") for _ in range(2)))
    assert [answer.json()["refused"] for answer in answers] == [0, 0]
    assert sum(answer.json()["created"] for answer in answers) == 30
    assert things.database["c_things"].count_documents({}) == 30


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?mode=replace", ("query", "mode", "value_error")),
        ("?mode=upsert", ("query", "by", "missing")),
        ("?by=sku", ("query", "by", "extra_forbidden")),
        ("?mode=upsert&by=n", ("query", "by", "not_unique")),
        ("?mode=upsert&by=more", ("query", "by", "not_unique")),
        ("?format=xml", ("query", "format", "value_error")),
        ("?format=csv", ("query", "format", "value_error")),
        ("?more=true", ("query", "more", "extra_forbidden")),
    ],
)
async def test_a_bad_import_parameter_is_refused(things: Api, query: str, expected: tuple[Any, ...]) -> None:
    assert violations(await send(things, "", query)) == [expected]


@pytest.mark.parametrize(
    "query", ["limit=1", "offset=1", "sort_by=n", "populate=part_of", "count=false", "format=xml", "n=1"]
)
async def test_a_bad_export_parameter_is_refused(things: Api, query: str) -> None:
    assert violations(await export(things, f"?{query}"))[0][:2] == ("query", query.partition("=")[0])


async def test_other_types_are_refused(things: Api) -> None:
    for type_ in ("application/json", "application/octet-stream", ""):
        answer = await send(things, "", type_=type_)
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    gzip = {"content-type": CSV, "content-encoding": "gzip"}
    answer = await things.request("POST", f"{COLLECTION}/import", content=b"", headers=gzip)
    assert answer.status_code == 415
    named = await send(things, lines({"sku": "a"}), "?format=ndjson", "application/octet-stream")
    assert named.json()["created"] == 1


async def test_only_servers_move_whole_collections(things: Api) -> None:
    await save(things, {"collections": {"things": {"read": "anyone", "create": "anyone", "update": "anyone"}}})
    user, guest = await sign_up(things, "ann"), guest_of(things)
    for method, path in (("GET", "export"), ("POST", "import")):
        by_user = await user.ask(method, f"{COLLECTION}/{path}")
        assert (by_user.status_code, by_user.json()["code"]) == (401, "invalid_api_key")
        by_guest = await guest.ask(method, f"{COLLECTION}/{path}")
        assert (by_guest.status_code, by_guest.json()["code"]) == (403, "secret_key_required")


async def test_an_unknown_collection_is_not_found(api: Api) -> None:
    assert (await export(api)).json()["code"] == "collection_not_found"
    assert (await send(api, "")).json()["code"] == "collection_not_found"


async def test_an_import_that_is_too_large_keeps_what_came_before(things: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_rows, "MAX_IMPORT_BYTES", 20_000)
    monkeypatch.setattr("service.domain.documents.imports.BATCH", 10)
    piece = lines(*({"sku": f"a{number}"} for number in range(20))).encode()

    async def body() -> AsyncIterator[bytes]:
        yield piece
        for _ in range(30):
            yield b" " * 1_000 + b"\n"

    answer = await send(things, body())
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert things.database["c_things"].count_documents({}) == 20


async def test_the_first_hundred_refused_lines_are_listed(things: Api) -> None:
    answer = await send(things, "{}\n" * 1_200)
    assert answer.json()["refused"] == 1_200
    assert [each["line"] for each in answer.json()["errors"]] == list(range(1, 101))


async def test_n7_a_project_has_two_transfers_at_once_and_others_have_theirs(things: Api, services: Services) -> None:
    release, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def slow() -> AsyncIterator[bytes]:
        yield lines({"sku": "a"}).encode()
        begun.release()
        await release.wait()

    first = [asyncio.create_task(send(things, slow())) for _ in range(2)]
    for _ in first:
        await begun.acquire()
    for answer in (await export(things), await send(things, lines({"sku": "b"}))):
        assert (answer.status_code, answer.json()["code"]) == (503, "busy")
        assert "retry-after" in answer.headers
    release.set()
    assert {(await task).status_code for task in first} == {200}
    assert (await export(things)).status_code == 200


async def test_an_export_that_nobody_reads_to_its_end_gives_back_what_it_holds(things: Api, services: Services) -> None:
    await send(things, lines(*({"sku": f"a{number}"} for number in range(5))))
    for _ in range(5):
        opened = await open_export(services.documents, SecretKeyCaller(things.project), "things", EVERYTHING)
        await anext(opened.documents)
        await opened.close()
        await opened.close()
    assert (await export(things)).status_code == 200


NAMES_A_FIELD = "The header is missing: the first line names the fields"
NOT_READ = "A line has data, and may have the other names of a document, which are not read"
ONE_KEY = "Must be one value, for the document is found by it"
# Query, type and body; then each broken rule of the import, or of its lines: (line, loc, type, message).
WHOLE_IMPORTS: list[tuple[str, str, bytes, tuple[list[str], str, str]]] = [
    ("", CSV, b"", (["body"], "missing", NAMES_A_FIELD)),
    ("", CSV, b"\r\n", (["body"], "missing", NAMES_A_FIELD)),
    ("", CSV, b"sku,nope\r\na,b\r\n", (["body", "nope"], "unknown_column", "The collection has no such field")),
    ("", CSV, b"sku,sku\r\na,b\r\n", (["body", "sku"], "repeated", "A column may occur only once in the header")),
    ("", CSV, b'"sku\r\n', (["body"], "csv_invalid", "The header has a quote that is not closed")),
    ("", CSV, b"\xff\r\n", (["body"], "csv_invalid", "The header is not UTF-8")),
    ("?format=xml", NDJSON, b"", (["query", "format"], "value_error", "Must be ndjson or csv")),
    ("?format=csv", NDJSON, b"", (["query", "format"], "value_error", "The Content-Type says otherwise")),
    ("?mode=merge", NDJSON, b"", (["query", "mode"], "value_error", "Must be create or upsert")),
    ("?nope=1", NDJSON, b"", (["query", "nope"], "extra_forbidden", "This endpoint takes no such parameter")),
    ("?by=sku", NDJSON, b"", (["query", "by"], "extra_forbidden", "Only mode=upsert takes it")),
    (
        "?mode=upsert", NDJSON, b"",
        (["query", "by"], "missing", "Name the unique field by which documents are found"),
    ),
    (
        "?mode=upsert&by=n", NDJSON, b"",
        (["query", "by"], "not_unique", "Must be a field that is declared unique"),
    ),
]  # fmt: skip
LINES: list[tuple[str, str, bytes, tuple[int, list[str], str, str]]] = [
    ("", NDJSON, b"[]", (1, ["body"], "dict_type", "The line must be a JSON object")),
    ("", NDJSON, b'\n{"id": "a"}', (2, ["body", "data"], "missing", "Field required")),
    ("", NDJSON, b'{"data": 1}', (1, ["body", "data"], "dict_type", "Input should be a valid dictionary")),
    ("", NDJSON, b'{"data": {}, "by": 1}', (1, ["body", "by"], "extra_forbidden", NOT_READ)),
    ("", NDJSON, b"9" * (2**20 + 1), (1, ["body"], "too_long", "The line has more than 1,048,576 bytes")),
    ("", CSV, b"sku,n\na,1,2\n", (2, ["body"], "csv_ragged", "The record has 3 cells, and the header has 2")),
    (
        "", CSV, b'sku\n"a"b\n',
        (2, ["body"], "csv_invalid",
         "The record has a quote inside a cell; put quotes around the cell, and write each inside it twice"),
    ),
    (
        "", CSV, b"sku\n" + b"a" * (2**20 + 1),
        (2, ["body"], "csv_invalid", "The record has more than 1,048,576 bytes; is a quote not closed?"),
    ),
    ("?mode=upsert&by=sku", NDJSON, b'{"data": {}}', (1, ["body", "data", "sku"], "missing", "Field required")),
    ("?mode=upsert&by=sku", NDJSON, b'{"data": {"sku": []}}', (1, ["body", "data", "sku"], "value_error", ONE_KEY)),
]  # fmt: skip


async def test_each_refusal_of_an_import_says_where_and_why(api: Api) -> None:
    await declare(api, SCHEMA)
    for query, type_, body, expected in WHOLE_IMPORTS:
        answer = await send(api, body, query, type_)
        assert answer.status_code == 422, (query, body, answer.text)
        assert [(e["loc"], e["type"], e["msg"]) for e in answer.json()["detail"]] == [expected], body
    for query, type_, body, told in LINES:
        answer = await send(api, body, query, type_)
        assert (answer.status_code, answer.json()["refused"]) == (200, 1), (query, body[:20], answer.text)
        errors = answer.json()["errors"]
        found = [(each["line"], e["loc"], e["type"], e["msg"]) for each in errors for e in each["errors"]]
        assert found == [told], body[:20]
    assert api.database["c_things"].count_documents({}) == 0


async def test_a_header_of_many_columns_is_read_once(things: Api) -> None:
    """Each name is counted with all others in one pass: half a million of them once took the loop for minutes."""
    answer = await send(things, b",".join([b"n"] * 500_000) + b"\r\n", type_=CSV)
    assert violations(answer) == [("body", "n", "repeated")]

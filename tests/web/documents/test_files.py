"""Files of documents: declared, sent in forms, replaced, and gone with whatever loses them. Rows F as for users."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from faults.samples import FORM_TYPE, PNG, SVG, data_part, file_part, form, part, picture, png, stored
from tests.conftest import BASE_URL, Api, CommandRecorder, MakeApi
from tests.declared import declare

DOCUMENTS = "/api/collections/books/documents"
SCHEMA: dict[str, Any] = {
    "isbn": {"type": "string", "unique": True},
    "title": {"type": "string", "required": True},
    "cover": {"type": "file", "nullable": True, "types": ["png", "jpg", "svg"], "max_bytes": 100_000},
    "pages": {"type": "array", "items": {"type": "file"}},
    "tags": {"type": "array", "items": {"type": "string"}},
}
ONE_FILE = {"files.files": 1, "files.chunks": 1}
NOTHING: dict[str, int] = {}


def title(text: str = "Les Misérables", **data: Any) -> bytes:
    return data_part({"title": text, **data})


async def send(api: Api, *parts: bytes, method: str = "POST", path: str = "", **headers: str) -> httpx2.Response:
    return await api.request(method, DOCUMENTS + path, content=form(*parts), headers=FORM_TYPE | headers)


async def create(api: Api, *parts: bytes) -> dict[str, Any]:
    answer = await send(api, *(parts or (title(), file_part("cover"))))
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def change(api: Api, document: dict[str, Any], method: str = "PATCH", **body: Any) -> httpx2.Response:
    return await api.request(method, f"{DOCUMENTS}/{document['id']}", json=body)


async def status(api: Api, url: str) -> int:
    return (await api.http.get(url.removeprefix(BASE_URL))).status_code


@pytest.fixture
async def books(api: Api) -> Api:
    await declare(api, SCHEMA, "books")
    return api


class TestForms:
    async def test_a_document_with_a_file(self, books: Api) -> None:
        document = await create(books)
        url = document["data"]["cover"]
        assert url.startswith(f"{BASE_URL}/files/{books.project.id}-")
        assert (await books.http.get(url.removeprefix(BASE_URL))).content == PNG
        assert stored(books.database) == ONE_FILE
        kept = books.database["c_books"].find_one()
        assert kept is not None
        assert kept["data"]["cover"] == url.rpartition("/")[2]
        assert (await books.request("GET", f"{DOCUMENTS}/{document['id']}")).json() == document
        listed = (await books.request("GET", DOCUMENTS)).json()["documents"]
        assert listed == [document]

    async def test_files_before_the_data_and_several_of_one_field(self, books: Api) -> None:
        document = await create(books, file_part("pages"), file_part("pages", "b.svg", SVG), title())
        first, second = document["data"]["pages"]
        assert (first[-4:], second[-4:]) == (".png", ".svg")

    async def test_parts_follow_the_files_that_data_keeps(self, books: Api) -> None:
        document = await create(books, title(), file_part("pages"), file_part("pages"), file_part("pages"))
        first, second, third = document["data"]["pages"]
        parts = [data_part({"pages": [third, first]}), file_part("pages", "d.pdf", picture("PDF"))]
        answer = await send(books, *parts, method="PATCH", path=f"/{document['id']}")
        kept = answer.json()["data"]["pages"]
        assert kept[:2] == [third, first]
        assert len(kept) == 3
        assert [await status(books, url) for url in (first, second, third, kept[2])] == [200, 404, 200, 200]

    async def test_parts_alone_replace_an_array(self, books: Api) -> None:
        document = await create(books, title(), file_part("pages"), file_part("pages"))
        answer = await send(books, file_part("pages"), method="PATCH", path=f"/{document['id']}")
        assert len(answer.json()["data"]["pages"]) == 1
        assert stored(books.database) == ONE_FILE

    @pytest.mark.parametrize("method", ["PUT", "PATCH"])
    async def test_a_replaced_file_is_gone(self, books: Api, method: str) -> None:
        before = await create(books)
        answer = await send(books, title("II"), file_part("cover"), method=method, path=f"/{before['id']}")
        after = answer.json()
        assert (answer.status_code, after["version"], after["data"]["title"]) == (200, 2, "II")
        assert await status(books, before["data"]["cover"]) == 404
        assert await status(books, after["data"]["cover"]) == 200
        assert stored(books.database) == ONE_FILE

    @pytest.mark.parametrize("on_conflict", ["replace", "merge", "ignore"])
    async def test_an_upsert(self, books: Api, on_conflict: str) -> None:
        path = f"?by=isbn&on_conflict={on_conflict}"
        first = await send(books, title(isbn="1"), file_part("cover"), method="PUT", path=path)
        again = await send(books, title(isbn="1"), file_part("cover"), method="PUT", path=path)
        assert (first.status_code, again.status_code) == (201, 200)
        assert (first.json()["data"]["cover"] == again.json()["data"]["cover"]) is (on_conflict == "ignore")
        assert await status(books, again.json()["data"]["cover"]) == 200
        assert stored(books.database) == ONE_FILE
        # The file belongs to the document that was there: it goes with it.
        await books.request("DELETE", f"{DOCUMENTS}/{first.json()['id']}")
        assert stored(books.database) == NOTHING

    async def test_a_form_that_comes_too_late_leaves_nothing(self, books: Api) -> None:
        document = await create(books, title())
        parts = [title("II"), file_part("cover")]
        path = f"/{document['id']}"
        refused = await send(books, *parts, method="PUT", path=path, **{"if-match": '"v9"'})
        assert refused.status_code == 412
        assert (await send(books, *parts, method="PUT", path="/" + "0" * 24)).status_code == 404
        assert stored(books.database) == NOTHING

    async def test_a_form_takes_no_idempotency_key(self, books: Api) -> None:
        answer = await send(books, title(), file_part("cover"), **{"idempotency-key": "k"})
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["header", "idempotency-key"])
        assert stored(books.database) == NOTHING


GOOD = title()
BAD_FORMS: list[tuple[str, list[bytes], int, list[str]]] = [
    ("no title", [file_part("cover")], 422, ["body", "data", "title"]),
    ("bad JSON", [file_part("cover"), data_part(b"{")], 422, ["body", "data"]),
    ("data twice", [GOOD, file_part("cover"), GOOD], 422, ["body", "data"]),
    ("data as a file", [part('name="data"; filename="d.json"', b"{}")], 422, ["body", "data"]),
    ("a text part", [GOOD, part('name="title"', b"II")], 422, ["body", "title"]),
    ("a file for a text", [GOOD, file_part("isbn")], 422, ["body", "isbn"]),
    ("a file for texts", [GOOD, file_part("tags")], 422, ["body", "tags"]),
    ("an undeclared file", [GOOD, file_part("email")], 422, ["body", "email"]),
    ("an undeclared dotted file", [GOOD, file_part("a.b")], 422, ["body", "a.b"]),
    ("the same part twice", [GOOD, file_part("cover"), file_part("cover")], 422, ["body", "cover"]),
    ("a file and null", [title(cover=None), file_part("cover")], 422, ["body", "cover"]),
    ("a file, then null", [file_part("cover"), title(cover=None)], 422, ["body", "cover"]),
    ("files and no list", [title(pages="x"), file_part("pages")], 422, ["body", "pages"]),
    ("files, then no list", [file_part("pages"), title(pages="x")], 422, ["body", "pages"]),
    ("11 files", [GOOD, *(file_part("pages") for _ in range(11))], 422, ["body", "pages"]),
    ("an empty file", [GOOD, file_part("cover", content=b"")], 422, ["body", "cover"]),
    ("an undeclared field", [title(x=1), file_part("cover")], 422, ["body", "data", "x"]),
    ("a name with a dot", [data_part({"title": "I", "a.b": 1}), file_part("cover")], 422, ["body", "data", "a.b"]),
    ("a type that is none of its", [GOOD, file_part("cover", "a.pdf", picture("PDF"))], 415, []),
    ("no extension", [GOOD, file_part("pages", "me")], 415, []),
    ("two extensions, the last not allowed", [GOOD, file_part("pages", "a.png.html")], 415, []),
    ("HTML as png", [GOOD, file_part("cover", "a.png", b"<html><script>alert(1)</script></html>")], 415, []),
    ("an svg with DOCTYPE", [GOOD, file_part("cover", "a.svg", b"<!DOCTYPE svg>" + SVG)], 415, []),
    ("a good file, then a bad one", [GOOD, file_part("cover"), file_part("pages", "b.pdf")], 415, []),
    ("a byte too many", [GOOD, file_part("cover", content=png(100_001))], 413, []),
]


@pytest.mark.parametrize(("parts", "code", "loc"), [row[1:] for row in BAD_FORMS], ids=[row[0] for row in BAD_FORMS])
async def test_f1_f3_f4_f5_a_broken_form_leaves_nothing(
    books: Api, parts: list[bytes], code: int, loc: list[str]
) -> None:
    answer = await send(books, *parts)
    assert answer.status_code == code, answer.text
    if loc:
        assert answer.json()["detail"][0]["loc"] == loc
    assert stored(books.database) == NOTHING
    assert books.database["c_books"].count_documents({}) == 0


async def test_f5_the_largest_file_of_a_field(books: Api) -> None:
    document = await create(books, title(), file_part("cover", content=png(100_000)))
    answer = await books.http.get(document["data"]["cover"].removeprefix(BASE_URL))
    assert len(answer.content) == 100_000


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary=b; charset=undefined"])
async def test_f2_a_form_without_bounds_is_refused(books: Api, content_type: str) -> None:
    answer = await books.request("POST", DOCUMENTS, content=form(title()), headers={"content-type": content_type})
    assert answer.status_code == 422


class TestJson:
    async def test_a_document_keeps_its_file_and_loses_it(self, books: Api) -> None:
        document = await create(books)
        data = document["data"]
        kept = await change(books, document, "PUT", data=data)
        assert kept.json()["data"] == data
        assert (await change(books, document, data={"title": "II", "cover": data["cover"]})).status_code == 200
        assert stored(books.database) == ONE_FILE
        assert (await change(books, document, data={"cover": None})).json()["data"]["cover"] is None
        assert stored(books.database) == NOTHING

    @pytest.mark.parametrize(
        "body",
        [{"unset": ["cover", "pages"]}, {"data": {"cover": None, "pages": []}}],
        ids=["unset", "null and an empty array"],
    )
    async def test_a_change_takes_files_along(self, books: Api, body: dict[str, Any]) -> None:
        document = await create(books, title(), file_part("cover"), file_part("pages"))
        assert (await change(books, document, **body)).status_code == 200
        assert stored(books.database) == NOTHING

    async def test_a_replacement_without_them_takes_files_along(self, books: Api) -> None:
        document = await create(books, title(), file_part("cover"), file_part("pages"))
        assert (await change(books, document, "PUT", data={"title": "II"})).status_code == 200
        assert stored(books.database) == NOTHING

    async def test_pull_and_push(self, books: Api) -> None:
        document = await create(books, title(), file_part("pages"), file_part("pages"))
        first, second = document["data"]["pages"]
        assert (await change(books, document, pull={"pages": first})).json()["data"]["pages"] == [second]
        assert [await status(books, url) for url in (first, second)] == [404, 200]
        refused = await change(books, document, push={"pages": first})
        assert (refused.status_code, refused.json()["detail"][0]["type"]) == (422, "foreign_file")
        assert (await change(books, document, push={"pages": second})).status_code == 200

    async def test_a_deleted_document_takes_its_files_along(self, books: Api) -> None:
        document = await create(books, title(), file_part("cover"), file_part("pages"), file_part("pages"))
        await books.request("DELETE", f"{DOCUMENTS}/{document['id']}")
        assert stored(books.database) == NOTHING
        assert await status(books, document["data"]["cover"]) == 404

    async def test_a_refused_deletion_leaves_the_file(self, books: Api) -> None:
        document = await create(books)
        answer = await books.request("DELETE", f"{DOCUMENTS}/{document['id']}", headers={"if-match": '"v9"'})
        assert answer.status_code == 412
        assert await status(books, document["data"]["cover"]) == 200

    @pytest.mark.parametrize("url", ["nothing", "https://elsewhere.example.com/a.png", f"{BASE_URL}/files/x.png", ""])
    async def test_what_is_no_file(self, books: Api, url: str) -> None:
        document = await create(books)
        changed = (await change(books, document, data={"cover": url})).json()["detail"][0]
        assert (changed["loc"], changed["type"]) == (["body", "data", "cover"], "file_url")
        assert changed["msg"] == "Must be the URL of a file that the field has, one of: png, jpg, svg"
        made = (await books.request("POST", DOCUMENTS, json={"data": {"title": "I", "cover": url}})).json()["detail"][0]
        assert (made["loc"], made["type"]) == (["body", "data", "cover"], "foreign_file")
        assert made["msg"] == "Not a file that this field has; send a new file as a part of a form"

    @pytest.mark.parametrize("way", ["create", "put", "patch", "upsert", "batch", "import", "bulk", "push", "form"])
    async def test_f10_a_file_of_another_place_is_refused(self, books: Api, way: str) -> None:
        """A file of another document, of another field, and by its bare name."""
        other = await create(books, title(isbn="1"), file_part("cover"), file_part("pages"))
        mine = await create(books, title(isbn="2"), file_part("pages"))
        cover, (page,) = other["data"]["cover"], other["data"]["pages"]
        (own,) = mine["data"]["pages"]
        before = list(books.database["c_books"].find())
        for data in ({"cover": cover}, {"cover": own}, {"cover": own.rpartition("/")[2]}, {"pages": [own, page]}):
            answer = await self._send(books, way, mine, data)
            refused = answer.json()["errors"][0]["errors"] if way == "import" else answer.json()["detail"]
            assert [error["type"] for error in refused] == ["foreign_file"], answer.text
        assert list(books.database["c_books"].find()) == before
        assert await status(books, own) == await status(books, page) == await status(books, cover) == 200

    async def _send(self, books: Api, way: str, mine: dict[str, Any], data: dict[str, Any]) -> httpx2.Response:
        whole = {"title": "II", **data}
        pages = data.get("pages", [None])[-1]
        change_it: dict[str, Any] = {"push": {"pages": pages}} if pages else {"data": data, "unset": ["tags"]}
        first, path = {"op": "create", "collection": "books"}, "/api/collections/books"
        batch = {"operations": [{**first, "data": {"title": "I"}}, {**first, "data": whole}]}
        line = {"content": json.dumps({"data": whole}).encode(), "headers": {"content-type": "application/x-ndjson"}}
        own = f"{DOCUMENTS}/{mine['id']}"
        ways: dict[str, tuple[str, str, dict[str, Any]]] = {
            "create": ("POST", DOCUMENTS, {"json": {"data": whole}}),
            "put": ("PUT", own, {"json": {"data": whole}}),
            "patch": ("PATCH", own, {"json": {"data": whole}}),
            "upsert": ("PUT", f"{DOCUMENTS}?by=isbn", {"json": {"data": {**whole, "isbn": "2"}}}),
            "batch": ("POST", "/api/batch", {"json": batch}),
            "import": ("POST", f"{path}/import", line),
            "bulk": ("POST", f"{path}/update", {"json": {"where": {"isbn_eq": "2"}, "data": data, "expect": 1}}),
            "push": ("PATCH", own, {"json": change_it}),
            "form": ("PATCH", own, {"content": form(data_part(whole)), "headers": FORM_TYPE}),
        }
        method, url, sent = ways[way]
        return await books.request(method, url, **sent)

    async def test_f10_the_file_of_a_user_is_refused_and_stays(self, books: Api) -> None:
        body = form(data_part({"email": "ann@example.com", "password": "correct horse"}), file_part("cover"))
        signed_up = await books.request("POST", "/auth-collections/signup", content=body, headers=FORM_TYPE)
        url = signed_up.json()["user"]["data"]["cover"]
        document = await create(books, title())
        assert (await change(books, document, data={"cover": url})).status_code == 422
        # Past the service anybody may write anything.
        books.database["c_books"].update_one({}, {"$set": {"data.cover": url.rpartition("/")[2]}})
        assert (await change(books, document, data={"cover": None})).status_code == 200
        assert await status(books, url) == 200

    async def test_f10_the_file_of_another_project_is_refused(self, books: Api, make_api: MakeApi) -> None:
        other = await make_api()
        await declare(other, SCHEMA, "books")
        url = (await create(other))["data"]["cover"]
        answer = await books.request("POST", DOCUMENTS, json={"data": {"title": "I", "cover": url}})
        assert answer.status_code == 422


class TestEveryWayOfLosing:
    async def test_bulk_deletion_and_bulk_change(self, books: Api) -> None:
        for number in range(3):
            await create(books, title(isbn=str(number)), file_part("cover"), file_part("pages"))
        path, where = "/api/collections/books", {"isbn_in": ["0", "1"]}
        changed = await books.request("POST", f"{path}/update", json={"where": where, "unset": ["cover"], "expect": 2})
        assert changed.status_code == 200, changed.text
        assert stored(books.database) == {"files.files": 4, "files.chunks": 4}
        deleted = await books.request("POST", f"{path}/delete", json={"where": where, "expect": 2})
        assert deleted.status_code == 200
        assert stored(books.database) == {"files.files": 2, "files.chunks": 2}

    async def test_a_batch(self, books: Api) -> None:
        one, two = [await create(books, title(), file_part("cover")) for _ in range(2)]
        operations = [
            {"op": "delete", "collection": "books", "id": one["id"]},
            {"op": "update", "collection": "books", "id": two["id"], "data": {"cover": None}},
        ]
        failing = [*operations, {"op": "get", "collection": "books", "id": "0" * 24}]
        assert (await books.request("POST", "/api/batch", json={"operations": failing})).status_code == 404
        assert stored(books.database) == {"files.files": 2, "files.chunks": 2}
        answer = await books.request("POST", "/api/batch", json={"operations": operations})
        assert answer.json()["results"][1]["document"]["data"]["cover"] is None
        assert stored(books.database) == NOTHING

    async def test_an_upsert_without_it(self, books: Api) -> None:
        await create(books, title(isbn="1"), file_part("cover"))
        answer = await books.request("PUT", f"{DOCUMENTS}?by=isbn", json={"data": {"title": "II", "isbn": "1"}})
        assert answer.status_code == 200
        assert stored(books.database) == NOTHING

    async def test_an_import_keeps_what_it_names_and_takes_the_rest_along(self, books: Api) -> None:
        first = await create(books, title(isbn="1"), file_part("cover"))
        await create(books, title(isbn="2"), file_part("cover"))
        lines = (await books.request("GET", "/api/collections/books/export")).text.splitlines()
        assert json.loads(lines[0])["data"]["cover"] == first["data"]["cover"]
        gone = json.dumps({"data": {"title": "II", "isbn": "2"}})
        answer = await books.request(
            "POST",
            "/api/collections/books/import?mode=upsert&by=isbn",
            content=f"{lines[0]}\n{gone}\n".encode(),
            headers={"content-type": "application/x-ndjson"},
        )
        assert answer.json() == {"created": 0, "updated": 2, "refused": 0, "errors": [], "groups": []}
        assert stored(books.database) == ONE_FILE
        assert await status(books, first["data"]["cover"]) == 200

    async def test_a_dropped_collection(self, books: Api) -> None:
        await declare(books, SCHEMA, "others")
        document = await create(books, title(), file_part("cover"), file_part("pages"))
        body = form(title(), file_part("cover"))
        await books.request("POST", "/api/collections/others/documents", content=body, headers=FORM_TYPE)
        assert (await books.request("DELETE", "/api/collections/books")).status_code == 204
        assert stored(books.database) == ONE_FILE
        assert await status(books, document["data"]["cover"]) == 404

    async def test_a_field_with_files_is_neither_removed_nor_made_another(self, books: Api) -> None:
        document = await create(books)
        path = "/api/collections/books"
        removed = await books.request("PATCH", path, json={"schema": {"cover": None}})
        assert removed.status_code == 409
        for definition in ({"type": "string"}, {"type": "array", "items": {"type": "string"}}):
            answer = await books.request("PATCH", path, json={"schema": {"cover": definition}})
            assert (answer.status_code, answer.json()["detail"][0]["type"]) == (422, "file_field")
        narrowed = await books.request("PATCH", path, json={"schema": {"cover": {"type": "file", "types": ["pdf"]}}})
        assert narrowed.status_code == 409
        assert (await change(books, document, unset=["cover"])).status_code == 200
        assert (await books.request("PATCH", path, json={"schema": {"cover": None}})).status_code == 200

    async def test_racing_replacements_leave_one_file(self, books: Api) -> None:
        document = await create(books)
        path = f"/{document['id']}"
        answers = await asyncio.gather(
            *(send(books, file_part("cover"), method="PATCH", path=path) for _ in range(6)),
            *(change(books, document, data={"title": str(number)}) for number in range(3)),
        )
        assert {answer.status_code for answer in answers} == {200}
        assert stored(books.database) == ONE_FILE
        now = (await books.request("GET", DOCUMENTS + path)).json()
        assert await status(books, now["data"]["cover"]) == 200


class TestAsking:
    async def test_filters_take_urls(self, books: Api) -> None:
        document = await create(books)
        await create(books, title())
        for query in (f"cover_eq={document['data']['cover']}", "cover_isnull=false"):
            found = (await books.request("GET", f"{DOCUMENTS}?{query}")).json()["documents"]
            assert [each["id"] for each in found] == [document["id"]]
        body = {"where": {"cover_in": [document["data"]["cover"]]}}
        found = (await books.request("POST", "/api/collections/books/query", json=body)).json()["documents"]
        assert [each["id"] for each in found] == [document["id"]]

    async def test_what_is_grouped_listed_and_populated_is_a_url(self, books: Api) -> None:
        document = await create(books)
        cover = document["data"]["cover"]
        path = "/api/collections/books"
        assert (await books.request("GET", f"{path}/distinct?field=cover")).json()["values"] == [cover]
        body = {"group": {"cover": "cover"}, "values": {"n": "count", "last": {"max": "cover"}}}
        rows = (await books.request("POST", f"{path}/aggregate", json=body)).json()["rows"]
        assert rows == [{"cover": cover, "n": 1, "last": cover}]
        await declare(books, {"book_id": {"type": "reference", "collection": "books"}}, "shelves")
        shelf = {"data": {"book_id": document["id"]}}
        await books.request("POST", "/api/collections/shelves/documents", json=shelf)
        listed = await books.request("GET", "/api/collections/shelves/documents?populate=book")
        assert listed.json()["documents"][0]["data"]["book"]["data"]["cover"] == cover

    async def test_writes_without_files_cost_no_more_commands(self, books: Api, commands: CommandRecorder) -> None:
        document = await create(books)
        commands.commands.clear()
        await change(books, document, data={"title": "II"})
        assert commands.names == ["findAndModify"]
        commands.commands.clear()
        await books.request("POST", DOCUMENTS, json={"data": {"title": "III"}})
        assert commands.names == ["insert"]


BAD_DEFINITIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"cover": {"type": "file", "types": []}}, "cover.types", "list_type"),
    ({"cover": {"type": "file", "types": ["exe"]}}, "cover.types", "list_type"),
    ({"cover": {"type": "file", "types": [[1]]}}, "cover.types", "list_type"),
    ({"cover": {"type": "file", "types": ["png", "png"]}}, "cover.types", "value_error"),
    ({"cover": {"type": "file", "max_bytes": 0}}, "cover.max_bytes", "int_type"),
    ({"cover": {"type": "file", "max_bytes": 52_428_801}}, "cover.max_bytes", "int_type"),
    ({"cover": {"type": "file", "protected": 1}}, "cover.protected", "bool_type"),
    ({"cover": {"type": "file", "unique": True}}, "cover.unique", "extra_forbidden"),
    ({"cover": {"type": "file", "default": "x"}}, "cover.default", "extra_forbidden"),
    ({"o": {"type": "object", "properties": {"a": {"type": "file"}}}}, "o.properties.a.type", "nested_file"),
    (
        {"o": {"type": "object", "properties": {"items": {"type": "file"}}}},
        "o.properties.items.type",
        "nested_file",
    ),
    (
        {"a": {"type": "array", "items": {"type": "array", "items": {"type": "file"}}}},
        "a.items.items.type",
        "nested_file",
    ),
    ({"a": {"type": "array", "items": {"type": "file"}, "default": ["x"]}}, "a.default", "value_error"),
]


@pytest.mark.parametrize(("schema", "place", "type_"), BAD_DEFINITIONS)
async def test_a_bad_definition(api: Api, schema: dict[str, Any], place: str, type_: str) -> None:
    answer = await api.request("POST", "/api/collections", json={"name": "bad", "schema": schema})
    (error,) = answer.json()["detail"]
    assert (answer.status_code, error["loc"], error["type"]) == (422, ["body", "schema", *place.split(".")], type_)


async def test_an_array_of_files_may_be_empty_by_default(api: Api) -> None:
    await declare(api, {"pages": {"type": "array", "items": {"type": "file"}, "default": []}}, "books")
    assert (await api.request("POST", DOCUMENTS, json={"data": {}})).json()["data"] == {"pages": []}

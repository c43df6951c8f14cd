"""A schema proposed from the beginning of a file: rows of C18 for `infer` among them."""

from typing import Any

import pytest

from service.bounds import MAX_INFER_BYTES, MAX_INFER_COLUMNS, MAX_INFER_ROWS
from tests.conftest import Api
from tests.web.operators.conftest import Console, Join

Json = dict[str, Any]
BYTES = {"content-type": "application/octet-stream"}


async def infer(console: Console, api: Api, content: bytes, query: str = "?format=csv") -> Any:
    path = f"/admin/v1/projects/{api.project.id}/infer{query}"
    return await console.request("POST", path, content=content, headers=BYTES)


async def test_a_proposed_schema_takes_the_file(owner: Console, api: Api) -> None:
    content = (
        '\ufefftitle,pages,price,out,day,my.note\r\n"A, ""b""\nc",10,1.5,true,2026-01-31,\r\nx,20,2,false,2026-02-01,y'
    )
    found = (await infer(owner, api, content.encode())).json()
    assert found["schema"] == {
        "title": {"type": "string"},
        "pages": {"type": "integer"},
        "price": {"type": "number"},
        "out": {"type": "boolean"},
        "day": {"type": "datetime"},
        "my_note": {"type": "string"},
    }
    assert found["rows"] == 2
    assert found["columns"][5] == {
        "header": "my.note",
        "name": "my_note",
        "type": "string",
        "empty": 1,
        "distinct": 1,
        "examples": ["y"],
    }
    place = f"/admin/v1/projects/{api.project.id}/api/collections"
    assert (await owner.post(place, {"name": "books", "schema": found["schema"]})).status_code == 201
    renamed = content.encode().replace(b"my.note", b"my_note")
    done = await owner.request("POST", f"{place}/books/import", content=renamed, headers={"content-type": "text/csv"})
    assert (done.status_code, done.json()["created"]) == (200, 2), done.text


async def test_other_delimiters_and_ndjson(owner: Console, api: Api) -> None:
    found = (await infer(owner, api, b"a;b\n1;x\n", "?format=csv&delimiter=%3B")).json()
    assert found["schema"] == {"a": {"type": "integer"}, "b": {"type": "string"}}
    lines = b'{"data":{"a":1,"b":null}}\n\n{"id":"1","data":{"c":[1],"a":2.5}}\n{"data":{"b":{"x":1}}}'
    found = (await infer(owner, api, lines, "?format=ndjson")).json()
    assert found["schema"] == {"a": {"type": "number"}, "b": {"type": "object"}, "c": {"type": "array"}}
    assert [(each["name"], each["empty"]) for each in found["columns"]] == [("a", 1), ("b", 2), ("c", 2)]
    assert found["rows"] == 3


@pytest.mark.parametrize(
    ("content", "query"),
    [
        (b"", "?format=csv"),
        (b"\n1,2", "?format=csv"),
        (b"a,a\n1,2", "?format=csv"),
        (b"a,b\n\xff,2", "?format=csv"),
        (b'a,b\n"1,2', "?format=csv"),
        (b"a,b\n1,2", ""),
        (b"a,b\n1,2", "?format=xlsx"),
        (b"a,b\n1,2", "?format=csv&delimiter=x"),
        (b"[1]", "?format=ndjson"),
        (b'{"data":' + b"[" * 5_000, "?format=ndjson"),
        (b'{"data":{"a":1},"more":2}', "?format=ndjson"),
        (",".join(f"c{number}" for number in range(MAX_INFER_COLUMNS + 1)).encode(), "?format=csv"),
        (
            b'{"data":{%s}}' % b",".join(b'"n%d":1' % number for number in range(MAX_INFER_COLUMNS + 1)),
            "?format=ndjson",
        ),
    ],
)
async def test_what_is_no_such_file_is_refused(owner: Console, api: Api, content: bytes, query: str) -> None:
    answer = await infer(owner, api, content, query)
    assert answer.status_code == 422, answer.text


async def test_c18_a_file_that_is_too_large_is_refused_and_its_beginning_is_enough(
    owner: Console, join: Join, api: Api
) -> None:
    row = b"1,2\n"
    whole = b"a,b\n" + row * (MAX_INFER_BYTES // len(row))
    assert (await infer(owner, api, whole)).status_code == 413
    # The last line of a body that is as long as it may be is cut, and is left out.
    wide = b"a,b\n1," + b"x" * (MAX_INFER_BYTES - 8) + b"\n2"
    found = (await infer(owner, api, wide[:MAX_INFER_BYTES])).json()
    assert found["rows"] in {0, 1}
    found = (await infer(owner, api, whole[:MAX_INFER_BYTES])).json()
    assert found["rows"] == MAX_INFER_ROWS
    blank = b"a,b\n" + b"\n" * (MAX_INFER_BYTES - 4)
    assert (await infer(owner, api, blank)).json()["rows"] == 0
    cells = b",".join(b"c%d" % number for number in range(MAX_INFER_COLUMNS))
    lines = cells + b"\n" + b"\n".join([b",".join([b"9"] * MAX_INFER_COLUMNS)] * MAX_INFER_ROWS)
    found = (await infer(owner, api, lines)).json()
    assert (found["rows"], len(found["columns"])) == (MAX_INFER_ROWS, MAX_INFER_COLUMNS)
    editor = await join("editor@example.com", **{api.project.id: "editor"})
    assert (await infer(editor, api, b"a\n1")).json()["needs"] == f"{api.project.id}:schema:write"

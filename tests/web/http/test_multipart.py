"""Forms read as a stream: every way of cutting, ordering and breaking them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from service.bounds import MAX_JSON_BYTES, MAX_PARTS
from service.domain.files.intake import DataPart, FormPart
from service.errors import Invalid, ServiceError, TooLarge
from service.web.http.multipart import read_parts

TYPE = "multipart/form-data; boundary=b"


def part(disposition: str | bytes, body: bytes = b"x", *more: str) -> bytes:
    raw = disposition if isinstance(disposition, bytes) else disposition.encode()
    headers = b"".join(line.encode() + b"\r\n" for line in more)
    return b"--b\r\nContent-Disposition: form-data; " + raw + b"\r\n" + headers + b"\r\n" + body + b"\r\n"


END = b"--b--\r\n"
DATA = part('name="data"', b'{"a": 1}')
FILE = part('name="f"; filename="x.png"', b"\r\n--other--\r\n-")


async def cut(body: bytes, size: int = 65_536) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def read(body: bytes, size: int = 65_536, content_type: str = TYPE) -> list[Any]:
    return await consume(read_parts(content_type, cut(body, size)))


async def consume(parts: AsyncIterator[FormPart]) -> list[Any]:
    """Each part's fields, or its field, file name and bytes."""
    found: list[Any] = []
    async for read_part in parts:
        if isinstance(read_part, DataPart):
            found.append(read_part.fields)
        else:
            content = b"".join([piece async for piece in read_part.content])
            found.append((read_part.field, read_part.file_name, content))
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 65_536])
@pytest.mark.parametrize("order", ["data first", "data last"])
async def test_parts_come_in_any_order_and_any_pieces(size: int, order: str) -> None:
    parts = [({"a": 1}, DATA), (("f", "x.png", b"\r\n--other--\r\n-"), FILE)]
    parts = parts if order == "data first" else parts[::-1]
    assert await read(b"".join(raw for _, raw in parts) + END, size) == [value for value, _ in parts]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"--b--\r\n", []),
        (b"--b--", []),
        (DATA + b"--b--", [{"a": 1}]),
        (DATA + END + b"epilogue" * 100, [{"a": 1}]),
        (part('name="f"; filename=""', b""), [("f", "", b"")]),
        (part('name="f"; filename="a;b.png"'), [("f", "a;b.png", b"x")]),
        (part('name="f"; filename="\u202e\u00e9.png"'), [("f", "\u202e\u00e9.png", b"x")]),
        (part('name="f"; filename="a.png"; filename*=UTF-8\'\'b.html'), [("f", "a.png", b"x")]),
        (part('name="f"; filename="C:\\\\x\\\\a.png"'), [("f", "a.png", b"x")]),
        (part('name="a.b"; filename="../../x.png"'), [("a.b", "../../x.png", b"x")]),
        (part('name="data"', b'{"a": "\\u0000"}', "Content-Type: application/json"), [{"a": "\0"}]),
        (part('name="f"; filename="x"', b"x", "Content-Transfer-Encoding: BINARY"), [("f", "x", b"x")]),
    ],
    ids=str,
)
async def test_what_clients_send_is_read(body: bytes, expected: list[Any]) -> None:
    assert await read(body if b"--b--" in body else body + END) == expected


REFUSED: list[tuple[str, bytes, list[str]]] = [
    ("no end", DATA + FILE, ["body"]),
    ("no end of a part", FILE[:-5], ["body"]),
    ("nothing", b"", ["body"]),
    ("a preamble", b"text\r\n" + DATA + END, ["body"]),
    # RFC 2046 section 5.1.1: it is sufficient that the boundary appears in its entirety following the CRLF.
    ("the boundary in a file", part('name="f"; filename="a.png"', b"\r\n--bytes--") + END, ["body"]),
    ("a long line without an end", b"--b\r\n" + b"x" * 9_000, ["body"]),
    ("another boundary", DATA.replace(b"--b", b"--c") + END, ["body"]),
    ("JSON", b'{"a": 1}', ["body"]),
    ("no disposition", b"--b\r\n\r\nx\r\n" + END, ["body"]),
    ("another disposition", b'--b\r\nContent-Disposition: attachment; name="a"\r\n\r\nx\r\n' + END, ["body"]),
    ("no name", part("x=1") + END, ["body"]),
    (
        "a header twice",
        part('name="f"; filename="a.png"', b"x", 'Content-Disposition: form-data; name="g"') + END,
        ["body"],
    ),
    ("many headers", part('name="f"; filename="a.png"', b"x", *(f"x{n}: y" for n in range(30))) + END, ["body"]),
    ("a long header", part('name="f"; filename="' + "x" * 9000 + '"') + END, ["body"]),
    ("a bad header name", b"--b\r\nContent Disposition: x\r\n\r\nx\r\n" + END, ["body"]),
    ("a raw line break in a name", part('name="f"; filename="a\r\nX.png"') + END, ["body"]),
    ("base64", part('name="f"; filename="a.png"', b"eA==", "Content-Transfer-Encoding: base64") + END, ["body"]),
    ("a file name that is not UTF-8", part(b'name="f"; filename="\xff.png"') + END, ["body"]),
    ("a surrogate in a file name", part(b'name="f"; filename="\xed\xa0\x80.png"') + END, ["body"]),
    ("a surrogate in a part name", part(b'name="\xed\xa0\x80"; filename="a.png"') + END, ["body"]),
    ("NUL in a file name", part(b'name="f"; filename="a\0.png"') + END, ["body"]),
    ("a text part", part('name="age"', b"33") + END, ["body", "age"]),
    ("the charset part", part('name="_charset_"', b"utf-8") + END, ["body", "_charset_"]),
    ("only an extended file name", part("name=\"f\"; filename*=UTF-8''x.png") + END, ["body", "f"]),
    ("data as a file", part('name="data"; filename="data.json"', b"{}") + END, ["body", "data"]),
    ("bad JSON", part('name="data"', b"{") + END, ["body", "data"]),
    ("empty data", part('name="data"', b"") + END, ["body", "data"]),
    ("an array", part('name="data"', b"[]") + END, ["body", "data"]),
    ("NaN", part('name="data"', b'{"a": NaN}') + END, ["body", "data"]),
    ("Infinity", part('name="data"', b'{"a": -Infinity}') + END, ["body", "data"]),
    ("1e999", part('name="data"', b'{"a": 1e999}') + END, ["body", "data"]),
    ("a surrogate", part('name="data"', b'{"a": "\\ud800"}') + END, ["body", "data"]),
    ("a surrogate as a name", part('name="data"', b'{"\\ud800": 1}') + END, ["body", "data"]),
]


@pytest.mark.parametrize(("body", "loc"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
@pytest.mark.parametrize("size", [1, 65_536])
async def test_f1_f2_b3_b5_broken_forms_are_refused_with_their_place(body: bytes, loc: list[str], size: int) -> None:
    with pytest.raises(Invalid) as caught:
        await read(body, size)
    assert [list(violation.loc) for violation in caught.value.violations] == [loc]


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary=""',
        "multipart/form-data; boundary=" + "x" * 71,
        "multipart/form-data; boundary=\u20ac",
        "multipart/form-data; boundary=a\x00b",
        "multipart/form-data; boundary=b; charset=undefined",
        "multipart/form-data; boundary=b; charset=utf-16",
    ],
    ids=ascii,
)
async def test_f2_a_bad_boundary_or_charset_is_refused(content_type: str) -> None:
    with pytest.raises(Invalid):
        await read(DATA + END, content_type=content_type)


async def test_an_unquoted_boundary_may_have_any_visible_character() -> None:
    body = (DATA + END).replace(b"--b", b"--===b:/b===")
    assert await read(body, content_type="multipart/form-data;boundary====b:/b===") == [{"a": 1}]


async def test_f2_a_part_too_many_is_refused() -> None:
    form = b"".join(part(f'name="f{number}"; filename="a.png"') for number in range(MAX_PARTS))
    assert len(await read(form + END)) == MAX_PARTS
    with pytest.raises(Invalid):
        await read(form + FILE + END)


async def test_what_follows_the_last_boundary_is_not_read() -> None:
    given_out = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given_out
        yield DATA + END
        while True:
            given_out += 1
            yield b"x" * 65_536

    assert await consume(read_parts(TYPE, endless())) == [{"a": 1}]
    assert given_out == 0


async def test_the_data_part_has_a_limit() -> None:
    fits = part('name="data"', b'{"a": "' + b"x" * (MAX_JSON_BYTES - 9) + b'"}')
    assert len((await read(fits + END))[0]["a"]) == MAX_JSON_BYTES - 9
    with pytest.raises(TooLarge):
        await read(part('name="data"', b'{"a": "' + b"x" * (MAX_JSON_BYTES - 8) + b'"}') + END)


async def test_reading_stops_at_the_first_rule_broken() -> None:
    given_out = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given_out
        yield part('name="age"', b"33")
        while True:
            given_out += 1
            yield b"x" * 65_536

    with pytest.raises(Invalid):
        async for _ in read_parts(TYPE, endless()):
            pass
    assert given_out <= 1


async def test_f6_a_client_that_leaves_is_a_form_without_an_end() -> None:
    async def leaving() -> AsyncIterator[bytes]:
        yield FILE[:-5]
        raise ClientDisconnect

    with pytest.raises(Invalid):
        await consume(read_parts(TYPE, leaving()))


@given(st.binary(max_size=200), st.integers(0, 400), st.integers(0, 40), st.integers(1, 60))
async def test_no_body_breaks_the_reader(noise: bytes, at: int, gone: int, size: int) -> None:
    body = DATA + FILE + END
    try:
        await read(body[:at] + noise + body[at + gone :], size)
    except ServiceError as error:
        assert error.status in {413, 422}  # noqa: PT017 - either outcome is right, another error is not


async def form_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with what it read of a form."""
    request = Request(scope, receive)
    found: list[Any] = []
    async for read_part in read_parts(request.headers["content-type"], request.stream()):
        if isinstance(read_part, DataPart):
            found.append(read_part.fields)
        else:
            found.append([read_part.field, read_part.file_name, sum([len(piece) async for piece in read_part.content])])
    await JSONResponse(found)(scope, receive, send)


async def test_what_a_real_client_sends_is_read() -> None:
    files = {"a": ('r\u00e9sum\u00e9 "1".pdf', b"x" * 300_000), "b": ("b.png", b"y")}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(form_app), base_url="http://t") as client:
        answer = await client.post("/", data={"data": json.dumps({"name": "\u017d"})}, files=files)
    assert answer.json() == [{"name": "\u017d"}, ["a", "r\u00e9sum\u00e9 %221%22.pdf", 300_000], ["b", "b.png", 1]]

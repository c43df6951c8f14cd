"""Files become rows, and rows the fields of records."""

from pathlib import Path
from typing import Any

import pytest

from service.bounds import MAX_ROW_BYTES, MAX_VALUES
from service.errors import ConfigurationError
from service.schema.values import Kind
from service.seeding.batches import BadCell, fields_of
from service.seeding.manifest import Source
from service.seeding.sources import CsvLines, Row, read_rows


async def rows(folder: Path, name: str, content: bytes) -> list[Row]:
    (folder / name).write_bytes(content)
    return [row async for row in read_rows(Source(file=Path(name)), folder, "users[0]")]


async def test_csv_with_quotes_and_line_breaks(tmp_path: Path) -> None:
    content = '\ufeffa,b\r\n1,"x ""y"",\r\nz"\r\n\r\n2,ü\n3'.encode()
    assert await rows(tmp_path, "a.csv", content) == [
        Row("a.csv:2", {"a": "1", "b": 'x "y",\r\nz'}),
        Row("a.csv:5", {"a": "2", "b": "ü"}),
        Row("a.csv:6", {}, "has 1 cells, and the header has 2"),
    ]


QUOTE_INSIDE = "has a quote inside a cell; put quotes around the cell, and write each inside it twice"


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ("1,x\ry", "has a carriage return in a cell without quotes around it"),
        ('1,"x" y', QUOTE_INSIDE),
        ("1,2,3", "has 3 cells, and the header has 2"),
        (f'1,"{"x" * MAX_ROW_BYTES}"', "has more than 1 MiB; is a quote not closed?"),
        ("1," + "é" * (MAX_ROW_BYTES // 2), "has more than 1 MiB"),
    ],
    ids=["carriage return", "quote", "cells", "long", "long in bytes"],
)
async def test_n37_a_broken_record_is_named_and_the_next_one_read(tmp_path: Path, record: str, fault: str) -> None:
    assert await rows(tmp_path, "a.csv", f"a,b\n{record}\n5,6\n".encode()) == [
        Row("a.csv:2", {}, fault),
        Row("a.csv:3", {"a": "5", "b": "6"}),
    ]


async def test_n37_a_long_cell_is_read(tmp_path: Path) -> None:
    cell = "x" * 1_000_000
    assert await rows(tmp_path, "a.csv", f'a,b\n1,"{cell}"\n'.encode()) == [Row("a.csv:2", {"a": "1", "b": cell})]


async def test_n37_a_header_must_be_whole(tmp_path: Path) -> None:
    for header, fault in (
        ('a,"b', "the header has a quote that is not closed"),
        ("a,b,a", "a name occurs twice in the header"),
    ):
        with pytest.raises(ConfigurationError, match=fault):
            await rows(tmp_path, "a.csv", f"{header}\n1,2,3\n".encode())


async def test_n38_a_stray_quote_spoils_one_megabyte_at_most(tmp_path: Path) -> None:
    lines = [f"{number},{'x' * 40}" for number in range(60_000)]
    lines[10] = f'10,"{"x" * 40}'
    found = await rows(tmp_path, "a.csv", "\n".join(["a,b", *lines]).encode())
    assert [row.place for row in found[:11]] == [f"a.csv:{number}" for number in range(2, 13)]
    (fault,) = (row for row in found if row.fault)
    assert fault == Row("a.csv:12", {}, "has more than 1 MiB; is a quote not closed?")
    assert found[-1] == Row("a.csv:60001", {"a": "59999", "b": "x" * 40})
    assert len(found) > 30_000


async def test_n38_reading_looks_at_each_line_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line has a quote that opens a cell; one record after the other closes it."""
    read: list[int] = []
    original = CsvLines.__next__

    def counted(lines: CsvLines) -> str:
        line = original(lines)
        read.append(len(line))
        return line

    monkeypatch.setattr(CsvLines, "__next__", counted)
    content = "a,b\n" + '1,"x\n' * 40_000
    found = await rows(tmp_path, "a.csv", content.encode())
    assert sum(read) == len(content)
    assert all(row.fault for row in found)


async def test_n10_a_row_larger_than_a_megabyte_is_refused(tmp_path: Path) -> None:
    large, small = b'{"a": "' + b"x" * 17_000_000 + b'"}', b'{"a": 1}'
    assert await rows(tmp_path, "a.jsonl", large + b"\n" + small) == [
        Row("a.jsonl:1", {}, "has more than 1 MiB"),
        Row("a.jsonl:2", {"a": 1}),
    ]
    assert await rows(tmp_path, "a.json", b"[" + large + b"," + small + b"]") == [
        Row("a.json[0]", {}, "has more than 1 MiB"),
        Row("a.json[1]", {"a": 1}),
    ]


async def test_n37_a_row_has_a_bound_on_values_and_depth(tmp_path: Path) -> None:
    many = b'{"a": [' + b"0," * MAX_VALUES + b"0]}"
    deep = b'{"a": ' + b"[" * 500 + b"]" * 500 + b"}"
    (row,) = await rows(tmp_path, "a.json", b"[" + many + b"]")
    assert row.fault == "has more than 50,000 values"
    (row,) = await rows(tmp_path, "a.json", b"[" + deep + b"]")
    assert row.fault == "is nested too deeply"


async def test_json_lines(tmp_path: Path) -> None:
    content = b'{"a": 1}\n\n[]\n{"a": 1, "a": 2}\nx'
    found = await rows(tmp_path, "a.jsonl", content)
    assert found[0] == Row("a.jsonl:1", {"a": 1})
    assert [(row.place, row.fault) for row in found[1:]] == [
        ("a.jsonl:3", "must be an object"),
        ("a.jsonl:4", 'The name "a" occurs twice in one object'),
        ("a.jsonl:5", "Not valid JSON: Expecting value at line 1, column 1"),
    ]


async def test_json(tmp_path: Path) -> None:
    assert await rows(tmp_path, "a.json", b'[{"a": 1}, 2]') == [
        Row("a.json[0]", {"a": 1}),
        Row("a.json[1]", {}, "must be an object"),
    ]
    with pytest.raises(ConfigurationError, match="must be an array of objects"):
        await rows(tmp_path, "a.json", b"{}")


async def test_a_file_that_is_not_there_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"users\[0\].file: .*absent.csv cannot be read: No such file"):
        [row async for row in read_rows(Source(file=Path("absent.csv")), tmp_path, "users[0]")]


KINDS = {"n": Kind.INTEGER, "x": Kind.NUMBER, "b": Kind.BOOLEAN, "tags": Kind.ARRAY, "d": Kind.DATETIME}


@pytest.mark.parametrize(
    ("source", "row", "expected"),
    [
        ({"file": "a.csv"}, {"n": "3", "x": "1.5", "b": "true", "tags": "[1]", "d": "2026-01-31", "t": "7", "e": ""}, {
            "n": 3, "x": 1.5, "b": True, "tags": [1], "d": "2026-01-31", "t": "7",
        }),
        ({"file": "a.csv", "types": {"t": "integer"}}, {"t": "7"}, {"t": 7}),
        ({"file": "a.csv", "fields": {"n": "Number", "absent": "Other"}}, {"Number": "3", "more": "x"}, {"n": 3}),
        ({"rows": []}, {"n": "3", "e": "", "z": None}, {"n": "3", "e": "", "z": None}),
        ({"rows": [], "types": {"t": "string"}}, {"t": 7}, {"t": "7"}),
        ({"rows": [], "types": {"t": "string"}}, {"t": None}, {"t": None}),
        ({"rows": [], "types": {"d": "datetime"}}, {"d": "2001/01/01 06:55"}, {"d": "2001-01-01 06:55"}),
        ({"rows": [], "fields": {"city": "address.city", "zip": "address.zip"}}, {"address": {"city": "X"}}, {"city": "X"}),
    ],
)  # fmt: skip
def test_fields(source: dict[str, Any], row: dict[str, Any], expected: dict[str, Any]) -> None:
    assert fields_of(row, Source.model_validate(source), KINDS) == expected


@pytest.mark.parametrize(
    "row", [{"n": "3.5"}, {"n": "x"}, {"n": "1e300"}, {"n": "9" * 30}, {"b": "maybe"}, {"tags": "["}]
)
def test_a_cell_that_does_not_fit_is_named(row: dict[str, Any]) -> None:
    with pytest.raises(BadCell, match=f"^{next(iter(row))}: .* is not "):
        fields_of(row, Source(file=Path("a.csv")), KINDS)

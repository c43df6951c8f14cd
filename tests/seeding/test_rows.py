"""Files become rows, and rows the fields of records."""

from pathlib import Path
from typing import Any

import pytest

from service.errors import ConfigurationError
from service.schema.values import Kind
from service.seeding import sources
from service.seeding.manifest import Source
from service.seeding.rows import BadCell, fields_of
from service.seeding.sources import Row, read_rows


async def rows(folder: Path, name: str, content: bytes) -> list[Row]:
    (folder / name).write_bytes(content)
    return [row async for row in read_rows(Source(file=Path(name)), folder, "users[0]")]


@pytest.mark.parametrize("piece", [1, 7, 1_000_000])
async def test_csv_with_quotes_and_line_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(sources, "PIECE_BYTES", piece)
    content = '\ufeffa,b\r\n1,"x ""y"",\r\nz"\r\n\r\n2,ü\n3'.encode()
    assert await rows(tmp_path, "a.csv", content) == [
        Row("a.csv:2", {"a": "1", "b": 'x "y",\r\nz'}),
        Row("a.csv:5", {"a": "2", "b": "ü"}),
        Row("a.csv:6", {}, "has 1 cells, and the header has 2"),
    ]


async def test_json_lines(tmp_path: Path) -> None:
    content = b'{"a": 1}\n\n[]\n{"a": 1, "a": 2}\nx'
    found = await rows(tmp_path, "a.jsonl", content)
    assert found[0] == Row("a.jsonl:1", {"a": 1})
    assert [(row.place, row.fault) for row in found[1:]] == [
        ("a.jsonl:3", "must be an object"),
        ("a.jsonl:4", 'The name "a" stands twice in one object'),
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


@pytest.mark.parametrize("row", [{"n": "3.5"}, {"n": "x"}, {"b": "maybe"}, {"tags": "["}])
def test_a_cell_that_does_not_fit_is_named(row: dict[str, Any]) -> None:
    with pytest.raises(BadCell, match=f"^{next(iter(row))}: .* is not "):
        fields_of(row, Source(file=Path("a.csv")), KINDS)

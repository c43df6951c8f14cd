"""Rows of a reply that are decoded in steps."""

from typing import Any

import pytest
from bson import CodecOptions, encode
from bson.raw_bson import RawBSONDocument

from service.schema.steps import finish
from service.storage import encoded_rows
from service.storage.encoded_rows import BYTES_AT_ONCE, decode_rows

OPTIONS = CodecOptions[dict[str, Any]]()


def encoded(rows: list[dict[str, Any]]) -> list[RawBSONDocument]:
    return [RawBSONDocument(encode(row)) for row in rows]


@pytest.mark.parametrize("size", [0, 100, BYTES_AT_ONCE // 2, 2 * BYTES_AT_ONCE])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_rows_are_as_they_would_be_in_a_decoded_reply(count: int, size: int) -> None:
    rows = [{"_id": str(number), "data": {"text": "x" * size, "list": [number, None]}} for number in range(count)]
    assert finish(decode_rows(encoded(rows), OPTIONS)) == rows


def test_a_step_decodes_so_many_bytes_and_one_row_more(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def decode_all(data: bytes, options: Any) -> list[dict[str, Any]]:
        sizes.append(len(data))
        return []

    monkeypatch.setattr(encoded_rows, "decode_all", decode_all)
    row = {"text": "x" * 1_000}
    rows = encoded([row] * 1_000)
    steps = sum(1 for _ in decode_rows(rows, OPTIONS))
    assert sum(sizes) == 1_000 * len(encode(row))
    assert max(sizes) < BYTES_AT_ONCE + len(encode(row))
    assert len(sizes) == steps + 1

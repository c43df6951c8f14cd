"""Rows of an import as bytes: objects become lines, text and bytes pass unchanged."""

from collections.abc import Mapping
from typing import Any, Literal

from auth_collections_client.calls import Options
from auth_collections_client.encoding import json_bytes
from auth_collections_client.errors import ConfigurationError

Format = Literal["ndjson", "csv"]


class ImportSettings(Options, total=False):
    """The parameters of an import; `delimiter` is that of CSV."""

    mode: Literal["create", "upsert"]
    by: str
    dry_run: bool
    delimiter: str


TYPES = {"ndjson": "application/x-ndjson", "csv": "text/csv"}
# Bytes that are gathered before they are sent.
BATCH = 65_536


def line_of(row: Any) -> bytes:
    """Returns the bytes of one element of the rows."""
    if isinstance(row, bytes):
        return row
    if isinstance(row, str):
        return row.encode()
    if isinstance(row, Mapping):
        return json_bytes({"data": row}) + b"\n"
    raise ConfigurationError(f"A row is an object, text or bytes, not {type(row).__name__}.")


def content_type(rows: object, format: Format | None) -> str:
    """Returns the type of the body. Raises ConfigurationError for text or bytes whose format is not named."""
    if format is None and isinstance(rows, str | bytes):
        raise ConfigurationError('Text and bytes are imported with format="ndjson" or format="csv".')
    return TYPES[format or "ndjson"]

"""The project's own record as a member of a backup. Secrets in it are sealed by SECRET_KEY, as they are stored."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson

from service.schema.values import write_time
from service.storage.client import Document

# The fields of a stored project that describe it; the others are about its keeping here.
FIELDS = ("name", "created_at", "settings", "providers")
SIGNING = ("signing_key", "next_signing_key", "previous_signing_keys")


def write_project(record: Document, keys: Iterable[Document]) -> bytes:
    """The JSON of a stored project and of its API keys, which are there as SHA-256."""
    text = {
        "id": record["_id"],
        **{name: record[name] for name in (*FIELDS, *SIGNING) if name in record},
        "webhooks": [],
        "keys": [_write_key(key) for key in keys],
    }
    return orjson.dumps(_write(text), option=orjson.OPT_INDENT_2)


def _write_key(key: Document) -> dict[str, Any]:
    named = {name: value for name, value in key.items() if name not in {"_id", "project_id"}}
    return {"sha256": key["_id"], **named}


def _write(value: Any) -> Any:
    """The same with times as text."""
    if isinstance(value, dict):
        return {name: _write(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_write(inner) for inner in value]
    return write_time(value) if isinstance(value, datetime) else value

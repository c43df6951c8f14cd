"""The JSON form of records for followers, as a list shows them. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from service.query.account_shape import show_account
from service.schema.values import write_time

Row = Mapping[str, Any]
USER_PARTS = (("id", "_id"), ("email", "email"), ("data", "data"), ("created_at", "created_at"))


@dataclass(frozen=True, slots=True)
class RecordForm:
    """The JSON of a record. `is_touched`: a write that changes nothing of it is a change all the same, as of documents,

    whose version every reader sees.
    """

    write: Callable[[Row], bytes]
    is_touched: bool = False


def write_document(row: Row) -> bytes:
    """A document as a list of documents shows it."""
    shown = {
        "id": row["_id"],
        "data": row["data"],
        "created_at": row.get("created_at"),
        "updated_at": row.get("updated_at"),
        "version": row.get("version", 0),
    }
    return orjson.dumps(shown, _write, orjson.OPT_PASSTHROUGH_DATETIME)


def write_user(row: Row) -> bytes:
    """A user as a list of users shows one."""
    shown = {name: row[key] for name, key in USER_PARTS if key in row}
    return orjson.dumps(shown, _write, orjson.OPT_PASSTHROUGH_DATETIME)


def write_account(row: Row) -> bytes:
    """A user as a list of users by the secret key shows one."""
    return orjson.dumps(show_account(row), _write, orjson.OPT_PASSTHROUGH_DATETIME)


def write_data(row: Row) -> bytes:
    """The `data` alone, by which records are compared: to Python 1 and true are the same."""
    return orjson.dumps(row["data"], _write, orjson.OPT_PASSTHROUGH_DATETIME)


def _write(value: object) -> str:
    return write_time(value) if isinstance(value, datetime) else str(value)


FORM_OF_DOCUMENTS, FORM_OF_USERS = RecordForm(write_document, is_touched=True), RecordForm(write_user)
FORM_OF_ACCOUNTS = RecordForm(write_account)

"""JSON of requests: times become ISO text, files are taken out, placeholders stay in their batch."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum
from typing import Any, cast
from urllib.parse import quote

from auth_collections_client.errors import ConfigurationError
from auth_collections_client.narrow import is_mapping
from auth_collections_client.values import File


class Placeholder(str):
    """The id of a document that a `create` of a batch will make. It is good inside that batch alone."""

    __slots__ = ("batch",)
    batch: object

    @classmethod
    def of(cls, name: str, batch: object) -> "Placeholder":
        made = cls(name)
        made.batch = batch
        return made


def plain(value: Any, batch: object = None) -> Any:
    """Returns the JSON value of an argument. Raises ConfigurationError for a naive time, a file, a foreign placeholder."""
    if isinstance(value, Placeholder):
        return _reference(value, batch)
    if isinstance(value, Enum):
        return plain(value.value, batch)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, datetime):
        return time_text(value)
    if is_mapping(value):
        return {_name(name): plain(each, batch) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each, batch) for each in cast("Iterable[Any]", value)]
    if isinstance(value, File):
        raise ConfigurationError("A file stands in a field of the data, or in a list there, and nowhere else.")
    raise ConfigurationError(f"A value of the type {type(value).__name__} has no JSON.")


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise ConfigurationError(f"A name of a field is text, not {type(name).__name__}.")
    return name


def _reference(value: Placeholder, batch: object) -> dict[str, str]:
    if batch is None or value.batch is not batch:
        raise ConfigurationError("The id of a batch's `create` can be used inside that batch only.")
    return {"$id": str.__str__(value)}


def time_text(value: datetime) -> str:
    """Returns the ISO 8601 text of a time, in UTC and milliseconds. Raises ConfigurationError for a naive one."""
    if value.utcoffset() is None:
        raise ConfigurationError("A datetime needs a time zone: datetime.now(UTC), or tzinfo=...")
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def json_bytes(value: Any, batch: object = None) -> bytes:
    try:
        return json.dumps(plain(value, batch), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        # The error of an encoder may show the text.
        raise ConfigurationError(f"The data is no JSON: {type(error).__name__}.") from None


def segment(value: str) -> str:
    """Returns a name or an id as one segment of a path."""
    if isinstance(value, Placeholder):
        _reference(value, None)
    if not value or value in {".", ".."}:
        raise ConfigurationError("An id or a name is text that is not empty.")
    return quote(value, safe="")


def query_value(value: Any) -> str:
    """Returns a parameter of a query string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return time_text(value)
    return value if isinstance(value, str) else json.dumps(plain(value))

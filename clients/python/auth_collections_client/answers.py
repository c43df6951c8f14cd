"""Answers of the service: which are its own, and the error that each status stands for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from auth_collections_client.errors import ConflictError, ServiceError, TransportError, class_for
from auth_collections_client.narrow import list_of, object_of
from auth_collections_client.results import read_version

# Bytes that are read of an answer that is not a success.
ERROR_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Answer:
    """The status, the headers and the JSON of an answer; None where it has no body."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def etag(self) -> str | None:
        return self.headers.get("etag")


def is_json(headers: Mapping[str, str]) -> bool:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def read_answer(status: int, headers: Mapping[str, str], content: bytes) -> Answer:
    """Returns the answer of a success. Raises the error of any other status, TransportError for what is not ours."""
    if status == 204:
        return Answer(status, headers, None)
    if not is_json(headers):
        raise bad_answer(status, headers)
    try:
        body = json.loads(content)
    except ValueError:
        # The error would carry the foreign text.
        raise bad_answer(status, headers) from None
    if 200 <= status < 300:
        return Answer(status, headers, body)
    raise error_of(status, headers, body)


def error_of(status: int, headers: Mapping[str, str], body: Any) -> ServiceError:
    """Returns the error of an answer, by its status; a `bad_answer` where it is not an error of the service."""
    found = object_of(body)
    if "detail" not in found or status < 400:
        return bad_answer(status, headers)
    detail, code = found["detail"], found.get("code")
    error = class_for(status)(
        detail if isinstance(detail, str) else _summary(detail),
        status=status,
        code=code if isinstance(code, str) else "",
        body=body,
        request_id=headers.get("x-request-id"),
        retry_after=_seconds(headers.get("retry-after")),
    )
    if isinstance(error, ConflictError):
        error.current = read_version(headers.get("etag"))
        error.matched = found.get("matched")
    return error


def bad_answer(status: int, headers: Mapping[str, str]) -> TransportError:
    """Returns the error of an answer that is not the service's; nothing of the foreign body is in it."""
    return TransportError(
        f"The answer with the status {status} is not one of the service.",
        status=status,
        code="bad_answer",
        request_id=headers.get("x-request-id"),
        retry_after=_seconds(headers.get("retry-after")),
    )


def _summary(detail: Any) -> str:
    found = [object_of(each) for each in list_of(detail)]
    lines = [f"{'.'.join(map(str, each.get('loc', ())))}: {each.get('msg', '')}" for each in found[:3]]
    return "; ".join(lines) or "The request was refused."


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isdecimal() else None

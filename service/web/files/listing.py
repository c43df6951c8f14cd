"""The list of a project's files, for operators."""

import base64
import binascii
from collections.abc import Collection
from datetime import datetime
from typing import Any, cast

import orjson
from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import OperatorCaller
from service.domain.files.types import FILE_TYPES, extension
from service.domain.permissions import Access
from service.errors import Invalid, QueryTooSlow
from service.schema.values import BadValue, write_time
from service.services import Services
from service.storage.files.listing import FIELDS, FileQuery, SortBy, list_files
from service.storage.files.stored import StoredFile
from service.web.auth.authenticate import Credential
from service.web.http.query_values import read_text, read_values, read_whole
from service.web.http.render import Json
from service.web.openapi.declaration import Parameter, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.lists import DEFAULT_LIMIT, MAX_LIMIT, PAGE_PARAMETERS
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME, Time, WholeNumber

MAX_OWNER, MAX_LENGTH = 100, 2**63 - 1
MEDIA_TYPES = sorted({each.media_type for each in FILE_TYPES.values()})
SORTS = (*FIELDS, *(f"-{each}" for each in FIELDS))
EXAMPLE = {
    "name": "demo-0123456789abcdef0123456789abcdef.pdf",
    "original_name": "invoice.pdf",
    "url": "https://api.example.com/files/demo-0123456789abcdef0123456789abcdef.pdf",
    "type": "application/pdf",
    "bytes": 51_200,
    "owner": {"collection": "orders", "id": EXAMPLE_ID, "field": "invoice"},
    "created_at": EXAMPLE_TIME,
}


class FileOwner(TypedDict):
    """The record that the file was uploaded to; `collection` is null for a user."""

    collection: str | None
    id: str
    field: str


class ListedFile(TypedDict):
    """`url` is signed where the file is protected, and good for some minutes."""

    name: str
    original_name: str
    url: str
    type: str
    bytes: WholeNumber
    owner: FileOwner
    created_at: Time


class ListedFiles(TypedDict):
    files: list[ListedFile]
    next: str | None


@endpoint(
    f"GET {IN_PROJECT}/files",
    credential=Credential.OPERATOR_IN_PROJECT,
    tag=Tag.PROJECTS,
    operator=Access("data", "read"),
    parameters=(
        Parameter(
            name="owner",
            description="Files of this user or document, by its id.",
            schema={"type": "string", "minLength": 1, "maxLength": MAX_OWNER},
        ),
        Parameter(
            name="type",
            description="Files of this media type, or of a kind: `image/png`, `image`.",
            schema={"type": "string", "minLength": 1, "maxLength": MAX_OWNER},
        ),
        Parameter(
            name="sort_by",
            description="The order; `-` before it descends.",
            schema={"type": "string", "enum": list(SORTS), "default": "-created_at"},
        ),
        *PAGE_PARAMETERS,
    ),
    answer=Success("One page of files", {"one": {"files": [EXAMPLE], "next": None}}),
    errors=(QueryTooSlow,),
)
async def list_project_files(request: Request, caller: OperatorCaller, services: Services) -> Json[ListedFiles]:
    """List the files of a project."""
    project, query = caller.project, read_file_query(request.scope["query_string"])
    found = await list_files(project.database, query)
    shown = found[: query.limit]
    urls = await services.files.protection.show_values(project, [file.name for file in shown])
    entries = [_show(file, url) for file, url in zip(shown, urls, strict=True)]
    following = write_cursor(shown[-1], query.sort_by) if len(found) > query.limit else None
    return Json({"files": entries, "next": following})


def read_file_query(query_string: bytes) -> FileQuery:
    """Raises Invalid."""
    values = read_values(query_string, READERS)
    sort = values.get("sort_by", "-created_at")
    sort_by = cast(SortBy, sort.removeprefix("-"))
    after = values.get("cursor")
    if after is not None and not isinstance(after[0], KINDS[sort_by]):
        raise Invalid.one(("query", "cursor"), "This is no cursor of this order")
    return FileQuery(
        owner=values.get("owner"),
        extensions=values.get("type"),
        sort_by=sort_by,
        descends=sort.startswith("-"),
        limit=values.get("limit", DEFAULT_LIMIT),
        after=after,
    )


def write_cursor(file: StoredFile, sort_by: SortBy) -> str:
    """The place behind a file."""
    values: dict[SortBy, Any] = {
        "created_at": {"at": write_time(file.uploaded_at)},
        "bytes": file.length,
        "name": file.name,
    }
    return base64.urlsafe_b64encode(orjson.dumps([values[sort_by], file.name])).decode().rstrip("=")


def _read_cursor(text: str) -> tuple[datetime | int | str, str]:
    try:
        value, id_ = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if isinstance(value, dict):
            value = datetime.fromisoformat(value["at"]).replace(tzinfo=None)
        if not isinstance(id_, str) or not isinstance(value, datetime | int | str):
            raise TypeError
        if isinstance(value, int) and not 0 <= value <= MAX_LENGTH:
            raise ValueError
    except (binascii.Error, ValueError, TypeError, KeyError):
        raise BadValue("is no cursor of this list") from None
    return value, id_


def _read_type(text: str) -> Collection[str]:
    found = [
        name for name, each in FILE_TYPES.items() if each.media_type == text or each.media_type.startswith(f"{text}/")
    ]
    if not found:
        raise BadValue(f"must be of {', '.join(MEDIA_TYPES)}, or the part before the slash")
    return found


def _read_sort(text: str) -> str:
    if text not in SORTS:
        raise BadValue(f"must be one of {', '.join(SORTS)}")
    return text


def _show(file: StoredFile, url: str) -> ListedFile:
    kind = FILE_TYPES.get(extension(file.name))
    return {
        "name": file.name,
        "original_name": file.original_name,
        "url": url,
        "type": kind.media_type if kind is not None else "application/octet-stream",
        "bytes": file.length,
        "owner": {"collection": file.collection or None, "id": file.owner, "field": file.field},
        "created_at": file.uploaded_at,
    }


KINDS: dict[SortBy, type] = {"created_at": datetime, "bytes": int, "name": str}
READERS = {
    "owner": read_text(MAX_OWNER),
    "type": _read_type,
    "sort_by": _read_sort,
    "limit": read_whole(1, MAX_LIMIT),
    "cursor": _read_cursor,
}

"""The log of a project's requests, for those who may read its logs."""

import re
from typing import Any

from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import OperatorCaller
from service.domain.permissions import Access
from service.domain.traffic.request_log import RequestPage, show_request
from service.errors import QueryTooSlow
from service.schema.values import BadValue, read_time
from service.services import Services
from service.storage.request_log import RequestFilter
from service.web.auth.authenticate import Credential
from service.web.http.query_values import read_text, read_values, read_whole
from service.web.http.render import Json
from service.web.openapi import shapes
from service.web.openapi.declaration import Parameter, Schema, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.lists import DEFAULT_LIMIT, MAX_LIMIT, PAGE_PARAMETERS, TIME
from service.web.openapi.shapes import Time, WholeNumber

MAX_TEXT, MAX_MS = 200, 86_400_000
STATUS = re.compile(r"[1-5]xx|[1-5][0-9]{2}")
ID = re.compile(r"[0-9a-f]{24}")
# Parameters that are compared with a field of the same name.
FIELDS = {
    "route": "Requests to this route, such as `/api/collections/{name}`.",
    "method": "Requests with this method.",
    "code": "Refusals with this code.",
    "key_id": "Requests with this API key, by its id.",
    "user_id": "Requests of this user.",
    "operator_id": "Requests of this operator.",
    "request_id": "The request with this id.",
}
TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
PARAMETERS = (
    Parameter(name="since", description="Requests from this time on.", schema=TIME),
    Parameter(name="until", description="Requests before this time.", schema=TIME),
    Parameter(
        name="status",
        description="A status, or a class: `404`, `4xx`.",
        schema={"type": "string", "pattern": "^([1-5]xx|[1-5][0-9]{2})$"},
    ),
    *(Parameter(name=name, description=text, schema=TEXT) for name, text in FIELDS.items()),
    Parameter(
        name="min_ms",
        description="Requests that took so many milliseconds or more.",
        schema={"type": "integer", "minimum": 0, "maximum": MAX_MS},
    ),
    *PAGE_PARAMETERS,
)
EXAMPLE = {
    "id": shapes.EXAMPLE_ID,
    "at": shapes.EXAMPLE_TIME,
    "method": "POST",
    "route": "/api/collections/{name}/documents",
    "status": 403,
    "ms": 2.4,
    "bytes": 61,
    "key_id": None,
    "user_id": "66f0c1a2b3c4d5e6f7a8b9c1",
    "operator_id": None,
    "code": "forbidden",
    "rule": "collections.notes.create",
    "request_id": "0b1c2d3e4f5a6b7c",
}


class RequestView(TypedDict):
    """`rule` is the access rule that refused; `bytes` are those of the answer's body."""

    id: str
    at: Time
    method: str
    route: str
    status: int
    ms: float
    bytes: WholeNumber
    key_id: str | None
    user_id: str | None
    operator_id: str | None
    code: str | None
    rule: str | None
    request_id: str


class RequestList(TypedDict):
    """`skipped` requests of the deployment were not written in that time; `oldest` is the time of the oldest that is kept."""

    requests: list[RequestView]
    skipped: WholeNumber
    oldest: Time | None
    next: str | None


@endpoint(
    f"GET {IN_PROJECT}/requests",
    credential=Credential.OPERATOR_IN_PROJECT,
    tag=Tag.PROJECTS,
    operator=Access("logs", "read"),
    description="A worker writes at most 100 requests a second, those that failed or were slow first. No entry has an "
    "address, a path, a query, a header or a value.",
    parameters=PARAMETERS,
    answer=Success(
        "One page of requests, the newest first",
        {"a page": {"requests": [EXAMPLE], "skipped": 0, "oldest": shapes.EXAMPLE_TIME, "next": None}},
    ),
    errors=(QueryTooSlow,),
)
async def list_requests(request: Request, caller: OperatorCaller, services: Services) -> Json[RequestList]:
    """List the latest requests of a project."""
    values = read_values(request.scope["query_string"], READERS)
    limit, after = values.pop("limit", DEFAULT_LIMIT), values.pop("cursor", None)
    page = await services.traffic.log.page(read_filter(caller.project.id, values), after=after, limit=limit)
    return Json(_view(page))


def read_filter(project_id: str, values: dict[str, Any]) -> RequestFilter:
    equal = tuple((name, values[name]) for name in FIELDS if name in values)
    others = {name: values[name] for name in ("since", "until", "min_ms") if name in values}
    return RequestFilter(project_id, statuses=values.get("status"), equal=equal, **others)


def _view(page: RequestPage) -> RequestList:
    requests: list[Any] = [show_request(row) for row in page.rows]
    return {"requests": requests, "skipped": page.skipped, "oldest": page.oldest, "next": page.next}


def _read_status(text: str) -> tuple[int, int]:
    if not STATUS.fullmatch(text):
        raise BadValue("must be a status such as 404, or a class such as 4xx")
    return (int(text[0]) * 100, int(text[0]) * 100 + 100) if text.endswith("xx") else (int(text), int(text) + 1)


def _read_cursor(text: str) -> str:
    if not ID.fullmatch(text):
        raise BadValue("is no cursor of this list")
    return text


READERS = {
    "since": read_time,
    "until": read_time,
    "status": _read_status,
    **dict.fromkeys(FIELDS, read_text(MAX_TEXT)),
    "min_ms": read_whole(0, MAX_MS),
    "limit": read_whole(1, MAX_LIMIT),
    "cursor": _read_cursor,
}

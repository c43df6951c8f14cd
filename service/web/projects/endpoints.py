"""Projects: listed, made, renamed and deleted by operators."""

import base64
import binascii
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial
from typing import Any, cast

import orjson
from starlette.requests import Request

from service.domain.access.caller import AdminCaller, OperatorCaller
from service.domain.permissions import EVERY, Access, Rights
from service.domain.projects.setting_changes import check_types
from service.errors import Conflict, Invalid, QueryTooSlow
from service.query.parse import parse_pairs
from service.schema.values import write_time
from service.services import Services
from service.storage.project_lists import BY_FIGURE, ORDER, ProjectQuery, SortBy
from service.web.auth.authenticate import Credential
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Accepted, Created, Json
from service.web.openapi.declaration import Parameter, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.projects.bodies import (
    EXAMPLE_PROJECT,
    Deleting,
    DeletionForm,
    Figures,
    MadeProject,
    NewProject,
    ProjectChange,
    ProjectList,
    ProjectView,
)

DEFAULT_LIMIT, MAX_LIMIT, MAX_TEXT = 50, 200, 100
# The largest whole number of MongoDB.
MAX_FIGURE = 2**63 - 1
SORTS: tuple[SortBy, ...] = ("name", "created_at", "requests_24h", "errors_24h", "storage_bytes")
NAMES = ("q", "sort_by", "limit", "cursor")
PARAMETERS = (
    Parameter(
        name="q",
        description="A part of the name or the id, in any case.",
        schema={"type": "string", "maxLength": MAX_TEXT},
    ),
    Parameter(
        name="sort_by",
        description="The order; `-` before it descends.",
        schema={"type": "string", "enum": [*SORTS, *(f"-{each}" for each in SORTS)], "default": "name"},
    ),
    Parameter(
        name="limit",
        description="Page size.",
        schema={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    ),
    Parameter(name="cursor", description="The `next` of the page before.", schema={"type": "string"}),
)


def read_project_query(query_string: bytes, ids: Collection[str] | None) -> ProjectQuery:
    """The page that is wanted, among the projects `ids`. Raises Invalid."""
    given: dict[str, str] = {}
    for name, value in parse_pairs(query_string):
        if name not in NAMES or name in given:
            raise Invalid.one(("query", name), "This endpoint takes no such parameter, or takes it once")
        given[name] = value
    sort = given.get("sort_by", "name")
    if sort.removeprefix("-") not in SORTS:
        raise Invalid.one(("query", "sort_by"), f"Must be one of {', '.join(SORTS)}, with or without - before it")
    if len(given.get("q", "")) > MAX_TEXT:
        raise Invalid.one(("query", "q"), f"Must have at most {MAX_TEXT} characters")
    sort_by = cast(SortBy, sort.removeprefix("-"))
    after = read_cursor(given["cursor"], sort_by) if "cursor" in given else None
    limit = _read_limit(given.get("limit", str(DEFAULT_LIMIT)))
    return ProjectQuery(ids, given.get("q", ""), sort_by, sort.startswith("-"), limit, after)


def _read_limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= MAX_LIMIT):
        raise Invalid.one(("query", "limit"), f"Must be a whole number from 1 to {MAX_LIMIT}")
    return int(text)


def write_cursor(record: dict[str, Any]) -> str:
    """The place behind `record`."""
    value = record[ORDER]
    row = [write_time(value) if isinstance(value, datetime) else value, record["_id"]]
    return base64.urlsafe_b64encode(orjson.dumps(row)).decode().rstrip("=")


def read_cursor(text: str, sort_by: SortBy) -> tuple[Any, str]:
    """Raises Invalid."""
    try:
        value, id_ = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if not isinstance(id_, str):
            raise TypeError
        return _read_place(value, sort_by), id_
    except (binascii.Error, ValueError, TypeError):
        raise Invalid.one(("query", "cursor"), "This is no cursor of this list") from None


def _read_place(value: object, sort_by: SortBy) -> object:
    """Raises TypeError, ValueError."""
    if sort_by in BY_FIGURE:
        if not isinstance(value, int) or not 0 <= value <= MAX_FIGURE:
            raise TypeError
        return value
    if not isinstance(value, str):
        raise TypeError
    return datetime.fromisoformat(value).replace(tzinfo=None) if sort_by == "created_at" else value


ONE = {"a project": EXAMPLE_PROJECT}

of_operator = partial(endpoint, credential=Credential.OPERATOR, tag=Tag.PROJECTS)
in_project = partial(endpoint, credential=Credential.OPERATOR_IN_PROJECT, tag=Tag.PROJECTS)


@of_operator(
    "GET /admin/v1/projects",
    operator=Access("any", "read"),
    parameters=PARAMETERS,
    answer=Success(
        "Those in which the operator has a role; `total` is the number of all that match",
        {"one": {"projects": [EXAMPLE_PROJECT], "total": 1, "next": None}},
    ),
    errors=(QueryTooSlow,),
)
async def list_projects(request: Request, caller: AdminCaller, services: Services) -> Json[ProjectList]:
    """List projects."""
    rights = caller.rights
    ids = None if EVERY in rights.roles else list(rights.roles)
    query = read_project_query(request.scope["query_string"], ids)
    page = await services.base.admin.page(query)
    following = write_cursor(page.records[-1]) if page.is_more else None
    return Json({"projects": [_view(each, rights) for each in page.records], "total": page.total, "next": following})


@of_operator(
    "POST /admin/v1/projects",
    operator=Access("deployment", "write"),
    body={"a shop": {"name": "Shop", "id": "shop"}},
    answer=Success(
        "The project, and its keys, which are shown once",
        {
            "one": {
                "project": EXAMPLE_PROJECT,
                "api_key": "ac_shop_" + "a" * 32,
                "publishable_key": "acp_shop_" + "b" * 32,
            }
        },
    ),
    errors=(Conflict,),
)
async def create_project(
    request: RequestWith[NewProject], caller: AdminCaller, services: Services
) -> Created[MadeProject]:
    """Make a project."""
    form = await read_form(request)
    check_types(form.settings)
    settings = {name: value for name, value in form.settings.items() if value is not None}
    project, keys = await services.base.admin.create_new(form.name, form.id, settings)
    record = {"_id": project.id, "name": project.name, "created_at": project.created_at}
    view = _view(record, caller.rights)
    return Created({"project": view, "api_key": keys.secret, "publishable_key": keys.publishable})


@in_project(f"GET {IN_PROJECT}", operator=Access("config", "read"), answer=Success("The project", ONE))
async def read_project(request: Request, caller: OperatorCaller, services: Services) -> Json[ProjectView]:
    """Show a project."""
    return Json(_view(await _record(caller, services, caller.project.name), caller.admin.rights))


@in_project(
    f"PATCH {IN_PROJECT}",
    operator=Access("config", "write"),
    description="In force within five seconds.",
    body={"a name": {"name": "Shop"}},
    answer=Success("The project afterwards", ONE),
)
async def rename_project(
    request: RequestWith[ProjectChange], caller: OperatorCaller, services: Services
) -> Json[ProjectView]:
    """Rename a project."""
    form = await read_form(request)
    project = await services.base.admin.rename(caller.project.id, form.name)
    return Json(_view(await _record(caller, services, project.name), caller.admin.rights))


@in_project(
    f"POST {IN_PROJECT}/deletion",
    operator=Access("deployment", "write", confirm=True),
    description="Its keys and tokens are refused at once; its data is gone within a minute.",
    body={"a name": {"confirm": "Shop"}},
    answer=Success("The project is being deleted", {"it is": {"deleting": True}}),
)
async def delete_project(
    request: RequestWith[DeletionForm], caller: OperatorCaller, services: Services
) -> Accepted[Deleting]:
    """Delete a project with all its data."""
    form = await read_form(request)
    project = await services.base.admin.find(caller.project.id)
    if form.confirm != project.name:
        raise Invalid.one(("body", "confirm"), "This is not the project's name")
    await services.base.admin.begin_deletion(project.id)
    return Accepted({"deleting": True})


async def _record(caller: OperatorCaller, services: Services, name: str) -> dict[str, Any]:
    project = caller.project
    figures = await services.traffic.usage.figures(project.id)
    return {"_id": project.id, "name": name, "created_at": project.created_at, "figures": figures}


def _view(record: Mapping[str, Any], rights: Rights) -> ProjectView:
    return {
        "id": record["_id"],
        "name": record["name"],
        "created_at": record["created_at"],
        "role": rights.role_in(record["_id"]) or "viewer",
        "figures": _figures(record.get("figures")),
    }


def _figures(figures: Mapping[str, Any] | None) -> Figures | None:
    if figures is None:
        return None
    return {
        "users": figures["users"],
        "documents": figures["documents"],
        "storage_bytes": figures["storage_bytes"],
        "requests_24h": figures["requests_24h"],
        "errors_24h": figures["errors_24h"],
        "last_request_at": figures["last_request_at"],
        "as_of": figures["as_of"],
    }

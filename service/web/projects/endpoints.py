"""Projects: listed, made, renamed and deleted by operators."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request

from service.domain.access.caller import AdminCaller, OperatorCaller
from service.domain.permissions import EVERY, Access, Rights
from service.domain.projects.setting_changes import check_types
from service.errors import Conflict, Invalid, QueryTooSlow
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.json_body import RequestWith, read_form
from service.web.http.render import Accepted, Created, Json
from service.web.openapi.declaration import Success, Tag
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
from service.web.projects.paging import PARAMETERS, read_project_query, write_cursor

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

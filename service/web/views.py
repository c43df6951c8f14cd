"""Views over HTTP."""

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import OperatorCaller
from service.domain.permissions import Access
from service.domain.views import Kind, SavedView, ViewDraft
from service.errors import PermissionRequired, VersionConflict, ViewLimit, ViewNotFound
from service.schema.values import BadValue
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.conditional import read_if_match
from service.web.http.json_body import RequestWith, read_form
from service.web.http.query_values import read_text, read_values
from service.web.http.render import Created, Json, NoContent
from service.web.openapi.declaration import ETAG, IF_MATCH, ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME, Id, Strict, Time, Version

MAX_OF, MAX_NAME = 200, 100
KINDS = ("grid", "chart")
STATE = {"where": {"year_gte": 2000}, "sort": "-created_at", "columns": ["title", "year"]}
EXAMPLE = {
    "id": EXAMPLE_ID,
    "kind": "grid",
    "of": "books",
    "name": "New books",
    "state": STATE,
    "shared": True,
    "own": True,
    "version": 1,
    "created_at": EXAMPLE_TIME,
    "updated_at": EXAMPLE_TIME,
}
NEW = {"kind": "grid", "of": "books", "name": "New books", "state": STATE, "shared": True}
TO_SHARE = "shop:data:write"

OfText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_OF, pattern="^[^\\x00]*$")]
NameText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, pattern="^[^\\x00]*$")]

in_project = partial(
    endpoint,
    credential=Credential.OPERATOR_IN_PROJECT,
    tag=Tag.PROJECTS,
    operator=Access("data", "read"),
)


class NewView(Strict):
    """`of` is the collection of a grid, or the aggregation of a chart; `state` is the console's own."""

    kind: Kind
    of: OfText
    name: NameText
    state: dict[str, Any] = Field(default_factory=dict)
    shared: bool = False


class ViewChange(Strict):
    """Fields that the body does not name stay."""

    of: OfText | None = None
    name: NameText | None = None
    state: dict[str, Any] | None = None
    shared: bool | None = None


class ViewShown(TypedDict):
    """`own`: the caller made it. A view that is not `shared` is shown to its maker only."""

    id: Id
    kind: Literal["grid", "chart"]
    of: str
    name: str
    state: dict[str, Any]
    shared: bool
    own: bool
    version: Version
    created_at: Time
    updated_at: Time


class ViewList(TypedDict):
    views: list[ViewShown]


@in_project(
    f"GET {IN_PROJECT}/views",
    parameters=(
        Parameter(name="kind", description="Views of this kind.", schema={"type": "string", "enum": list(KINDS)}),
        Parameter(
            name="of",
            description="Views of this collection or aggregation.",
            schema={"type": "string", "minLength": 1, "maxLength": MAX_OF},
        ),
    ),
    answer=Success("The shared ones and one's own, by their names", {"one": {"views": [EXAMPLE]}}),
)
async def list_views(request: Request, caller: OperatorCaller, services: Services) -> Json[ViewList]:
    """List saved views."""
    values = read_values(request.scope["query_string"], {"kind": _read_kind, "of": read_text(MAX_OF)})
    found = await services.views.list(caller, values.get("kind"), values.get("of"))
    return Json({"views": [_show(view) for view in found]})


@in_project(
    f"POST {IN_PROJECT}/views",
    description="A shared view needs `data` write. A state has at most 16 KiB.",
    body={"a grid": NEW},
    answer=Success("The view", {"one": EXAMPLE}, ETAG),
    errors=(ErrorExample(PermissionRequired, TO_SHARE), ViewLimit),
)
async def create_view(request: RequestWith[NewView], caller: OperatorCaller, services: Services) -> Created[ViewShown]:
    """Save a view."""
    form = await read_form(request)
    draft = ViewDraft(form.kind, form.of, form.name, form.state, form.shared)
    view = await services.views.create(caller, draft)
    return Created(_show(view), version=view.version)


@in_project(
    f"PATCH {IN_PROJECT}/views/{{id}}",
    description="To change a shared view, or to share one, needs `data` write.",
    parameters=(IF_MATCH,),
    body={"a name": {"name": "Newest books"}},
    answer=Success("The view afterwards", {"one": EXAMPLE}, ETAG),
    errors=(ViewNotFound, ErrorExample(VersionConflict, '"v3"')),
)
async def change_view(request: RequestWith[ViewChange], caller: OperatorCaller, services: Services) -> Json[ViewShown]:
    """Change a saved view."""
    form = await read_form(request)
    draft = ViewDraft(None, form.of, form.name, form.state, form.shared)
    versions = read_if_match(request.headers)
    view = await services.views.change(caller, request.path_params["id"], draft, versions)
    return Json(_show(view), version=view.version)


@in_project(
    f"DELETE {IN_PROJECT}/views/{{id}}",
    description="To delete a shared view needs `data` write.",
    answer=Success("The view is gone"),
    errors=(ViewNotFound,),
)
async def delete_view(request: Request, caller: OperatorCaller, services: Services) -> NoContent:
    """Delete a saved view."""
    await services.views.delete(caller, request.path_params["id"])
    return NoContent()


def _read_kind(text: str) -> str:
    if text not in KINDS:
        raise BadValue("must be grid or chart")
    return text


def _show(view: SavedView) -> ViewShown:
    return {
        "id": view.id,
        "kind": view.kind,
        "of": view.of,
        "name": view.name,
        "state": dict(view.state),
        "shared": view.shared,
        "own": view.is_own,
        "version": view.version,
        "created_at": view.record["created_at"],
        "updated_at": view.record["updated_at"],
    }

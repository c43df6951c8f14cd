"""The audit log, for those who may read a project's logs, and all of it for owners."""

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field
from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import AdminCaller, OperatorCaller
from service.domain.audit.actions import Action, is_action, show_entry
from service.domain.audit.audit import AuditPage
from service.domain.audit.origin import ActorKind
from service.domain.permissions import Access
from service.errors import QueryTooSlow
from service.schema.values import BadValue, read_time
from service.services import Services
from service.storage.audit import AuditFilter, Place
from service.web.auth.authenticate import Credential
from service.web.http.query_values import read_place, read_text, read_values, read_whole, write_place
from service.web.http.render import Json
from service.web.openapi import shapes
from service.web.openapi.declaration import Parameter, Schema, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.lists import DEFAULT_LIMIT, MAX_LIMIT, PAGE_PARAMETERS, TIME
from service.web.openapi.shapes import Time, WholeNumber

MAX_ID = 200
TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_ID}
PARAMETERS = (
    Parameter(
        name="action",
        description=f"Entries of this action: {', '.join(Action)}, `data.` or `acting.` and an operation id.",
        schema={"type": "string"},
    ),
    Parameter(name="actor", description="Entries of this actor, by its id.", schema=TEXT),
    Parameter(name="target", description="Entries about this thing, by its id.", schema=TEXT),
    Parameter(name="since", description="Entries from this time on.", schema=TIME),
    Parameter(name="until", description="Entries before this time.", schema=TIME),
    *PAGE_PARAMETERS,
)
EXAMPLE = {
    "id": shapes.EXAMPLE_ID,
    "at": shapes.EXAMPLE_TIME,
    "actor": {"kind": "operator", "id": "66f0c1a2b3c4d5e6f7a8b9c1", "name": "Olga"},
    "project_id": "shop",
    "action": "settings.changed",
    "target": {"type": "project", "id": "shop", "name": "Shop"},
    "status": 200,
    "changes": [{"path": ["settings", "EVENT_DAYS"], "before": None, "after": 30}],
    "omitted": 0,
    "request_id": "0b1c2d3e4f5a6b7c",
    "ip": "192.0.2.1",
    "user_agent": "Mozilla/5.0",
    "reason": None,
}
PAGE = {"a page": {"entries": [EXAMPLE], "next": None}}


class ActorView(TypedDict):
    kind: ActorKind
    id: str | None
    name: str | None


class TargetView(TypedDict):
    type: str
    id: str
    name: str | None


class ChangeView(TypedDict):
    """`before` and `after` are null where there was or is nothing; a secret is `***`, a long value is cut."""

    path: list[str]
    before: Any
    after: Any


class EntryView(TypedDict):
    id: str
    at: Time
    actor: ActorView
    project_id: str | None
    action: str
    target: TargetView
    status: Annotated[int | Literal["begun"] | None, Field(description="Null for commands and jobs")]
    changes: list[ChangeView]
    omitted: WholeNumber
    request_id: str | None
    ip: str | None
    user_agent: str | None
    reason: str | None


class EntryList(TypedDict):
    entries: list[EntryView]
    next: str | None


lists = partial(
    endpoint,
    tag=Tag.OPERATORS,
    parameters=PARAMETERS,
    answer=Success("One page of entries, the newest first", PAGE),
    errors=(QueryTooSlow,),
)


@lists("GET /admin/v1/audit", credential=Credential.OPERATOR, operator=Access("deployment", "read"))
async def list_audit(request: Request, caller: AdminCaller, services: Services) -> Json[EntryList]:
    """List the entries of the audit log."""
    return await _list(request, services)


@lists(f"GET {IN_PROJECT}/audit", credential=Credential.OPERATOR_IN_PROJECT, operator=Access("logs", "read"))
async def list_audit_in_project(request: Request, caller: OperatorCaller, services: Services) -> Json[EntryList]:
    """List the entries of a project in the audit log."""
    return await _list(request, services, project_id=caller.project.id)


async def _list(request: Request, services: Services, project_id: str | None = None) -> Json[EntryList]:
    values = read_values(request.scope["query_string"], READERS)
    limit, after = values.pop("limit", DEFAULT_LIMIT), values.pop("cursor", None)
    page = await services.base.audit.list(AuditFilter(project_id, **values), after=after, limit=limit)
    return Json(_view(page))


def _view(page: AuditPage) -> EntryList:
    following = write_place(page.next.at, page.next.id) if page.next else None
    entries: list[Any] = [show_entry(row) for row in page.rows]
    return {"entries": entries, "next": following}


def _read_action(text: str) -> str:
    if not is_action(text):
        raise BadValue("must be an action of the audit log")
    return text


READERS = {
    "action": _read_action,
    "actor": read_text(MAX_ID),
    "target": read_text(MAX_ID),
    "since": read_time,
    "until": read_time,
    "limit": read_whole(1, MAX_LIMIT),
    "cursor": lambda text: Place(*read_place(text)),
}

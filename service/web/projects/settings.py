"""The settings of a project, as JSON and with their schema."""

from collections.abc import Set
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from typing_extensions import TypedDict

from service.domain.access.caller import AdminCaller, OperatorCaller
from service.domain.permissions import EVERY, Access
from service.domain.projects.setting_changes import OWNERS_SETTINGS, SetSettings, check_types
from service.domain.projects.setting_forms import settings_schema
from service.errors import PermissionRequired, VersionConflict
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.conditional import read_if_match
from service.web.http.json_body import RequestWith, read_form
from service.web.http.query_values import read_flags
from service.web.http.render import Json
from service.web.openapi.declaration import IF_MATCH, ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.shapes import Strict, Version

OWNER = "*:deployment:write"
EXAMPLE = {"settings": {"TIER": "enterprise", "EVENT_DAYS": 30}, "secrets": ["SMTP_URL"], "version": 3}
CHANGE = {"path": ["settings", "EVENT_DAYS"], "before": None, "after": 30}
DRY_RUN = Parameter(name="dry_run", description="Only show what would change.", schema={"type": "boolean"})


class SettingsView(TypedDict):
    """The settings that are set; those that are absent have their defaults. `secrets` are names of secrets that are set."""

    settings: dict[str, Any]
    secrets: list[str]
    version: Version


class SettingsForm(Strict):
    """Settings by their names; null is the default again. The others stay."""

    settings: Annotated[dict[str, Any], Field(description="`/admin/v1/settings-schema` describes each")]


class SettingChangeView(TypedDict):
    """A secret is `***`."""

    path: list[str]
    before: Any
    after: Any


class SettingChangeList(TypedDict):
    changes: list[SettingChangeView]


def settings_view(found: SetSettings) -> SettingsView:
    return {"settings": dict(found.settings), "secrets": list(found.secrets), "version": found.version}


@endpoint(
    "GET /admin/v1/settings-schema",
    credential=Credential.OPERATOR,
    tag=Tag.PROJECTS,
    operator=Access("any", "read"),
    description="JSON Schema 2020-12, with `x-group`, `x-order`, `x-unit`, `x-zero` and `x-needs` for a form.",
    answer=Success("The schema", {"a part of it": {"type": "object", "properties": {}}}),
)
async def read_settings_schema(request: Request, caller: AdminCaller, services: Services) -> Json[dict[str, Any]]:
    """Show the JSON Schema of a project's settings."""
    return Json(settings_schema())


@endpoint(
    f"GET {IN_PROJECT}/settings",
    credential=Credential.OPERATOR_IN_PROJECT,
    tag=Tag.PROJECTS,
    operator=Access("config", "read"),
    answer=Success("The settings, and their version as `ETag`", {"one": EXAMPLE}),
)
async def read_settings(request: Request, caller: OperatorCaller, services: Services) -> Json[SettingsView]:
    """Show the settings of a project."""
    return _answer(await services.base.setting_changes.read(caller.project.id))


@endpoint(
    f"PATCH {IN_PROJECT}/settings",
    credential=Credential.OPERATOR_IN_PROJECT,
    tag=Tag.PROJECTS,
    operator=Access("config", "write"),
    description="In force within five seconds. `TIER`, `DAILY_LIMIT` and `COLLECTION_LIMIT` are changed by owners.",
    parameters=(DRY_RUN, IF_MATCH),
    body={"events": {"settings": {"EVENT_DAYS": 30, "MAIL_FROM": None}}},
    answer=Success(
        "The settings afterwards; with `dry_run=true` what would change",
        {"changed": EXAMPLE, "dry run": {"changes": [CHANGE]}},
    ),
    errors=(ErrorExample(VersionConflict, '"v3"'), ErrorExample(PermissionRequired, OWNER)),
)
async def change_settings(
    request: RequestWith[SettingsForm], caller: OperatorCaller, services: Services
) -> Json[SettingsView | SettingChangeList]:
    """Change settings of a project."""
    dry_run = read_flags(request, ("dry_run",))["dry_run"]
    form = await read_form(request)
    check_types(form.settings)

    def allow(changed: Set[str]) -> None:
        if changed & OWNERS_SETTINGS and not caller.admin.rights.allows(EVERY, "deployment", "write"):
            raise PermissionRequired(OWNER)

    done = await services.base.setting_changes.change(
        caller.project.id, form.settings, if_match=read_if_match(request.headers), dry_run=dry_run, allow=allow
    )
    if dry_run:
        changes: list[Any] = list(done.changes)
        return Json({"changes": changes})
    return _answer(done.after)


def _answer(found: SetSettings) -> Json[Any]:
    return Json(settings_view(found), version=found.version)

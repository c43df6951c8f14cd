"""Backups over HTTP: taken, listed, changed, verified and deleted; and projects that are restored and cloned from them."""

from functools import partial

from starlette.requests import Request

from service.domain.access.caller import AdminCaller, OperatorCaller
from service.domain.permissions import Access
from service.domain.portable.backups import (
    begin_backup,
    begin_restore,
    begin_verification,
    change_backup,
    delete_backup,
    find_backup,
    find_whole,
    match_project,
)
from service.domain.portable.jobs import describe_job
from service.domain.projects.lookup import Project
from service.errors import (
    BackupInUse,
    BackupNotFound,
    BackupOnOtherHost,
    Conflict,
    ProjectBusy,
    QueryTooSlow,
)
from service.schema.values import BadValue
from service.services import Services
from service.storage.client import Document
from service.web.auth.authenticate import Credential
from service.web.http.json_body import RequestWith, read_form
from service.web.http.query_values import read_place, read_text, read_values, read_whole, write_place
from service.web.http.render import Accepted, Json, NoContent
from service.web.openapi.declaration import ErrorExample, Parameter, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.lists import DEFAULT_LIMIT, MAX_LIMIT, PAGE_PARAMETERS
from service.web.portable.bodies import (
    EXAMPLE_BACKUP,
    EXAMPLE_JOB,
    STATES,
    BackupChange,
    BackupDetail,
    BackupList,
    BackupView,
    NewBackup,
    NewClone,
    NewRestore,
    StartedBackup,
    StartedJob,
    show_backup,
    show_detail,
    show_job,
)

MAX_PROJECT_ID = 40
STATE = Parameter(name="state", description="Backups in this state.", schema={"type": "string", "enum": list(STATES)})
OF_PROJECT = Parameter(
    name="project_id",
    description="Backups of this project, which may be deleted by now.",
    schema={"type": "string", "minLength": 1, "maxLength": MAX_PROJECT_ID},
)
PAGE = Success("One page of backups, the newest first", {"a page": {"backups": [EXAMPLE_BACKUP], "next": None}})
STARTED = Success("The job", {"one": {"job": EXAMPLE_JOB}})
ONE = {"one": EXAMPLE_BACKUP}
BUSY = ErrorExample(ProjectBusy, "The project has another job that has not ended")
TAKEN = ErrorExample(Conflict, "A project with the id shop already exists")
ELSEWHERE = ErrorExample(BackupOnOtherHost, "The file is on the host host-2")
FOR_OWNERS = Access("deployment", "write", confirm=True)
TO_CHANGE = Access("config", "write", confirm=True)

in_project = partial(endpoint, credential=Credential.OPERATOR_IN_PROJECT, tag=Tag.PROJECTS)
of_deployment = partial(endpoint, credential=Credential.OPERATOR, tag=Tag.OPERATIONS)


@in_project(
    f"POST {IN_PROJECT}/backups",
    operator=TO_CHANGE,
    description="One job of a project runs at a time. The backup is there once its state is `done`.",
    body={"all": {}, "a note": {"without": ["events"], "note": "Before the move"}},
    answer=Success("The job, and the backup that it makes", {"one": {"job": EXAMPLE_JOB, "backup": EXAMPLE_BACKUP}}),
    errors=(BUSY, Conflict),
)
async def create_backup(
    request: RequestWith[NewBackup], caller: OperatorCaller, services: Services
) -> Accepted[StartedBackup]:
    """Back a project up."""
    form = await read_form(request)
    without = sorted(set(form.without))
    job, backup = await begin_backup(services.backups, caller.project.id, without=without, note=form.note)
    return Accepted({"job": show_job(job), "backup": show_backup(backup)})


@in_project(
    f"GET {IN_PROJECT}/backups",
    operator=Access("config", "read"),
    parameters=(STATE, *PAGE_PARAMETERS),
    answer=PAGE,
    errors=(QueryTooSlow,),
)
async def list_backups(request: Request, caller: OperatorCaller, services: Services) -> Json[BackupList]:
    """List the backups of a project."""
    return await _list(request, services, caller.project)


@of_deployment(
    "GET /admin/v1/backups",
    operator=Access("deployment", "read"),
    parameters=(OF_PROJECT, STATE, *PAGE_PARAMETERS),
    answer=PAGE,
    errors=(QueryTooSlow,),
)
async def list_all_backups(request: Request, caller: AdminCaller, services: Services) -> Json[BackupList]:
    """List the backups of all projects, deleted ones among them."""
    return await _list(request, services)


@in_project(
    f"GET {IN_PROJECT}/backups/{{id}}",
    operator=Access("config", "read"),
    answer=Success("The backup with its manifest", {"one": {**EXAMPLE_BACKUP, "manifest": None}}),
    errors=(BackupNotFound,),
)
async def read_backup(request: Request, caller: OperatorCaller, services: Services) -> Json[BackupDetail]:
    """Show a backup."""
    return Json(show_detail(await find_backup(services.backups, request.path_params["id"], caller.project)))


@in_project(
    f"PATCH {IN_PROJECT}/backups/{{id}}",
    operator=TO_CHANGE,
    body={"a pin": {"pinned": True}},
    answer=Success("The backup afterwards", ONE),
    errors=(BackupNotFound,),
)
async def update_backup(
    request: RequestWith[BackupChange], caller: OperatorCaller, services: Services
) -> Json[BackupView]:
    """Pin a backup, or change its note."""
    form, backup_id = await read_form(request), request.path_params["id"]
    if changes := form.model_dump(exclude_none=True):
        return Json(show_backup(await change_backup(services.backups, backup_id, caller.project, changes)))
    return Json(show_backup(await find_backup(services.backups, backup_id, caller.project)))


@in_project(
    f"DELETE {IN_PROJECT}/backups/{{id}}",
    operator=TO_CHANGE,
    answer=Success("The backup is gone"),
    errors=(BackupNotFound, BackupInUse, ELSEWHERE),
)
async def remove_backup(request: Request, caller: OperatorCaller, services: Services) -> NoContent:
    """Delete a backup and its file."""
    await delete_backup(services.backups, request.path_params["id"], caller.project)
    return NoContent()


@in_project(
    f"POST {IN_PROJECT}/backups/{{id}}/verify",
    operator=Access("config", "write"),
    description="The job fails with `backup_damaged` where a byte changed; else `verified_at` is its end.",
    answer=STARTED,
    errors=(BackupNotFound, BUSY),
)
async def verify_backup(request: Request, caller: OperatorCaller, services: Services) -> Accepted[StartedJob]:
    """Read a backup to its end."""
    backup = await find_whole(services.backups, request.path_params["id"], caller.project)
    return Accepted({"job": show_job(await begin_verification(services.backups, backup))})


@in_project(
    f"POST {IN_PROJECT}/clone",
    operator=FOR_OWNERS,
    description="The copy sends no mail and has no API keys; make some when the job is done.",
    body={"a copy": {"id": "shop-test"}},
    answer=STARTED,
    errors=(TAKEN, BUSY),
)
async def clone_project(
    request: RequestWith[NewClone], caller: OperatorCaller, services: Services
) -> Accepted[StartedJob]:
    """Copy a project under another id."""
    form = await read_form(request)
    if await services.base.store.is_taken(form.id):
        raise await services.base.store.conflict(form.id)
    choices = {"with_secrets": form.with_secrets, "name": form.name}
    params = {"id": form.id, "is_empty": form.empty, "choices": choices}
    job = describe_job("clone", caller.project.id, params)
    await services.backups.jobs.insert(job)
    return Accepted({"job": show_job(job)})


@of_deployment(
    "POST /admin/v1/restores",
    operator=FOR_OWNERS,
    description="The id must be free. Under another id than it had, the project is a copy without API keys.",
    body={"back": {"backup_id": EXAMPLE_BACKUP["id"], "as": "shop"}},
    answer=STARTED,
    errors=(BackupNotFound, TAKEN, BUSY),
)
async def restore_project(
    request: RequestWith[NewRestore], caller: AdminCaller, services: Services
) -> Accepted[StartedJob]:
    """Restore a project from a backup."""
    form = await read_form(request)
    choices: Document = {
        "accepts_foreign": form.accept_foreign,
        "with_keys": form.with_keys,
        "skips_invalid": form.skip_invalid,
        "is_dry_run": form.dry_run,
        "with_secrets": form.with_secrets,
        "name": form.name,
    }
    return Accepted({"job": show_job(await begin_restore(services.backups, form.backup_id, form.as_, choices))})


async def _list(request: Request, services: Services, project: Project | None = None) -> Json[BackupList]:
    readers = READERS if project is not None else READERS | {"project_id": read_text(MAX_PROJECT_ID)}
    values = read_values(request.scope["query_string"], readers)
    limit, after = values.pop("limit", DEFAULT_LIMIT), values.pop("cursor", None)
    match = values if project is None else values | match_project(project)
    rows = await services.backups.records.page(match, after=after, limit=limit + 1)
    shown = rows[:limit]
    following = write_place(shown[-1]["created_at"], shown[-1]["_id"]) if len(rows) > limit else None
    return Json({"backups": [show_backup(each) for each in shown], "next": following})


def _read_state(text: str) -> str:
    if text not in STATES:
        raise BadValue(f"must be one of {', '.join(STATES)}")
    return text


READERS = {"state": _read_state, "limit": read_whole(1, MAX_LIMIT), "cursor": read_place}

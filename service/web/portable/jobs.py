"""Long jobs over HTTP: those of a project, and all of the deployment."""

from functools import partial
from typing import get_args

from starlette.requests import Request

from service.domain.access.caller import AdminCaller, OperatorCaller
from service.domain.permissions import Access
from service.domain.portable.jobs import cancel_job, find_job
from service.errors import JobNotCancellable, JobNotFound, QueryTooSlow
from service.schema.values import BadValue
from service.services import Services
from service.storage.client import Document
from service.web.auth.authenticate import Credential
from service.web.http.query_values import read_place, read_values, read_whole, write_place
from service.web.http.render import Accepted, Json
from service.web.openapi.declaration import Parameter, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.lists import DEFAULT_LIMIT, MAX_LIMIT, PAGE_PARAMETERS
from service.web.portable.bodies import EXAMPLE_JOB, JobList, JobView, show_job

KINDS = get_args(JobView.__annotations__["kind"])
JOB_STATES = get_args(JobView.__annotations__["state"])
PARAMETERS = (
    Parameter(name="kind", description="Jobs of this kind.", schema={"type": "string", "enum": list(KINDS)}),
    Parameter(name="state", description="Jobs in this state.", schema={"type": "string", "enum": list(JOB_STATES)}),
    *PAGE_PARAMETERS,
)
ONE = {"one": EXAMPLE_JOB}
PAGE = Success("One page of jobs, the newest first", {"a page": {"jobs": [EXAMPLE_JOB], "next": None}})

in_project = partial(endpoint, credential=Credential.OPERATOR_IN_PROJECT, tag=Tag.PROJECTS)
of_deployment = partial(endpoint, credential=Credential.OPERATOR, tag=Tag.OPERATIONS)
CANCELLED = Success("The job, which ends within seconds", ONE)


@in_project(
    f"GET {IN_PROJECT}/jobs",
    operator=Access("config", "read"),
    parameters=PARAMETERS,
    answer=PAGE,
    errors=(QueryTooSlow,),
)
async def list_project_jobs(request: Request, caller: OperatorCaller, services: Services) -> Json[JobList]:
    """List the jobs of a project."""
    return await _list(request, services, {"project_id": caller.project.id})


@in_project(
    f"GET {IN_PROJECT}/jobs/{{id}}",
    operator=Access("config", "read"),
    answer=Success("The job", ONE),
    errors=(JobNotFound,),
)
async def read_project_job(request: Request, caller: OperatorCaller, services: Services) -> Json[JobView]:
    """Show a job of a project."""
    return Json(show_job(await find_job(services.backups.jobs, request.path_params["id"], caller.project.id)))


@in_project(
    f"POST {IN_PROJECT}/jobs/{{id}}/cancel",
    operator=Access("config", "write"),
    answer=CANCELLED,
    errors=(JobNotFound, JobNotCancellable),
)
async def cancel_project_job(request: Request, caller: OperatorCaller, services: Services) -> Accepted[JobView]:
    """Cancel a job of a project."""
    job = await cancel_job(services.backups.jobs, request.path_params["id"], caller.project.id)
    return Accepted(show_job(job))


@of_deployment(
    "GET /admin/v1/jobs",
    operator=Access("deployment", "read"),
    parameters=PARAMETERS,
    answer=PAGE,
    errors=(QueryTooSlow,),
)
async def list_all_jobs(request: Request, caller: AdminCaller, services: Services) -> Json[JobList]:
    """List the jobs of all projects."""
    return await _list(request, services, {})


@of_deployment(
    "GET /admin/v1/jobs/{id}",
    operator=Access("deployment", "read"),
    answer=Success("The job", ONE),
    errors=(JobNotFound,),
)
async def read_any_job(request: Request, caller: AdminCaller, services: Services) -> Json[JobView]:
    """Show a job of any project."""
    return Json(show_job(await find_job(services.backups.jobs, request.path_params["id"])))


@of_deployment(
    "POST /admin/v1/jobs/{id}/cancel",
    operator=Access("deployment", "write"),
    answer=CANCELLED,
    errors=(JobNotFound, JobNotCancellable),
)
async def cancel_any_job(request: Request, caller: AdminCaller, services: Services) -> Accepted[JobView]:
    """Cancel a job of any project."""
    return Accepted(show_job(await cancel_job(services.backups.jobs, request.path_params["id"])))


async def _list(request: Request, services: Services, match: Document) -> Json[JobList]:
    values = read_values(request.scope["query_string"], READERS)
    limit, after = values.pop("limit", DEFAULT_LIMIT), values.pop("cursor", None)
    rows = await services.backups.jobs.page(match | values, after=after, limit=limit + 1)
    shown = rows[:limit]
    following = write_place(shown[-1]["created_at"], shown[-1]["_id"]) if len(rows) > limit else None
    return Json({"jobs": [show_job(each) for each in shown], "next": following})


def _read_one_of(*names: str, text: str) -> str:
    if text not in names:
        raise BadValue(f"must be one of {', '.join(names)}")
    return text


READERS = {
    "kind": lambda text: _read_one_of(*KINDS, text=text),
    "state": lambda text: _read_one_of(*JOB_STATES, text=text),
    "limit": read_whole(1, MAX_LIMIT),
    "cursor": read_place,
}

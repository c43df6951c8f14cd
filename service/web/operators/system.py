"""The state of the deployment: versions, jobs, and what `auth-collections check` finds."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated

from prometheus_client.metrics import MetricWrapperBase
from pydantic import Field
from starlette.requests import Request
from typing_extensions import TypedDict

from service.checks import Finding, find_each
from service.domain.access.caller import AdminCaller
from service.domain.permissions import Access
from service.observe.metrics import JOB_FAILURES, JOB_LAST_SUCCESS, JOB_RUNS
from service.services import Services
from service.storage.leases import LEADER
from service.web.auth.authenticate import Credential
from service.web.http.render import Json
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import endpoint
from service.web.openapi.shapes import EXAMPLE_TIME, Time

# A person waits for the page; the checks of a deployment with thousands of projects take longer.
CHECK_SECONDS = 8.0
LATE = Finding(None, "projects", "not every project was checked in time", "run `auth-collections check`")
EXAMPLE = {
    "version": "0.5.0",
    "workers": 2,
    "mongodb": {"version": "8.0.4", "topology": "replica set"},
    "leader": True,
    "jobs": [{"name": "mails", "runs": 120, "failures": 0, "last_success_at": EXAMPLE_TIME}],
    "checks": [{"name": "topology", "ok": True, "detail": "topology: replica set", "mend": None}],
}


class MongoState(TypedDict):
    version: str
    topology: str


class JobState(TypedDict):
    name: str
    runs: Annotated[int, Field(ge=0, description="In the worker that answers, as the two below")]
    failures: Annotated[int, Field(ge=0)]
    last_success_at: Time | None


class CheckView(TypedDict):
    name: str
    ok: Annotated[bool | None, Field(description="null: it cannot be decided")]
    detail: str
    mend: str | None


class SystemView(TypedDict):
    version: str
    workers: Annotated[int, Field(ge=1)]
    mongodb: MongoState
    leader: Annotated[bool, Field(description="A worker leads, and does what one does for all")]
    jobs: list[JobState]
    checks: list[CheckView]


@endpoint(
    "GET /admin/v1/system",
    credential=Credential.OPERATOR,
    operator=Access("deployment", "read"),
    tag=Tag.OPERATORS,
    answer=Success("The state of the deployment", {"one": EXAMPLE}),
)
async def read_system(request: Request, caller: AdminCaller, services: Services) -> Json[SystemView]:
    """Show the state of the deployment, and how to mend what is wrong."""
    databases = services.base.databases
    return Json(
        {
            "version": version("auth-collections"),
            "workers": request.app.workers,
            "mongodb": {"version": await databases.version(), "topology": (await databases.hello()).topology},
            "leader": await services.base.leases.is_known(LEADER),
            "jobs": list(_describe_jobs(services)),
            "checks": [_describe(finding) for finding in await _check(services)],
        }
    )


async def _check(services: Services) -> list[Finding]:
    """The findings, as far as they come in time."""
    found: list[Finding] = []
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            async for finding in find_each(services.base.databases, services.base.admin):
                found.append(finding)  # noqa: PERF401 - those before the time is over are kept
    except TimeoutError:
        found.append(LATE)
    return found


def _describe(finding: Finding) -> CheckView:
    return {"name": finding.name, "ok": finding.good, "detail": finding.detail, "mend": finding.mend or None}


def _describe_jobs(services: Services) -> Iterator[JobState]:
    runs, failures, succeeded = _read(JOB_RUNS), _read(JOB_FAILURES), _read(JOB_LAST_SUCCESS)
    for job in services.jobs.jobs:
        at = succeeded.get(job.name)
        yield {
            "name": job.name,
            "runs": int(runs.get(job.name, 0)),
            "failures": int(failures.get(job.name, 0)),
            "last_success_at": datetime.fromtimestamp(at, UTC).replace(tzinfo=None) if at else None,
        }


def _read(metric: MetricWrapperBase) -> dict[str, float]:
    """The value of each job, in this process."""
    samples = (sample for family in metric.collect() for sample in family.samples)
    return {each.labels["job"]: each.value for each in samples if not each.name.endswith("_created")}

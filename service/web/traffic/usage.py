"""Usage of a project and of the deployment: requests by hour or day, sizes, and the limits of the day."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from typing_extensions import TypedDict

from service.bounds import MAX_USAGE_STEPS
from service.domain.access.caller import AdminCaller, OperatorCaller
from service.domain.limits.policies import OF_DAY
from service.domain.permissions import Access
from service.domain.traffic.tally import DEPLOYMENT
from service.domain.traffic.usage import STEPS, Span, begin_step
from service.errors import Invalid, QueryTooSlow
from service.schema.values import BadValue, now, read_time
from service.services import Services
from service.web.auth.authenticate import Credential
from service.web.http.query_values import read_values
from service.web.http.render import Json
from service.web.openapi.declaration import Parameter, Success, Tag
from service.web.openapi.endpoint import IN_PROJECT, endpoint
from service.web.openapi.lists import TIME
from service.web.openapi.shapes import EXAMPLE_TIME, Time, WholeNumber

# The steps of a report without `since`.
DEFAULT_STEPS = {"hour": 24, "day": 30}
PARAMETERS = (
    Parameter(name="since", description="Steps from the one with this time on.", schema=TIME),
    Parameter(
        name="until", description="Steps up to the one with this time; without it, to the present one.", schema=TIME
    ),
    Parameter(
        name="step",
        description="The length of a step, which begins at a whole hour or day in UTC.",
        schema={"type": "string", "enum": list(STEPS), "default": "hour"},
    ),
)
EXAMPLE_SUMS = {"requests": 1_412, "errors_4xx": 31, "errors_5xx": 0, "bytes": 904_113}
EXAMPLE_STEP = {
    "at": EXAMPLE_TIME,
    **EXAMPLE_SUMS,
    "p50_ms": 5,
    "p95_ms": 20,
    "by": {"auth": 212, "data": 1_100, "files": 60, "aggregate": 0, "realtime": 40},
}
EXAMPLE_SIZES = {"users": 77, "documents": 8_845, "files": 12, "storage_bytes": 9_400_320, "as_of": EXAMPLE_TIME}
EXAMPLE_LIMIT = {"name": "daily", "limit": 10_000, "remaining": 8_588, "reset": 43_200}


class Kinds(TypedDict):
    """Requests by what they asked; sockets and streams of events are `realtime`."""

    auth: WholeNumber
    data: WholeNumber
    files: WholeNumber
    aggregate: WholeNumber
    realtime: WholeNumber


class UsageStep(TypedDict):
    """Requests that were answered in a step. The percentiles are upper edges of buckets; null without requests."""

    at: Time
    requests: WholeNumber
    errors_4xx: WholeNumber
    errors_5xx: WholeNumber
    bytes: WholeNumber
    p50_ms: WholeNumber | None
    p95_ms: WholeNumber | None
    by: Kinds


class SizesView(TypedDict):
    """Sizes by MongoDB's metadata, as of the last measurement."""

    users: WholeNumber
    documents: WholeNumber
    files: WholeNumber
    storage_bytes: WholeNumber
    as_of: Time


class LimitView(TypedDict):
    """A limit of the day: what remains, and the seconds until it begins again, as in the field `RateLimit`."""

    name: str
    limit: WholeNumber
    remaining: WholeNumber
    reset: WholeNumber


class UsageReport(TypedDict):
    """`sizes` are null before the first measurement."""

    steps: list[UsageStep]
    sizes: SizesView | None
    limits: list[LimitView]


class ProjectUsage(TypedDict):
    id: str
    requests: WholeNumber
    errors_4xx: WholeNumber
    errors_5xx: WholeNumber
    bytes: WholeNumber


class DeploymentUsage(TypedDict):
    """`steps` have the requests of no project, too."""

    steps: list[UsageStep]
    projects: list[ProjectUsage]


@endpoint(
    f"GET {IN_PROJECT}/usage",
    credential=Credential.OPERATOR_IN_PROJECT,
    tag=Tag.PROJECTS,
    operator=Access("logs", "read"),
    description="Requests of the Admin API are not counted. Workers write their counts every 10 seconds.",
    parameters=PARAMETERS,
    answer=Success(
        "Every step of that time, the oldest first",
        {"an hour": {"steps": [EXAMPLE_STEP], "sizes": EXAMPLE_SIZES, "limits": [EXAMPLE_LIMIT]}},
    ),
    errors=(QueryTooSlow,),
)
async def read_project_usage(request: Request, caller: OperatorCaller, services: Services) -> Json[UsageReport]:
    """Show the usage of a project."""
    project, usage = caller.project, services.traffic.usage
    steps: list[Any] = await usage.report(project.id, read_span(request.scope["query_string"]))
    figures = await usage.figures(project.id)
    quotas = await services.limits.show(project, OF_DAY)
    limits: list[LimitView] = [
        {"name": each.policy.name, "limit": each.limit, "remaining": each.remaining, "reset": each.reset}
        for each in quotas
    ]
    return Json({"steps": steps, "sizes": _sizes(figures), "limits": limits})


@endpoint(
    "GET /admin/v1/usage",
    credential=Credential.OPERATOR,
    tag=Tag.PROJECTS,
    operator=Access("deployment", "read"),
    parameters=PARAMETERS,
    answer=Success(
        "Every step of that time, and the 20 projects with most requests in it",
        {"an hour": {"steps": [EXAMPLE_STEP], "projects": [{"id": "shop", **EXAMPLE_SUMS}]}},
    ),
    errors=(QueryTooSlow,),
)
async def read_deployment_usage(request: Request, caller: AdminCaller, services: Services) -> Json[DeploymentUsage]:
    """Show the usage of all projects."""
    span = read_span(request.scope["query_string"])
    steps: list[Any] = await services.traffic.usage.report(DEPLOYMENT, span)
    projects: list[Any] = await services.traffic.usage.busiest(span)
    return Json({"steps": steps, "projects": projects})


def read_span(query_string: bytes) -> Span:
    """The time that a report is wanted of. Raises Invalid."""
    values = read_values(query_string, READERS)
    step = values.get("step", "hour")
    length, until = STEPS[step], values.get("until", now())
    try:
        end = begin_step(until, step)
        end = end if end == until else end + length
        since = begin_step(values["since"], step) if "since" in values else end - DEFAULT_STEPS[step] * length
    except OverflowError:
        raise Invalid.one(("query", "until"), "This time is too far away") from None
    if since >= end:
        raise Invalid.one(("query", "since"), "This must be before `until`")
    if (end - since) // length > MAX_USAGE_STEPS:
        raise Invalid.one(("query", "since"), f"A report has at most {MAX_USAGE_STEPS} steps")
    return Span(since, end, step)


def _read_step(text: str) -> str:
    if text not in STEPS:
        raise BadValue("must be hour or day")
    return text


def _sizes(figures: Mapping[str, Any] | None) -> SizesView | None:
    if figures is None:
        return None
    return {
        "users": figures["users"],
        "documents": figures["documents"],
        "files": figures["files"],
        "storage_bytes": figures["storage_bytes"],
        "as_of": figures["measured_at"],
    }


READERS = {"since": read_time, "until": read_time, "step": _read_step}

"""A project's users over HTTP, as its rules and its secret key show them: specification sections 4.1 and 5.1."""

from functools import partial

from starlette.requests import Request

from service.domain.access.caller import ProjectCaller, SecretKeyCaller
from service.domain.accounts import directory, roles
from service.domain.limits.policies import AUTH, AUTH_BY_RULE
from service.domain.lists import COUNTS
from service.domain.permissions import Access
from service.errors import QueryTooSlow, UserNotFound
from service.query.nodes import ListQuery
from service.query.parse import parse_counts, parse_distinct, parse_query
from service.services import Services
from service.web.accounts.bodies import ReadUser, RolesForm, UserList, UserRecord, UserRoles
from service.web.accounts.views import (
    EXAMPLE_ACCOUNT,
    EXAMPLE_RECORD,
    EXAMPLE_USER,
    list_view,
    record_view,
    visible_view,
)
from service.web.auth.authenticate import Credential
from service.web.auth.client_address import read_client
from service.web.http.json_body import RequestWith, read_form
from service.web.http.list_body import ListForm, located_in_body, read_list_body
from service.web.http.render import Json
from service.web.openapi.declaration import Success, Tag
from service.web.openapi.endpoint import KeyUse, endpoint
from service.web.openapi.lists import EXAMPLE_CURSOR, DistinctValues, distinct_view
from service.web.openapi.query_parameters import COUNTS_PARAMETER, distinct_parameters, list_parameters
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME
from service.web.realtime.event_streams import follow_users

EXAMPLE_FILTERS = {"age_gte": "18", "name_icontains": "ann"}
PAGE = Success(
    "One page of users",
    {
        "a page": {"users": [EXAMPLE_USER], "total": 1, "limit": 50, "offset": 0},
        "a page by cursor": {"users": [EXAMPLE_USER], "total": None, "limit": 1, "next": EXAMPLE_CURSOR},
        "by a server": {"users": [EXAMPLE_ACCOUNT], "total": 1, "limit": 50, "offset": 0},
    },
)

by_rule = partial(endpoint, credential=Credential.BY_RULE, policy=AUTH_BY_RULE, tag=Tag.USERS)
by_query = partial(
    by_rule,
    description="As the list, with conditions that `and`, `or` and `not` join. The method QUERY takes the same at "
    "`/auth-collections/users`.",
    body={"either": {"where": {"or": [{"age_gte": 18}, {"referred_by.name_eq": "Ann"}]}, "limit": 20}},
    idempotency_key=KeyUse.IGNORED,
    answer=PAGE,
    errors=(QueryTooSlow,),
)


@by_rule(
    "GET /auth-collections/users",
    operator=Access("users", "read"),
    parameters=list_parameters(EXAMPLE_FILTERS, "referred_by"),
    answer=PAGE,
    errors=(QueryTooSlow,),
    events=follow_users,
)
async def list_users(request: Request, caller: ProjectCaller, services: Services) -> Json[UserList]:
    """List and query users."""
    return Json(await _list(caller, services, parse_query(request.scope["query_string"])))


@by_query("POST /auth-collections/users/query", operator=Access("users", "read"))
@by_query("QUERY /auth-collections/users", operator=Access("users", "read"))
async def query_users(request: RequestWith[ListForm], caller: ProjectCaller, services: Services) -> Json[UserList]:
    """List and query users with conditions in the body."""
    await directory.check_reader(services.accounts, caller)
    with located_in_body():
        return Json(await _list(caller, services, await read_list_body(request)))


async def _list(caller: ProjectCaller, services: Services, query: ListQuery) -> UserList:
    found = await directory.list_users(services.accounts, services.documents.catalogs, caller, query)
    return list_view(caller, found)


@endpoint(
    "GET /auth-collections/users/distinct",
    operator=Access("users", "read"),
    credential=Credential.API_KEY,
    policy=AUTH,
    tag=Tag.USERS,
    description="Each scalar once, elements of arrays one by one, in MongoDB's order; nulls are left out.",
    parameters=distinct_parameters("group", EXAMPLE_FILTERS),
    answer=Success("The first values", {"groups": {"values": [1, 2, 3], "truncated": False}}),
    errors=(QueryTooSlow,),
)
async def distinct_user_values(request: Request, caller: SecretKeyCaller, services: Services) -> Json[DistinctValues]:
    """List the values of a field of users."""
    path, query = parse_distinct(request.scope["query_string"])
    return Json(distinct_view(await directory.list_values(services.accounts, caller.project, path, query)))


@by_rule(
    "GET /auth-collections/users/{id}",
    operator=Access("users", "read"),
    description="By the secret key, or by whom the rules of users let read this one.",
    parameters=(COUNTS_PARAMETER,),
    answer=Success(
        "The user, with what the caller may read",
        {"a user": {**EXAMPLE_USER, "updated_at": EXAMPLE_TIME}, "by a server": EXAMPLE_RECORD},
    ),
    errors=(UserNotFound,),
)
async def read_user(request: Request, caller: ProjectCaller, services: Services) -> Json[UserRecord | ReadUser]:
    """Get one user."""
    row = await directory.find_user(services.accounts, caller, request.path_params["id"])
    if names := parse_counts(request.scope["query_string"]):
        catalogs = services.documents.catalogs
        row[COUNTS] = await directory.count_related(services.accounts, catalogs, caller, row["_id"], names)
    return Json(record_view(row) if isinstance(caller, SecretKeyCaller) else visible_view(row))


@by_rule(
    "PUT /auth-collections/users/{id}/roles",
    operator=Access("users", "write"),
    description="By the secret key all of them; by a user whom the rules let assign some roles, just those.",
    body={"an editor": {"roles": ["editor"]}},
    answer=Success("The roles afterwards", {"an editor": {"id": EXAMPLE_ID, "roles": ["editor"]}}),
    errors=(UserNotFound,),
)
async def replace_roles(request: RequestWith[RolesForm], caller: ProjectCaller, services: Services) -> Json[UserRoles]:
    """Give a user roles."""
    accounts, user_id = services.accounts, request.path_params["id"]
    among = await roles.find_assignable(accounts, caller, user_id)
    form = await read_form(request)
    client = read_client(request, services)
    given = await roles.replace_roles(accounts, caller, user_id, form.roles, among=among, client=client)
    return Json({"id": user_id, "roles": given})

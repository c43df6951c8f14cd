"""Turns the headers of a request, and the project its URL names, into a Caller.

Each of these functions notes the project in the request's state, where the layers around it find it: for the log, for
the limits and for the origins that may read the answer.
"""

from collections.abc import Awaitable, Callable
from enum import Enum
from hmac import compare_digest

from starlette.requests import Request

from service.domain.access.caller import (
    AnonymousCaller,
    Caller,
    ProjectCaller,
    PublishableKeyCaller,
    SecretKeyCaller,
    ServiceCaller,
    UserCaller,
)
from service.domain.projects.lookup import PUBLISHABLE_PREFIX, SECRET_PREFIX, Project
from service.domain.sessions.step_up import require_recent
from service.errors import Invalid, InvalidApiKey, InvalidToken, NotFound, SecretKeyRequired
from service.query.parse import parse_pairs
from service.services import Services
from service.web.auth.client_address import find_client_address
from service.web.auth.headers import basic, bearer, headers_of
from service.web.auth.operators import (
    authenticate_in_console,
    authenticate_in_stage,
    authenticate_operator,
    authenticate_operator_in_project,
    authenticate_page,
    authenticate_visitor,
)
from service.web.http.request_state import API_KEY

Authenticate = Callable[[Request, Services], Awaitable[Caller]]

MAX_PROJECT_ID = 40
# Headers in which other services take a key.
OTHER_NAMES = frozenset((b"apikey", b"api-key", b"api_key", b"x-apikey", b"x-api_key"))
KEY_ELSEWHERE = "Invalid API key: send it in the header x-api-key"
KEY_AS_BEARER = "Invalid API key: send it in the header x-api-key, not as a bearer token"
SERVICE_CALLER = ServiceCaller()


class Credential(Enum):
    """Which credential an endpoint takes; the value of one that is sent is the name of its security scheme."""

    NONE = "none"
    PROJECT_IN_PATH = "project in path"
    FILE_NAME = "file name"
    OPTIONAL_API_KEY = "optional"
    API_KEY = "apiKey"
    ANY_KEY = "any key"
    BY_RULE = "by rule"
    KEY_OR_USER = "key or user"
    METRICS_TOKEN = "metricsToken"  # noqa: S105 - the name of a scheme
    USER_TOKEN = "userToken"  # noqa: S105 - the name of a scheme
    RECENT_USER = "recent user"
    OPTIONAL_USER = "optional user"
    KEY_OR_RECENT_USER = "key or recent user"
    INTROSPECTOR = "introspector"
    # Those of the Admin API: a browser before its sign-in, an operator, one within a project, one with a session, and one
    # with a session whose sign-in may be incomplete.
    VISITOR = "visitor"
    OPERATOR = "operator"
    OPERATOR_IN_PROJECT = "operator in project"
    CONSOLE = "console"
    CONSOLE_STAGE = "console stage"
    # The page of the console and its files, which are no part of any API.
    CONSOLE_PAGE = "console page"


async def authenticate_nobody(request: Request, services: Services) -> ServiceCaller:
    """The caller of an endpoint of the service itself, without a credential."""
    return SERVICE_CALLER


async def authenticate_key(request: Request, services: Services) -> SecretKeyCaller:
    """The holder of the one `x-api-key`, a secret one. Raises InvalidApiKey, SecretKeyRequired."""
    caller = await authenticate_any_key(request, services)
    if isinstance(caller, PublishableKeyCaller):
        raise SecretKeyRequired
    return caller


async def authenticate_any_key(request: Request, services: Services) -> SecretKeyCaller | PublishableKeyCaller:
    """The holder of the one `x-api-key`, of either kind. Raises InvalidApiKey."""
    key, project = await _read_key(request, services)
    request.scope["state"]["project"] = project
    # The beginning of a key is part of the hashed text, so it cannot be changed.
    if key.startswith(PUBLISHABLE_PREFIX):
        return PublishableKeyCaller(project, find_client_address(request, services.web.trusted_proxies))
    return SecretKeyCaller(project)


async def _read_key(request: Request, services: Services) -> tuple[str, Project]:
    """The one `x-api-key` and its project. Raises InvalidApiKey."""
    keys = headers_of(request, b"x-api-key")
    if not keys and _bears_key(request):
        raise InvalidApiKey(KEY_AS_BEARER)
    if not keys and any(name in OTHER_NAMES for name, _ in request.scope["headers"]):
        raise InvalidApiKey(KEY_ELSEWHERE)
    if len(keys) != 1:
        raise InvalidApiKey
    project = await services.base.projects.by_api_key(keys[0])
    request.scope["state"][API_KEY] = keys[0]
    return keys[0], project


def _bears_key(request: Request) -> bool:
    """True if an API key is sent as a bearer token."""
    sent = headers_of(request, b"authorization")
    return len(sent) == 1 and sent[0].partition(" ")[2].startswith((SECRET_PREFIX, PUBLISHABLE_PREFIX))


async def _require_key_of(project_id: str, request: Request, services: Services) -> None:
    """The key that is sent beside something else that names a project must be of that project. Raises InvalidApiKey."""
    if (await _read_key(request, services))[1].id != project_id:
        raise InvalidApiKey


async def authenticate_by_rule(request: Request, services: Services) -> ProjectCaller:
    """The holder of a secret key, who may do everything; else the user of a token; else the holder of a publishable key.

    A publishable key beside a token only has to be of the same project. Raises InvalidApiKey, InvalidToken.
    """
    if not headers_of(request, b"authorization"):
        return await authenticate_any_key(request, services)
    has_key = headers_of(request, b"x-api-key") or _bears_key(request)
    keyed = await authenticate_any_key(request, services) if has_key else None
    return keyed if isinstance(keyed, SecretKeyCaller) else await authenticate_user(request, services)


async def authenticate_key_or_user(request: Request, services: Services) -> SecretKeyCaller | UserCaller:
    """As `authenticate_by_rule`, for known callers only. Raises InvalidToken for a publishable key alone, too."""
    caller = await authenticate_by_rule(request, services)
    if not isinstance(caller, SecretKeyCaller | UserCaller):
        raise InvalidToken
    return caller


async def authenticate_user(request: Request, services: Services) -> UserCaller:
    """The user whose token the request carries; a key beside it must be of the same project.

    Raises InvalidToken, InvalidApiKey.
    """
    token = bearer(request)
    caller = services.sessions.tokens.verified.get(token) or await services.sessions.tokens.verify(token)
    request.scope["state"]["project"] = caller.project
    if headers_of(request, b"x-api-key"):
        await _require_key_of(caller.project.id, request, services)
    return caller


async def authenticate_recent_user(request: Request, services: Services) -> UserCaller:
    """A user who was recognized a short while ago, and by the second factor where there is one.

    Raises InvalidToken, InvalidApiKey, StepUpRequired.
    """
    caller = await authenticate_user(request, services)
    await require_recent(caller)
    return caller


async def authenticate_key_or_recent_user(
    request: Request, services: Services
) -> SecretKeyCaller | PublishableKeyCaller | UserCaller:
    """A user as `authenticate_recent_user` has it, where a token is sent; else the holder of a key.

    Raises InvalidApiKey, InvalidToken, StepUpRequired.
    """
    if headers_of(request, b"authorization"):
        return await authenticate_recent_user(request, services)
    return await authenticate_any_key(request, services)


async def authenticate_optional_user(request: Request, services: Services) -> UserCaller | ServiceCaller:
    """The user of a valid token, else SERVICE_CALLER.

    Raises InvalidApiKey for another project's key beside the token.
    """
    try:
        return await authenticate_user(request, services)
    except InvalidToken:
        return SERVICE_CALLER


async def authenticate_optional_key(
    request: Request, services: Services
) -> SecretKeyCaller | PublishableKeyCaller | AnonymousCaller:
    """The holder of the key, of either kind, where one is sent; else the caller is anonymous in the project of the query.

    A key and a `project_id` must agree. Without either it is the default project. Raises InvalidApiKey, ProjectNotFound,
    and Invalid where there is no default.
    """
    projects, project_id = services.base.projects, _project_id(request)
    if headers_of(request, b"x-api-key"):
        if project_id is not None:
            await _require_key_of(project_id, request, services)
        return await authenticate_any_key(request, services)
    project = await projects.default() if project_id is None else await projects.by_id(project_id)
    if project is None:
        raise Invalid.one(("query", "project_id"), "Name the project here, or send its API key", type_="missing")
    request.scope["state"]["project"] = project
    return AnonymousCaller(project)


async def authenticate_introspector(request: Request, services: Services) -> SecretKeyCaller:
    """The holder of a secret key, as `x-api-key` or by HTTP Basic (RFC 6749 section 2.3.1). Raises InvalidApiKey."""
    if headers_of(request, b"x-api-key"):
        caller = await authenticate_any_key(request, services)
        if isinstance(caller, PublishableKeyCaller):
            raise InvalidApiKey
        return caller
    project_id, key = basic(request)
    project = await services.base.projects.by_api_key(key)
    if project.id != project_id or key.startswith(PUBLISHABLE_PREFIX):
        raise InvalidApiKey
    request.scope["state"]["project"] = project
    return SecretKeyCaller(project)


def _project_id(request: Request) -> str | None:
    project_id = dict(parse_pairs(request.scope["query_string"])).get("project_id")
    if project_id is not None and not 1 <= len(project_id) <= MAX_PROJECT_ID:
        raise Invalid.one(("query", "project_id"), f"This must have 1 to {MAX_PROJECT_ID} characters")
    return project_id


async def authenticate_in_project(request: Request, services: Services) -> AnonymousCaller:
    """An anonymous caller in the project that the path names. Raises ProjectNotFound."""
    project = request.scope["state"]["project"] = await services.base.projects.by_id(request.path_params["project_id"])
    return AnonymousCaller(project)


async def authenticate_reader(request: Request, services: Services) -> AnonymousCaller:
    """An anonymous caller with the name of a file, in the project that has it. Raises FileNotFound."""
    project = request.scope["state"]["project"] = await services.files.find_project(request.path_params["file_name"])
    return AnonymousCaller(project)


async def authenticate_metrics(request: Request, services: Services) -> ServiceCaller:
    """The holder of METRICS_TOKEN. Raises InvalidToken, and NotFound where none is set."""
    expected = services.web.metrics_token
    if expected is None:
        raise NotFound
    if not compare_digest(bearer(request).encode(), expected.encode()):
        raise InvalidToken
    return SERVICE_CALLER


AUTHENTICATE: dict[Credential, Authenticate] = {
    Credential.NONE: authenticate_nobody,
    Credential.PROJECT_IN_PATH: authenticate_in_project,
    Credential.FILE_NAME: authenticate_reader,
    Credential.OPTIONAL_API_KEY: authenticate_optional_key,
    Credential.API_KEY: authenticate_key,
    Credential.ANY_KEY: authenticate_any_key,
    Credential.BY_RULE: authenticate_by_rule,
    Credential.KEY_OR_USER: authenticate_key_or_user,
    Credential.METRICS_TOKEN: authenticate_metrics,
    Credential.USER_TOKEN: authenticate_user,
    Credential.RECENT_USER: authenticate_recent_user,
    Credential.OPTIONAL_USER: authenticate_optional_user,
    Credential.KEY_OR_RECENT_USER: authenticate_key_or_recent_user,
    Credential.INTROSPECTOR: authenticate_introspector,
    Credential.VISITOR: authenticate_visitor,
    Credential.OPERATOR: authenticate_operator,
    Credential.OPERATOR_IN_PROJECT: authenticate_operator_in_project,
    Credential.CONSOLE: authenticate_in_console,
    Credential.CONSOLE_STAGE: authenticate_in_stage,
    Credential.CONSOLE_PAGE: authenticate_page,
}
# Rows with these are the Admin API.
OF_OPERATORS = frozenset(
    {
        Credential.VISITOR,
        Credential.OPERATOR,
        Credential.OPERATOR_IN_PROJECT,
        Credential.CONSOLE,
        Credential.CONSOLE_STAGE,
    }
)
# Rows that change the caller's own account, and rows that users call.
OF_ACCOUNT = frozenset({Credential.USER_TOKEN, Credential.RECENT_USER, Credential.KEY_OR_RECENT_USER})
OF_USERS = OF_ACCOUNT | {Credential.OPTIONAL_USER, Credential.BY_RULE, Credential.KEY_OR_USER}
# Rows that the public document does not describe.
OUTSIDE_PUBLIC_API = OF_OPERATORS | {Credential.CONSOLE_PAGE}

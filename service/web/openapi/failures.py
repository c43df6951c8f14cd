"""The error tree as answers: for each status one schema with its stable codes, and an example of each code."""

from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from service.errors import (
    ConfirmationRequired,
    CrossOrigin,
    FileNotFound,
    Forbidden,
    IdempotencyKeyReused,
    Invalid,
    InvalidApiKey,
    InvalidToken,
    LimitExceeded,
    NewerData,
    NotFound,
    NotWhileActing,
    OperatorRequired,
    PermissionRequired,
    ProjectNotFound,
    SecretKeyRequired,
    ServiceError,
    StepUpRequired,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnsupportedMedia,
    Violation,
)
from service.web.auth.authenticate import Credential
from service.web.openapi.declaration import ErrorExample, Failure
from service.web.openapi.endpoint import ApiRoute, KeyUse, Query


class Error(TypedDict):
    """Some codes bring more: `schema_conflict` its `conflicts`, `rule_conflict` `rules`, `rule_tests_failed` `failed`."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    detail: Annotated[str, Field(description="What went wrong, for a person")]
    code: Annotated[str, Field(description="What went wrong, for a program; it does not change")]
    request_id: NotRequired[Annotated[str, Field(description="With 5xx only: name it when you report the failure")]]


class BrokenRule(TypedDict):
    loc: Annotated[
        list[str | int],
        Field(min_length=1, description="Where: body, query, path or header, then field names and positions"),
    ]
    msg: Annotated[str, Field(description="What to change")]
    type: Annotated[str, Field(description="Which rule; it does not change")]


class ValidationError(TypedDict):
    detail: Annotated[list[BrokenRule], Field(min_length=1)]
    omitted: NotRequired[Annotated[int, Field(ge=1, description="How many broken rules more there are")]]
    code: Literal["validation_error", "idempotency_key_reused", "aggregation_too_large", "not_live", "not_in_feed"]


# An operator without a session or token, of a foreign page, without the access, after too many requests, unconfirmed.
OF_OPERATOR: tuple[Failure, ...] = (
    ErrorExample(OperatorRequired),
    CrossOrigin,
    ErrorExample(PermissionRequired, "shop:config:write"),
    LimitExceeded,
    ConfirmationRequired,
)
OF_CREDENTIAL: dict[Credential, tuple[Failure, ...]] = {
    Credential.NONE: (),
    Credential.PROJECT_IN_PATH: (ProjectNotFound, Unavailable),
    Credential.FILE_NAME: (FileNotFound, Unavailable),
    Credential.OPTIONAL_API_KEY: (InvalidApiKey, ProjectNotFound, Unavailable),
    Credential.API_KEY: (InvalidApiKey, SecretKeyRequired, Unavailable),
    Credential.ANY_KEY: (InvalidApiKey, Unavailable),
    Credential.BY_RULE: (InvalidApiKey, InvalidToken, Unauthorized, Forbidden, Unavailable),
    Credential.KEY_OR_USER: (InvalidApiKey, InvalidToken, Unavailable),
    Credential.METRICS_TOKEN: (InvalidToken, NotFound),
    Credential.USER_TOKEN: (InvalidToken, Unavailable),
    Credential.RECENT_USER: (InvalidToken, StepUpRequired, NotWhileActing, Unavailable),
    Credential.OPTIONAL_USER: (Unavailable,),
    Credential.KEY_OR_RECENT_USER: (InvalidApiKey, InvalidToken, StepUpRequired, NotWhileActing, Unavailable),
    Credential.INTROSPECTOR: (InvalidApiKey, Unavailable),
    Credential.VISITOR: (CrossOrigin, NotFound, Unavailable),
    Credential.OPERATOR: (*OF_OPERATOR, Unavailable),
    Credential.OPERATOR_IN_PROJECT: (*OF_OPERATOR, ProjectNotFound, Unavailable),
    Credential.CONSOLE: (*OF_OPERATOR, NotFound, Unavailable),
    Credential.CONSOLE_STAGE: (*OF_OPERATOR, NotFound, Unavailable),
    Credential.CONSOLE_PAGE: (NotFound,),
}
# A worker that is older than the data of the project, or than the system's, answers with it.
NEWER = ErrorExample(NewerData, "the system's database")
OF_POLICY: tuple[Failure, ...] = (LimitExceeded, Unavailable)
OF_BODY: tuple[Failure, ...] = (TooLarge, UnsupportedMedia)
IN_BODY = ErrorExample(Invalid, [Violation(("body", "email"), "value is not a valid email address", "value_error")])
IN_QUERY = ErrorExample(
    Invalid, [Violation(("query", "limit"), "Must be a whole number from 1 to 1000", "value_error")]
)
HEADERS = {
    401: {"WWW-Authenticate": "The challenge of RFC 6750, where a user token was refused"},
    403: {"WWW-Authenticate": "The challenge of RFC 9470, where the user was recognized too long ago"},
    412: {"ETag": "The present version"},
    416: {"Content-Range": "How many bytes the file has (RFC 9110 section 14.4)"},
    426: {"Upgrade": "`websocket`"},
    429: {"Retry-After": "Seconds until a request may succeed"},
    503: {"Retry-After": "Seconds until a request may succeed"},
}
# The only code of these statuses that comes with a challenge.
CHALLENGES = {InvalidToken.status: InvalidToken.code, StepUpRequired.status: StepUpRequired.code}
MEANINGS = {
    400: "Refused",
    401: "The credential is missing, wrong or expired",
    404: "There is no such record",
    403: "Not allowed",
    409: "In conflict with what is stored",
    410: "No longer kept",
    412: "Changed meanwhile",
    413: "Too large",
    415: "Of a type that is not accepted",
    416: "The range lies outside the file",
    422: "Malformed; `detail` names each broken rule",
    426: "Open a WebSocket",
    429: "Too many requests",
    500: "The service failed",
    503: "Temporarily unavailable; an unknown outcome is never reported as done",
}


def failures_of(route: ApiRoute) -> tuple[Failure, ...]:
    """The failures of the description, and those of every row with such a credential, limit, query or body."""
    common = (
        *OF_CREDENTIAL[route.credential],
        *((NEWER,) if Unavailable in OF_CREDENTIAL[route.credential] else ()),
        *(OF_POLICY if route.policy else ()),
        *(OF_BODY if route.max_body else ()),
        *(() if route.query is Query.IGNORED else (Invalid,)),
        *((ErrorExample(IdempotencyKeyReused),) if route.idempotency_key is KeyUse.TAKEN else ()),
    )
    return (*route.operation.errors, *common, ServiceError)


def error_answers(route: ApiRoute) -> dict[str, Any]:
    """`responses` by status."""
    example = IN_BODY if route.max_body else IN_QUERY
    told = (example if failure is Invalid else failure for failure in failures_of(route))
    found = sorted(dict.fromkeys(told), key=lambda failure: failure.status)
    return {str(status): _answer(status, list(group)) for status, group in groupby(found, lambda f: f.status)}


def _answer(status: int, failures: Iterable[Failure]) -> dict[str, Any]:
    bodies = [_body(failure) for failure in failures]
    codes = list(dict.fromkeys(body["code"] for body in bodies))
    content = {"schema": _schema(status, codes), "examples": {_key(body): {"value": body} for body in bodies}}
    answer = {"description": MEANINGS[status], "content": {"application/json": content}}
    named = HEADERS.get(status, {}) if status not in CHALLENGES or CHALLENGES[status] in codes else {}
    headers = {name: {"description": text, "schema": {"type": "string"}} for name, text in named.items()}
    return answer | ({"headers": headers} if headers else {})


def _schema(status: int, codes: list[str]) -> dict[str, Any]:
    if status == Invalid.status:
        return {"$ref": "#/components/schemas/ValidationError"}
    return {
        "allOf": [{"$ref": "#/components/schemas/Error"}, {"type": "object", "properties": {"code": {"enum": codes}}}]
    }


def _body(failure: Failure) -> dict[str, Any]:
    body = failure.body() if isinstance(failure, ErrorExample) else {"detail": failure.detail, "code": failure.code}
    return body | ({"request_id": "4f1c2a9be07d3356"} if failure.status >= 500 else {})


def _key(body: dict[str, Any]) -> str:
    return str(body["code"])

"""ROUTES → the OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1.html). Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from inspect import getdoc
from typing import Any

import orjson
from starlette.routing import BaseRoute

from service.bounds import MAX_IDEMPOTENCY_KEY
from service.domain.permissions import Access
from service.web.auth.authenticate import OF_OPERATORS, Credential
from service.web.openapi import failures
from service.web.openapi.declaration import (
    Content,
    Operation,
    Parameter,
    Schema,
    Success,
    Tag,
)
from service.web.openapi.endpoint import ApiRoute, KeyUse
from service.web.openapi.shapes import PATH_PARAMETERS, schemas_of

PUBLIC_DESCRIPTION = """\
Accounts, identity-provider sign-in, files and declared collections of documents, for many projects.

A project's API key, which `auth-collections project create` prints, goes into the header `x-api-key`; a user's token, which
signup and login return, into `Authorization: Bearer <token>`. An error is `{"detail", "code"}`; with 422 `detail` lists each
broken rule. Every answer carries `X-Request-ID`."""
# The scheme of keys that only name their project.
PUBLISHABLE_KEY = "publishableKey"
SECURITY_SCHEMES = {
    Credential.API_KEY.value: {
        "type": "apiKey",
        "in": "header",
        "name": "x-api-key",
        "description": "The project's secret key, for server-side and admin operations",
    },
    PUBLISHABLE_KEY: {
        "type": "apiKey",
        "in": "header",
        "name": "x-api-key",
        "description": "The project's publishable key, which says which project is meant and is safe in a page",
    },
    Credential.USER_TOKEN.value: {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A user's token, for operations on that user; it lives 30 days, unless ACCESS_TOKEN_LIFETIME says less",
    },
    Credential.METRICS_TOKEN.value: {
        "type": "http",
        "scheme": "bearer",
        "description": "The METRICS_TOKEN of the service's environment",
    },
}

ADMIN_DESCRIPTION = """\
What operators do: the console, and pipelines with a token. Below `/admin/v1/projects/{project_id}` are the operations of the
public API, with the same bodies and answers; `x-access` says which permission each needs.

A token goes into `Authorization: Bearer aco_...`; the session of the console is a cookie that nothing but /admin/v1 reads."""
OPERATOR_SESSION, OPERATOR_TOKEN = "operatorSession", "operatorToken"
OPERATOR_SCHEMES = {
    OPERATOR_SESSION: {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-console",
        "description": "The session of the console; the name ends with the deployment's id",
    },
    OPERATOR_TOKEN: {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of an operator, which its scopes narrow",
    },
}

# OpenAPI 3.1 has no QUERY (RFC 10008); whatever answers it answers a POST as well.
METHODS = frozenset({"GET", "PUT", "POST", "DELETE", "PATCH"})

REQUEST_ID = Parameter(
    name="X-Request-ID",
    location="header",
    description="A name for this request, in the log and on its answer: 8 to 64 letters, digits, '-' and '_'.",
    schema={"type": "string"},
)
IDEMPOTENCY_KEY = Parameter(
    name="Idempotency-Key",
    location="header",
    description="A new, random name for this write: sent again with it within 24 hours, the write is not made again, and the "
    "first answer comes, with what its caller may read of it now. JSON bodies only; with a publishable key only for signup.",
    schema={"type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY, "pattern": "^[!#-~]+$"},
)
REPLAYED = {"Idempotency-Replayed": "`true` where this is the answer to a write that was made before"}
SECURITY: dict[Credential, list[dict[str, list[str]]]] = {
    Credential.NONE: [],
    Credential.PROJECT_IN_PATH: [],
    Credential.FILE_NAME: [],
    Credential.OPTIONAL_API_KEY: [{}, {Credential.API_KEY.value: []}, {PUBLISHABLE_KEY: []}],
    Credential.API_KEY: [{Credential.API_KEY.value: []}],
    Credential.ANY_KEY: [{Credential.API_KEY.value: []}, {PUBLISHABLE_KEY: []}],
    Credential.BY_RULE: [{Credential.API_KEY.value: []}, {Credential.USER_TOKEN.value: []}, {PUBLISHABLE_KEY: []}],
    Credential.KEY_OR_USER: [{Credential.API_KEY.value: []}, {Credential.USER_TOKEN.value: []}],
    Credential.METRICS_TOKEN: [{Credential.METRICS_TOKEN.value: []}],
    Credential.USER_TOKEN: [{Credential.USER_TOKEN.value: []}],
    Credential.RECENT_USER: [{Credential.USER_TOKEN.value: []}],
    Credential.OPTIONAL_USER: [{}, {Credential.USER_TOKEN.value: []}],
    Credential.KEY_OR_RECENT_USER: [
        {Credential.USER_TOKEN.value: []},
        {Credential.API_KEY.value: []},
        {PUBLISHABLE_KEY: []},
    ],
    Credential.INTROSPECTOR: [{Credential.API_KEY.value: []}],
    Credential.VISITOR: [],
    Credential.OPERATOR: [{OPERATOR_SESSION: []}, {OPERATOR_TOKEN: []}],
    Credential.OPERATOR_IN_PROJECT: [{OPERATOR_SESSION: []}, {OPERATOR_TOKEN: []}],
    Credential.CONSOLE: [{OPERATOR_SESSION: []}],
    Credential.CONSOLE_STAGE: [{OPERATOR_SESSION: []}],
    Credential.CONSOLE_PAGE: [],
}


Schemas = Mapping[int, Schema]


@dataclass(frozen=True, slots=True)
class Api:
    """One of the two APIs, as its document describes it."""

    title: str
    description: str
    schemes: Mapping[str, Any]


PUBLIC = Api("Auth Collections", PUBLIC_DESCRIPTION, SECURITY_SCHEMES)
ADMIN = Api("Auth Collections Admin API", ADMIN_DESCRIPTION, OPERATOR_SCHEMES)


def build_document(routes: Iterable[BaseRoute], api: Api = PUBLIC) -> dict[str, Any]:
    """The document of those of the routes that are declared."""
    declared = [route for route in routes if isinstance(route, ApiRoute) and route.method in METHODS]
    contents = [content for route in declared for content in _contents_of(route.operation) if content.type is not None]
    found, components = schemas_of([*(content.type for content in contents), failures.Error, failures.ValidationError])
    schemas = {id(content): schema for content, schema in zip(contents, found, strict=False)}
    paths: dict[str, dict[str, Any]] = {}
    for route in declared:
        item = paths.setdefault(route.path_format, _path_item(route))
        item[route.method.lower()] = _operation(route, schemas)
    tags = {route.operation.tag for route in declared}
    document = {
        "openapi": "3.1.1",
        "info": {"title": api.title, "version": version("auth-collections"), "description": api.description},
        "servers": [{"url": "/"}],
        "tags": [{"name": tag.title, "description": tag.meaning} for tag in Tag if tag in tags],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": api.schemes},
    }
    # Through JSON, which knows no tuples, mappings and bounds of our own.
    plain: dict[str, Any] = orjson.loads(orjson.dumps(document))
    return plain


def _operation(route: ApiRoute, schemas: Schemas) -> dict[str, Any]:
    operation, takes_key = route.operation, route.idempotency_key is KeyUse.TAKEN
    summary = (getdoc(route.handler) or "").partition("\n")[0].rstrip(".")
    described: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag.title],
        "summary": summary,
        "description": operation.description,
        "security": SECURITY[route.credential],
        "parameters": [_parameter(parameter) for parameter in _parameters(operation, takes_key=takes_key)],
        "responses": {str(a.status): _answer(_with_replay(a) if takes_key else a, schemas) for a in operation.answers}
        | failures.error_answers(route),
    }
    if operation.body:
        described["requestBody"] = {"required": operation.needs_body, "content": _contents(operation.body, schemas)}
    if route.operator is not None and route.credential in OF_OPERATORS:
        described["x-access"] = _access(route.operator)
    return {name: value for name, value in described.items() if value != "" and value != []} | {
        "security": described["security"]
    }


def _access(access: Access) -> dict[str, Any]:
    """The permission that the operation needs; `or` is the area that will do as well."""
    described: dict[str, Any] = {"area": access.area, "level": access.level, "confirm": access.confirm}
    return described | ({} if access.other is None else {"or": access.other})


def _parameters(operation: Operation, *, takes_key: bool) -> tuple[Parameter, ...]:
    """The declared parameters; openapi-python-client makes broken code for two bodies without any."""
    declared = (*operation.parameters, REQUEST_ID) if len(operation.body) > 1 else operation.parameters
    return (*declared, IDEMPOTENCY_KEY) if takes_key else declared


def _with_replay(answer: Success) -> Success:
    return replace(answer, headers={**answer.headers, **REPLAYED})


def _parameter(parameter: Parameter) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.location,
        "required": parameter.required,
        "description": parameter.description,
        "schema": parameter.schema,
    }
    if parameter.schema.get("type") == "object":
        described |= {"style": "form", "explode": True}
    if parameter.examples:
        described["examples"] = {title: {"value": value} for title, value in parameter.examples.items()}
    return described | ({} if parameter.example is None else {"example": parameter.example})


def _path_item(route: ApiRoute) -> dict[str, Any]:
    """The parameters of a URL, which all its methods share."""
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    described = PATH_PARAMETERS | dict(route.operation.path_parameters)
    found = [{"name": name, "in": "path", "required": True, **described[name]} for name in names]
    return {"parameters": found} if found else {}


def _answer(answer: Success, schemas: Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {"description": answer.description}
    if answer.content:
        described["content"] = _contents(answer.content, schemas)
    if answer.headers:
        described["headers"] = {
            name: {"description": text, "schema": {"type": "string"}} for name, text in answer.headers.items()
        }
    return described


def _contents(contents: Iterable[Content], schemas: Schemas) -> dict[str, Any]:
    return {content.media_type: _content(content, schemas) for content in contents}


def _content(content: Content, schemas: Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {"schema": schemas.get(id(content), content.schema)}
    if content.examples:
        described["examples"] = {name: {"value": value} for name, value in content.examples.items()}
    return described | ({"encoding": content.encoding} if content.encoding else {})


def _contents_of(operation: Operation) -> Iterator[Content]:
    yield from operation.body
    yield from (content for answer in operation.answers for content in answer.content)

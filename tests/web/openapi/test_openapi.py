"""The OpenAPI document says what the code does: every route, error, operator and limit, and examples that hold."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import jsonschema_rs
import orjson
import pytest
from openapi_spec_validator import validate
from starlette.applications import Starlette

from service import errors
from service.query.operators import OPERATORS
from service.web.auth.authenticate import Credential
from service.web.openapi import query_parameters as listing
from service.web.openapi.declaration import Tag
from service.web.openapi.document import ADMIN, build_document
from service.web.openapi.endpoint import ApiRoute
from service.web.routes import ADMIN_ROUTES, ROUTES

DOCUMENT = build_document(ROUTES)
ADMIN_DOCUMENT = build_document(ADMIN_ROUTES, ADMIN)
DOCUMENTS = pytest.mark.parametrize("document", [DOCUMENT, ADMIN_DOCUMENT], ids=["public", "admin"])
# Never an answer: the root, what only groups others, what only operators see, what is translated, what sockets send.
UNSENT = {
    "NotLive",
    "ServiceError",
    "BadRequest",
    "ConfigurationError",
    "RejectedByValidator",
    # Sent to commands and operators only.
    "InvalidConfiguration",
    # Errors of commands and of jobs, which have them in `error`.
    "BackupError",
    "BackupDamaged",
    "BackupForeign",
    "BackupTooNew",
    "RestoreInvalid",
    "DigestMismatch",
    "StoreFull",
    "HistoryLost",
}


def operations(document: dict[str, Any] = DOCUMENT) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield f"{method.upper()} {path}", operation


def contents(document: dict[str, Any] = DOCUMENT) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each media type of each body and answer, under a name that says where."""
    for name, operation in operations(document):
        for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{name} body {media_type}", content
        for status, answer in operation["responses"].items():
            for media_type, content in answer.get("content", {}).items():
                yield f"{name} {status} {media_type}", content


def error_classes(root: type[errors.ServiceError] = errors.ServiceError) -> Iterator[type[errors.ServiceError]]:
    yield root
    for child in root.__subclasses__():
        yield from error_classes(child)


async def test_the_service_serves_the_document(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/openapi.json")
    assert answer.status_code == 200
    assert answer.json() == DOCUMENT
    again = await http.get("/openapi.json", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304


def test_every_worker_serves_the_same_bytes() -> None:
    """Sets have another order in each process, and a client would see the document change."""
    program = (
        "import sys, orjson; from service.web.openapi.document import build_document; "
        "from service.web.routes import ROUTES; sys.stdout.buffer.write(orjson.dumps(build_document(ROUTES)))"
    )
    command = [sys.executable, "-c", program]
    documents = {
        subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout  # noqa: S603
        for seed in ("1", "2")
    }
    assert documents == {orjson.dumps(DOCUMENT)}


@DOCUMENTS
def test_the_document_is_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    validate(document)


def test_the_public_document_says_nothing_of_operators() -> None:
    assert "/admin" not in orjson.dumps(DOCUMENT["paths"]).decode()
    assert DOCUMENT["components"]["securitySchemes"].keys().isdisjoint(ADMIN_DOCUMENT["components"]["securitySchemes"])


def test_each_operation_of_the_admin_api_says_which_access_it_needs() -> None:
    without = [name for name, operation in operations(ADMIN_DOCUMENT) if "x-access" not in operation]
    assert without == [
        "POST /admin/v1/session",
        "POST /admin/v1/invitations/check",
        "POST /admin/v1/invitations/accept",
    ]
    one = ADMIN_DOCUMENT["paths"]["/admin/v1/projects/{project_id}/api/collections/{name}"]["delete"]
    assert one["operationId"] == "deleteCollectionInProject"
    assert one["x-access"] == {"area": "schema", "level": "write", "confirm": True}


def test_every_route_is_declared(running_app: Starlette) -> None:
    assert all(isinstance(route, ApiRoute) for route in running_app.routes)
    for document, found in ((DOCUMENT, ROUTES), (ADMIN_DOCUMENT, ADMIN_ROUTES)):
        routes = {f"{route.method} {route.path}" for route in found if route.method != "QUERY"}
        assert {name for name, _ in operations(document)} == routes


def test_a_query_is_described_where_it_is_posted() -> None:
    posted = {route.handler for route in ROUTES if route.method == "POST"}
    assert {route.handler for route in ROUTES if route.method == "QUERY"} <= posted


@DOCUMENTS
def test_no_two_shapes_share_a_name(document: dict[str, Any]) -> None:
    """If two did, the document would name both by their modules, and generators of clients would stop."""
    assert [name for name in document["components"]["schemas"] if "__" in name] == []


@DOCUMENTS
def test_operation_ids_are_unique(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, operation in operations(document)]
    assert len(ids) == len(set(ids))


@DOCUMENTS
def test_every_operation_is_described(document: dict[str, Any]) -> None:
    faults = [f"{name}: {fault}" for name, operation in operations(document) for fault in describe_faults(operation)]
    assert faults == []


def describe_faults(operation: dict[str, Any]) -> Iterator[str]:
    if not operation["summary"]:
        yield "no summary"
    if unknown := set(operation["tags"]) - {tag.title for tag in Tag}:
        yield f"unknown tags {unknown}"
    if not any(status < "400" for status in operation["responses"]):
        yield "no answer that is good"
    if "500" not in operation["responses"]:
        yield "no 500"


@DOCUMENTS
def test_each_example_conforms_to_its_schema(document: dict[str, Any]) -> None:
    found = list(contents(document))
    faults = [f"{name}: {fault}" for name, content in found for fault in example_faults(name, content, document)]
    assert faults == []
    assert len(found) > len(list(operations(document)))


def example_faults(name: str, content: dict[str, Any], document: dict[str, Any] = DOCUMENT) -> Iterator[str]:
    if "json" in name and "openapi.json" not in name and not content["examples"]:
        yield "no example"
    validator = jsonschema_rs.validator_for({**content["schema"], "components": document["components"]})
    for example in content.get("examples", {}).values():
        yield from (error.message for error in validator.iter_errors(example["value"]))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"schema": {"type": "string"}, "examples": {}}, "no example"),
        ({"schema": {"type": "string"}, "examples": {"a": {"value": 1}}}, "is not of type"),
    ],
)
def test_a_wrong_example_is_found(content: dict[str, Any], fault: str) -> None:
    assert any(fault in each for each in example_faults("GET / 200 application/json", content))


def test_each_example_of_a_parameter_conforms_to_its_schema() -> None:
    parameters = [parameter for _, operation in operations() for parameter in operation.get("parameters", [])]
    for parameter in parameters:
        examples = [each["value"] for each in parameter.get("examples", {}).values()]
        for example in [*examples, *([parameter["example"]] if "example" in parameter else [])]:
            jsonschema_rs.validator_for(parameter["schema"]).validate(example)
    begins = [p["examples"]["no filter"]["value"] for p in parameters if p["name"] == "filters"]
    assert begins == [{}] * len(begins)


def test_an_endpoint_without_a_body_shows_what_is_wrong_with_a_query() -> None:
    for name, operation in operations():
        if "422" in operation["responses"]:
            example = operation["responses"]["422"]["content"]["application/json"]["examples"]["validation_error"]
            assert example["value"]["detail"][0]["loc"][0] == ("body" if "requestBody" in operation else "query"), name


def test_each_error_stands_in_the_document_and_nothing_else_does() -> None:
    codes = {
        example["value"]["code"]
        for name, content in (*contents(), *contents(ADMIN_DOCUMENT))
        for example in content.get("examples", {}).values()
        if " body " not in name and "detail" in example["value"]
    }
    redirected = {error.code for error in error_classes(errors.SignInFailed)}
    # Without a redirect, two of them are sent as others are.
    sent = {
        error.code
        for error in error_classes()
        if error.__name__ not in UNSENT and not issubclass(error, errors.SignInFailed)
    }
    assert codes == sent | {errors.ServiceError.code}
    callback = DOCUMENT["paths"]["/auth-collections/auth-idp-redirect/{project_id}"]["get"]
    assert {code for code in redirected if f"`{code}`" in callback["description"]} == redirected


def test_each_operator_is_described_and_nothing_else_is() -> None:
    assert listing.OPERATORS.keys() == OPERATORS.keys()


async def test_a_declared_credential_is_required(http: httpx2.AsyncClient) -> None:
    codes = {Credential.API_KEY: "invalid_api_key", Credential.USER_TOKEN: "invalid_token"}
    faults = []
    for route in ROUTES:
        if route.credential in codes:
            answer = await http.request(route.method, route.path.format(name="books", id="0" * 24))
            if (answer.status_code, answer.json()["code"]) != (401, codes[route.credential]):
                faults.append(f"{route.method} {route.path}: {answer.status_code} {answer.text}")
    assert faults == []


async def test_a_refused_method_is_told_all_methods_of_the_path(http: httpx2.AsyncClient) -> None:
    answer = await http.patch("/auth-collections/user")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, HEAD, PUT")


def test_what_a_list_takes_has_no_default_that_it_would_not_have_unsent() -> None:
    """A page by cursor is asked for; an unsent cursor is none."""
    form = DOCUMENT["components"]["schemas"]["ListForm"]["properties"]
    for name in ("cursor", "count"):
        assert "default" not in form[name]
        assert "not sent" not in form[name]["description"]

"""A declaration and its handler's signature make the row of an endpoint; what contradicts itself stops the start."""

from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from service.bounds import MAX_JSON_BYTES
from service.domain.access.caller import KeyCaller, SecretKeyCaller, ServiceCaller
from service.services import Services
from service.web.accounts.bodies import Login, Signup, SignupForm
from service.web.auth.authenticate import Credential
from service.web.http.conditional import Unchanged
from service.web.http.json_body import RequestWith
from service.web.http.render import Accepted, Created, Json, NoContent
from service.web.openapi.declaration import Parameter, Success, Tag
from service.web.openapi.endpoint import ApiRoute, Query, arrange, endpoint
from service.web.sessions.bodies import SessionList, SessionView

DONE = Success("Done")
NOTHING = Success("Nothing new")


def routes_of(handler: Any) -> list[ApiRoute]:
    found: list[ApiRoute] = vars(handler)["routes"]
    return found


def declare(handler: Any, path: str = "/test", **columns: Any) -> ApiRoute:
    given: dict[str, Any] = {"credential": Credential.NONE, "tag": Tag.OPERATIONS, "answer": DONE} | columns
    return routes_of(endpoint(f"POST {path}", **given)(handler))[-1]


async def test_the_row_and_the_description_come_from_the_signature() -> None:
    @endpoint(
        "POST /test",
        credential=Credential.ANY_KEY,
        tag=Tag.ACCOUNTS,
        body={"a login": {"email": "ann@example.com", "password": "correct horse"}},
        parameters=(Parameter(name="page", description="A page.", schema={"type": "string"}),),
        answer=(Success("Made", {"one": {"sessions": []}}), Success("Accepted", {"another": {}}), DONE, NOTHING),
    )
    async def end_all_sessions(
        request: RequestWith[Login], caller: KeyCaller, services: Services
    ) -> Created[SessionList] | Accepted[SessionView] | NoContent | Unchanged:
        """End all sessions."""
        return NoContent()

    (route,) = routes_of(end_all_sessions)
    assert (route.operation.id, route.form, route.max_body) == ("endAllSessions", Login, MAX_JSON_BYTES)
    assert route.query is Query.READ
    assert [(each.status, each.description) for each in route.operation.answers] == [
        (201, "Made"),
        (202, "Accepted"),
        (204, "Done"),
        (304, "Nothing new"),
    ]
    assert [[content.type for content in each.content] for each in route.operation.answers] == [
        [SessionList],
        [SessionView],
        [],
        [],
    ]


async def test_a_form_with_files_is_a_content_of_its_own() -> None:
    async def sign_up(
        request: RequestWith[Signup | SignupForm], caller: ServiceCaller, services: Services
    ) -> NoContent:
        return NoContent()

    contents = declare(sign_up, body={"a user": {}}).operation.body
    assert [(each.type, each.media_type) for each in contents] == [
        (Signup, "application/json"),
        (SignupForm, "multipart/form-data"),
    ]


async def ask_service(request: Request, caller: ServiceCaller, services: Services) -> Json[SessionList]:
    """Declared otherwise than it is."""
    raise NotImplementedError


async def send_login(request: RequestWith[Login], caller: ServiceCaller, services: Services) -> NoContent:
    """Declared without an example of its body."""
    raise NotImplementedError


async def ask_server(request: Request, caller: SecretKeyCaller, services: Services) -> Response:
    """Takes no publishable key."""
    raise NotImplementedError


@pytest.mark.parametrize(
    ("handler", "columns"),
    [
        pytest.param(ask_service, {"body": {"a": {}}}, id="examples of a body without a form"),
        pytest.param(send_login, {}, id="a form without examples of it"),
        pytest.param(ask_server, {"credential": Credential.ANY_KEY}, id="a caller that the handler does not take"),
    ],
)
def test_a_declaration_that_contradicts_the_signature_is_refused(handler: Any, columns: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        declare(handler, **columns)


def test_each_answer_of_the_signature_is_described() -> None:
    with pytest.raises(ValueError, match="zip"):
        declare(ask_service, answer=(DONE, NOTHING))


def test_the_page_of_routes_gives_the_order() -> None:
    first, second = declare(ask_service, "/a"), declare(ask_service, "/b")
    assert arrange("POST /b\nPOST  /a\n", [first, second]) == [second, first]


@pytest.mark.parametrize("page", ["POST /a", "POST /a\nPOST /b\nPOST /c"], ids=["not on the page", "not declared"])
def test_a_page_that_differs_from_the_declarations_is_refused(page: str) -> None:
    with pytest.raises(TypeError, match="differ in"):
        arrange(page, [declare(ask_service, "/a"), declare(ask_service, "/b")])


def test_an_endpoint_that_is_declared_twice_is_refused() -> None:
    with pytest.raises(TypeError, match="declared twice"):
        arrange("POST /a", [declare(ask_service, "/a"), declare(ask_service, "/a")])

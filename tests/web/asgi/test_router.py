"""Requests that fit a route take a path of their own; whatever else comes is answered in the same form."""

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.types import Receive, Scope, Send

from service.fast.router import RouteDispatch
from service.web.routes import ROUTES
from tests.conftest import Api, MakeApi

ORIGIN = "https://app.example.com"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/auth-collections/nothing", 404, "not_found"),
        ("PATCH", "/auth-collections/user", 405, "method_not_allowed"),
        ("POST", "/auth-collections/jwks/demo", 405, "method_not_allowed"),
        ("GET", "/auth-collections/jwks/nowhere", 404, "project_not_found"),
    ],
)
async def test_every_refusal_is_json_that_its_origin_may_read(
    make_api: MakeApi, method: str, path: str, status: int, code: str
) -> None:
    api = await make_api(CORS_ORIGINS=ORIGIN)
    response = await api.request(method, path, headers={"origin": ORIGIN})
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.headers["access-control-allow-origin"] == ORIGIN
    assert response.headers["x-request-id"]


async def test_a_path_with_a_parameter_reaches_its_endpoint(api: Api) -> None:
    response = await api.request("GET", f"/auth-collections/jwks/{api.project.id}")
    keys: list[dict[str, Any]] = response.json()["keys"]
    assert [key["kid"] for key in keys] == [api.project.signing_key.kid]


async def test_head_answers_as_get_does(api: Api) -> None:
    response = await api.request("HEAD", "/auth-collections/users")
    assert response.status_code == 200


async def echo(_request: Request) -> Response:
    return Response()


def echo_of(route: Route) -> Route:
    async def endpoint(request: Request) -> Response:
        return JSONResponse([route.path, request.path_params])

    copied = Route(route.path, endpoint)
    copied.methods = route.methods
    return copied


async def refuse(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Response(error.detail, error.status_code, error.headers)


def spellings(path: str) -> Iterator[str]:
    """A path of the table as clients may write it, and what is nearly one."""
    plain = path.replace("{", "").replace("}", "")
    yield from (plain, f"{plain}/", f"/{plain}", f"{plain}/more", plain.rpartition("/")[0] or "/", plain.upper())
    yield from (re.sub(r"\{[a-z_]+\}", odd, path) for odd in ("a%2Fb", "é", "."))


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get")


async def test_every_route_is_found_as_starlette_finds_it() -> None:
    plain = Starlette(routes=[echo_of(route) for route in ROUTES], exception_handlers={HTTPException: refuse})
    plain.router.redirect_slashes = False
    dispatch = RouteDispatch(plain.router, refuse, ExceptionMiddleware(plain.router, {HTTPException: refuse}))

    async def dispatched(scope: Scope, receive: Receive, send: Send) -> None:
        await dispatch({**scope, "app": plain, "state": {}}, receive, send)

    async with (
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=plain), base_url="http://test") as theirs,
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=dispatched), base_url="http://test") as ours,
    ):
        for path in sorted({spelling for route in ROUTES for spelling in spellings(route.path)}):
            for method in METHODS:
                url = f"http://test{path}"
                expected, found = await theirs.request(method, url), await ours.request(method, url)
                assert (found.status_code, found.content) == (expected.status_code, expected.content), (method, path)


class Endpoint:
    """An endpoint that is no function."""


@pytest.mark.parametrize(
    "routes",
    [
        pytest.param([Mount("/inside", Router())], id="mount"),
        pytest.param([Route("/files/{name:path}", echo)], id="a parameter that spans slashes"),
        pytest.param([Route("/class", Endpoint)], id="an endpoint that is a class"),
        pytest.param([Route("/{any}", echo), Route("/fixed", echo)], id="a fixed path behind a parameter"),
        pytest.param([Route("/twice", echo), Route("/twice", echo)], id="a path that comes twice"),
    ],
)
def test_what_would_be_answered_otherwise_is_refused_at_the_start(routes: list[BaseRoute]) -> None:
    with pytest.raises(TypeError):
        RouteDispatch(Router(routes), refuse, Router(routes))

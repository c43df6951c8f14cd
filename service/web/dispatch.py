"""From a URL to its endpoint, and from what the endpoint raises to an answer, in one step.

Starlette does the same in five nested calls, each with its own wrapper around `send`; together they cost as much as all of
the service's own work for a request (see docs/performance.md). So a request that fits a route goes straight to its
endpoint. Whatever does not (404, 405, a missing slash, mounted applications) is left to Starlette's own router.
"""

from collections.abc import Awaitable, Callable, Iterable
from inspect import isfunction
from typing import Any

from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import Receive, Scope, Send

from service.errors import ServiceError

OnError = Callable[[Request, Exception], Awaitable[Response]]


class Dispatch:
    """Answers each request of `router.routes`; errors become answers by `on_error`."""

    def __init__(self, router: Router, on_error: OnError) -> None:
        self._router = router
        self._on_error = on_error
        self._fixed, self._patterns = _sorted(router.routes)
        self._otherwise = ExceptionMiddleware(router, {ServiceError: on_error, HTTPException: on_error})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (route := self._route(scope)) is None:
            await self._otherwise(scope, receive, send)
            return
        scope["router"] = self._router
        request = Request(scope, receive, send)
        try:
            response = await route.endpoint(request)
        except Exception as error:
            response = await self._on_error(request, error)
        await response(scope, receive, send)

    def _route(self, scope: Scope) -> Route | None:
        """The route of this method and path, noted in `scope` with the path's parameters; None where there is none."""
        if (route := self._fixed.get((scope["method"], scope["path"]))) is not None:
            scope["route"], scope["path_params"] = route, {}
            return route
        for route in self._patterns:
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope["route"], scope["path_params"] = route, found["path_params"]
                return route
        return None


def _sorted(routes: Iterable[BaseRoute]) -> tuple[dict[tuple[str, str], Route], list[Route]]:
    """The routes whose path is fixed, by method and path; and those with parameters in it."""
    direct = [route for route in routes if isinstance(route, Route) and isfunction(route.endpoint)]
    fixed = {
        (method, route.path): route for route in direct if not route.param_convertors for method in _methods(route)
    }
    return fixed, [route for route in direct if route.param_convertors]


def _methods(route: Route) -> set[Any]:
    return route.methods or set()

"""The way from a URL to its endpoint, and from an error to its answer, in one step.

Starlette does the same in five nested calls, each with a wrapper around `send`. A request that fits a route goes straight
to its endpoint here. Starlette's own router answers all others (404, 405, a preflight). A route that this way would
answer differently from Starlette is refused when the service starts.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from inspect import isfunction

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

OnError = Callable[[Request, Exception], Awaitable[Response]]
Form = tuple[str, int]
PARAMETERS: dict[Callable[..., object], str] = {
    Request.__init__: "self scope receive send",
    Response.__call__: "self scope receive send",
    Route.matches: "self scope",
}
ATTRIBUTES: dict[type, str] = {Route: "endpoint methods param_convertors path path_regex", Router: "routes"}


class RouteDispatch:
    """Answers each request of `router.routes`; errors become answers by `on_error`. `otherwise` answers all else."""

    def __init__(self, router: Router, on_error: OnError, otherwise: ASGIApp) -> None:
        _check(router.routes)
        self._router = router
        self._on_error = on_error
        self._fixed = _without_parameters(router.routes)
        self._routes = _by_form(router.routes)
        self._otherwise = otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (route := self._find(scope)) is None:
            await self._otherwise(scope, receive, send)
            return
        scope["router"] = self._router
        request = Request(scope, receive, send)
        try:
            response = await route.endpoint(request)
        except Exception as error:
            response = await self._on_error(request, error)
        await response(scope, receive, send)

    def _find(self, scope: Scope) -> Route | None:
        """The route of this method and path, noted in `scope` with the path's parameters; None where there is none."""
        if (fixed := self._fixed.get((scope["method"], scope["path"]))) is not None:
            scope["route"], scope["path_params"] = fixed, {}
            return fixed
        for route in self._routes.get(_form(scope["method"], scope["path"]), ()):
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope["route"] = route
                scope.update(found)
                return route
        return None


def _check(routes: Iterable[BaseRoute]) -> None:
    """Raises TypeError for what would not be answered as Starlette does: all but functions on paths of their own.

    Those are mounted applications, endpoints that are classes, parameters that span `/`, and fixed paths that come twice or
    after a path with parameters that has them as well.
    """
    earlier: list[tuple[str, Route]] = []
    for route in routes:
        if not isinstance(route, Route) or not isfunction(route.endpoint) or ":path}" in route.path:
            raise TypeError(f"{route} is no function on a path of its own")
        for method, other in earlier:
            if not route.param_convertors and method in (route.methods or ()) and other.path_regex.match(route.path):
                raise TypeError(f"{route} is hidden by {other}")
        earlier += [(method, route) for method in route.methods or ()]


def _direct(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, Route]]:
    """Method and route of each."""
    for route in routes:
        assert isinstance(route, Route)  # noqa: S101 - checked before; mypy must know
        yield from ((method, route) for method in route.methods or ())


def _without_parameters(routes: Iterable[BaseRoute]) -> dict[tuple[str, str], Route]:
    """Those whose path is the whole truth, by method and path."""
    return {(method, route.path): route for method, route in _direct(routes) if not route.param_convertors}


def _by_form(routes: Iterable[BaseRoute]) -> dict[Form, list[Route]]:
    """Those with parameters, in their order, by their form."""
    found = defaultdict[Form, list[Route]](list)
    for method, route in _direct(routes):
        if route.param_convertors:
            found[_form(method, route.path)].append(route)
    return dict(found)


def _form(method: str, path: str) -> Form:
    """The part of a request that few routes share, before their parameters are known: its method and its depth."""
    return method, path.count("/")

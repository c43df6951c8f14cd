"""JSON out: the answers that a handler's signature names, and the one place where an error becomes an answer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

import orjson
import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from service.errors import Invalid, ServiceError, Unavailable
from service.observe.metrics import ERRORS
from service.schema.values import write_time
from service.web.http.request_state import CODE
from service.web.http.violations import list_violations

log = structlog.get_logger()

# In the request's state: its error ends the connection.
CLOSES = "closes"
HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 408: "request_timeout"}

Content = TypeVar("Content", covariant=True)


class Json(Response, Generic[Content]):
    """200 with a body of JSON. A handler that returns `Json[Profile]` answers with a Profile, and the document says so."""

    status: ClassVar[int] = 200
    media_type = "application/json"

    def __init__(
        self,
        content: Content,
        headers: Mapping[str, str] | None = None,
        *,
        version: int | None = None,
        status: int | None = None,
    ) -> None:
        """As Starlette's, in one step. A record's `version`, which becomes its entity tag, comes without other headers.

        Headers are not built from others where there are none but these.
        """
        self.status_code, self.background = status or self.status, None
        self.body = orjson.dumps(content, _write, orjson.OPT_PASSTHROUGH_DATETIME)
        if headers:
            self.init_headers(headers)
        else:
            self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]
            if version is not None:
                self.raw_headers.append((b"etag", b'"v%d"' % version))


class Created(Json[Content]):
    """201 with a body of JSON."""

    status = 201


class Accepted(Json[Content]):
    """202 with a body of JSON."""

    status = 202


class NoContent(Response):
    """204: the request is done, and there is nothing to show."""

    status: ClassVar[int] = 204

    def __init__(self) -> None:
        super().__init__(status_code=self.status)


def write_json(content: Any) -> bytes:
    """The JSON of a part of an answer, for one that is sent in pieces."""
    return orjson.dumps(content, _write, orjson.OPT_PASSTHROUGH_DATETIME)


def _write(value: object) -> str:
    """A stored value that JSON has no form for. Only times are ours; another program may have stored any other."""
    if not isinstance(value, datetime):
        return str(value)
    return write_time(value)


def _allow(request: Request) -> dict[str, str]:
    """All methods of this URL (RFC 9110 section 10.2.1), which several routes may share."""
    routes = (route for route in request.scope["router"].routes if route.matches(request.scope)[0] is not Match.NONE)
    return {"allow": ", ".join(sorted({method for route in routes for method in route.methods}))}


def _cause(error: Unavailable) -> str:
    """The cause for the log: a sentence, or the class of the driver's error, whose text may hold an address."""
    return error.cause or type(error.__cause__).__name__


def _code(error: Exception) -> str:
    if isinstance(error, HTTPException):
        return HTTP_CODES.get(error.status_code, "http_error")
    return error.code if isinstance(error, ServiceError) else ServiceError.code


@contextmanager
def leaving_the_rest(request: Request) -> Iterator[None]:
    """Around work that reads the body: after an error the rest is not read, so the connection carries no other request.

    The answer says so, and not the error, which several requests may share.
    """
    try:
        yield
    except Exception:
        request.scope["state"][CLOSES] = True
        raise


async def render_error(request: Request, error: Exception) -> Response:
    """The answer to any error, which ends the connection where the client may still be sending."""
    response = _render(request, error)
    if CLOSES in request.scope.get("state", ()):
        response.headers["connection"] = "close"
    return response


def _render(request: Request, error: Exception) -> Response:
    """Our errors as they say, Starlette's own 404 and 405, and one fixed sentence for all the rest."""
    code = request.scope.setdefault("state", {})[CODE] = _code(error)
    ERRORS.labels(code).inc()
    if isinstance(error, HTTPException):
        body = {"detail": error.detail, "code": code}
        return Json(body, _allow(request) if error.status_code == 405 else error.headers, status=error.status_code)
    request_id = request.scope.get("state", {}).get("request_id", "")
    if not isinstance(error, ServiceError) or error.status == 500:
        log.error("unhandled_error", request_id=request_id, exc_info=error)
        return Json({**ServiceError().body(), "request_id": request_id}, status=500)
    if isinstance(error, Unavailable):
        log.warning("unavailable", request_id=request_id, code=error.code, cause=_cause(error))
        return Json({**error.body(), "request_id": request_id}, error.headers, status=error.status)
    rendered: dict[str, Any] = list_violations(error) if isinstance(error, Invalid) else error.body()
    if error.operation is not None:
        rendered["operation"] = error.operation
    return Json(rendered, error.headers, status=error.status)

"""JSON out: envelopes for what the domain returns, and the one place where an error becomes an answer."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from service.domain.accounts.users import SignedIn
from service.domain.lists import Listing
from service.errors import ServiceError, Unavailable
from service.observe.metrics import ERRORS
from service.schema.values import write_time

log = structlog.get_logger()

HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 408: "request_timeout"}


class Json(Response):
    """A body of JSON; where it has no headers but its own two, they are not built from others."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        if headers:
            super().init_headers(headers)
        else:
            self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content, _plain, orjson.OPT_PASSTHROUGH_DATETIME)


def _plain(value: Any) -> Any:
    """A stored value JSON has no form for. Only times are ours; another program may have stored any other."""
    return write_time(value) if isinstance(value, datetime) else str(value)


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Json(content, status, headers)


def user_view(user: Mapping[str, Any], *, updated: bool = False) -> dict[str, Any]:
    """A stored user as the specification shows it (section 2.1): `updated_at` only of a single user."""
    view = {"id": user["_id"], "email": user["email"], "data": user["data"], "created_at": user["created_at"]}
    return view | {"updated_at": user["updated_at"]} if updated else view


def signed_in(result: SignedIn, status: int = 200) -> Response:
    view = {"access_token": result.access_token, "token_type": "bearer", "user": user_view(result.user)}
    return json_response(view, status)


def user_list(listing: Listing) -> Response:
    users = [user_view(record) for record in listing.records]
    return json_response({"users": users, "total": listing.total, "limit": listing.limit, "offset": listing.offset})


def _allow(request: Request) -> dict[str, str]:
    """All methods of this URL (RFC 9110 section 10.2.1), which several routes may share."""
    routes = (route for route in request.scope["router"].routes if route.matches(request.scope)[0] is not Match.NONE)
    return {"allow": ", ".join(sorted({method for route in routes for method in route.methods}))}


def _cause(error: Unavailable) -> str:
    """What the log says of it: in words, or the name of the driver's error, of which the text may hold an address."""
    return error.cause or type(error.__cause__).__name__


def _code(error: Exception) -> str:
    if isinstance(error, HTTPException):
        return HTTP_CODES.get(error.status_code, "http_error")
    return error.code if isinstance(error, ServiceError) else ServiceError.code


async def render_error(request: Request, error: Exception) -> Response:
    """The answer to any error: ours as it says, Starlette's own 404 and 405, and one fixed sentence for all the rest."""
    code = _code(error)
    ERRORS.labels(code).inc()
    if isinstance(error, HTTPException):
        body = {"detail": error.detail, "code": code}
        return json_response(body, error.status_code, _allow(request) if error.status_code == 405 else error.headers)
    request_id = request.scope.get("state", {}).get("request_id", "")
    if not isinstance(error, ServiceError) or error.status == 500:
        log.error("unhandled_error", request_id=request_id, exc_info=error)
        return json_response({**ServiceError().body(), "request_id": request_id}, 500)
    if isinstance(error, Unavailable):
        log.warning("unavailable", request_id=request_id, code=error.code, cause=_cause(error))
        return json_response({**error.body(), "request_id": request_id}, error.status, error.headers)
    return json_response(error.body(), error.status, error.headers)

"""The HTTP of both colours: headers of a call, errors of the HTTP library, records for the log."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

import httpx2

from auth_collections_client.answers import Answer
from auth_collections_client.calls import VERSION, Call, LogRecord, Settings
from auth_collections_client.errors import ServiceError, TransportError

USER_AGENT = f"auth-collections-client/{VERSION} python"
UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
logger = logging.getLogger("auth_collections_client")


def headers_of(call: Call, settings: Settings, token: str | None) -> dict[str, str]:
    """Returns the headers of a call. A secret key does not go with a user's token: the service would judge by the key."""
    bears = token is not None and call.credential in {"caller", "both", "token"}
    keys = call.credential in {"key", "both"} or (
        call.credential == "caller" and not (bears and settings.has_secret_key)
    )
    own = {
        "user-agent": USER_AGENT,
        "accept": "application/json",
        **({"content-type": call.content_type} if call.content_type else {}),
        **({"x-api-key": settings.key} if keys else {}),
        **({"authorization": f"Bearer {token}"} if bears else {}),
    }
    given = {name.lower(): value for name, value in {**settings.headers, **call.options.get("headers", {})}.items()}
    return {**given, **own, **call.headers}


@contextmanager
def translated() -> Generator[None, None, None]:
    """Raises the HTTP library's errors as TransportError."""
    try:
        yield
    except (httpx2.TimeoutException, TimeoutError) as error:
        raise _transport_error("timeout", "The service did not answer in time.", error) from error
    except (httpx2.TransportError, httpx2.DecodingError, httpx2.StreamError, OSError) as error:
        raise _transport_error("network", "The connection to the service failed.", error) from error


def _transport_error(code: str, message: str, cause: Exception) -> TransportError:
    result = TransportError(message, code=code)
    result.was_sent = not isinstance(cause, UNSENT)
    return result


def closed_error() -> TransportError:
    result = TransportError("The client was closed.", code="aborted")
    result.was_sent = False
    return result


def report(
    settings: Settings, call: Call, number: int, ms: float, outcome: Answer | ServiceError, wait: float | None
) -> None:
    """Hands one attempt to the application's log. No header, query or body is in the record."""
    if settings.log is None:
        return
    record: LogRecord = {
        "type": "failure" if isinstance(outcome, ServiceError) else "answer",
        "method": call.method,
        "path": call.path.partition("?")[0],
        "attempt": number,
        "status": outcome.status,
        "ms": round(ms, 1),
        "wait": wait,
        "code": outcome.code if isinstance(outcome, ServiceError) else None,
        "request_id": _request_id(outcome),
    }
    try:
        settings.log(record)
    except Exception:
        logger.exception("The log function of a client failed.")


def _request_id(outcome: Answer | ServiceError) -> str | None:
    return outcome.request_id if isinstance(outcome, ServiceError) else outcome.headers.get("x-request-id")
